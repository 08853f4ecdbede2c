#pragma once

#include "launch/launch_program.hpp"
#include "program/job.hpp"

#include <string>
#include <utility>
#include <vector>

namespace mirfak {

// How programs around Megatron Core take its options.
struct MegatronStyle {
  bool fields = false;       // as fields of its configurations, which no parser of arguments completes
  bool says_chunks = false;  // the number of chunks, whatever else says it
};

// Megatron-LM's arguments for a job: all of them, and those that say nothing of the model. Error(infeasible) for what
// it has no argument for, or does not combine.
LaunchOptions megatron_options(const Job& job, const MegatronStyle& style);
LaunchOptions megatron_strategy(const Job& job, const MegatronStyle& style);

// Variables of the environment that it asks for.
std::vector<std::pair<std::string, std::string>> megatron_environment(const Job& job);

}  // namespace mirfak
