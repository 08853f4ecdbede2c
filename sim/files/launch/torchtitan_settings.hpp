#pragma once

#include "launch/option_list.hpp"
#include "program/job.hpp"

#include <cstdint>
#include <vector>

namespace mirfak {

// The form in which a release of torchtitan takes its settings.
enum class TitanForm : std::uint8_t {
  toml,    // a file, which names the model and its converters
  command  // options after --module and --config, which name them
};

// Returns batch, precision and strategy as settings of the list ("parallelism.tensor_parallel_degree"). A schedule that
// torchtitan has no name for goes to `files` as a CSV if the form is a command line. Error(infeasible) for a job that
// torchtitan has no setting for, or does not combine.
LaunchOptions torchtitan_settings(const Job& job, const OptionList& list, TitanForm form,
                                  std::vector<LaunchFile>& files);

// Adds the pipeline's settings that follow from several keys: an order of passes without a name, and the layers of each
// part of the model.
void add_torchtitan_pipeline(LaunchOptions& out, const Job& job, const OptionList& list, TitanForm form,
                             std::vector<LaunchFile>& files);

}  // namespace mirfak
