#pragma once

#include "launch/option_list.hpp"
#include "program/job.hpp"

#include <vector>

namespace mirfak {

// Returns batch, precision and strategy as settings of the list ("parallelism.tensor_parallel_degree"), for the options
// of a command line or for a TOML file. A schedule that torchtitan has no name for goes to `files` as a CSV for a
// command line. Error(infeasible) for a job that torchtitan has no setting for, or does not combine.
LaunchOptions torchtitan_settings(const Job& job, const OptionList& list, bool by_command,
                                  std::vector<LaunchFile>& files);

}  // namespace mirfak
