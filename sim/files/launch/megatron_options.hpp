#pragma once

#include "launch/launch_program.hpp"
#include "program/job.hpp"

#include <string>
#include <utility>
#include <vector>

namespace mirfak {

// The form in which programs around Megatron Core take its options.
struct MegatronStyle {
  bool fields = false;       // options are fields of configurations, which no parser of arguments completes
  bool says_chunks = false;  // the number of chunks is always stated, even if other options imply it
};

// Return Megatron-LM's arguments for a job: all arguments, and those without the model's. Error(infeasible) for a job
// that Megatron-LM has no argument for, or does not combine.
LaunchOptions megatron_options(const Job& job, const MegatronStyle& style);
LaunchOptions megatron_strategy(const Job& job, const MegatronStyle& style);

// Returns the variables of the environment that Megatron-LM needs.
std::vector<std::pair<std::string, std::string>> megatron_environment(const Job& job);

}  // namespace mirfak
