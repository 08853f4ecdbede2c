#pragma once

#include "launch/option_list.hpp"
#include "program/job.hpp"

#include <string>
#include <utility>
#include <vector>

namespace mirfak {

// The form in which programs around Megatron Core take its options.
struct MegatronStyle {
  bool fields = false;     // options are fields of configurations, which no parser of arguments completes
  bool by_recipe = false;  // a recipe says the model, and the number of chunks if no option does: it is always stated
};

// Returns Megatron-LM's arguments for a job, of the list of Megatron-LM. Error(infeasible) for a job that Megatron-LM
// has no argument for, or does not combine.
LaunchOptions megatron_options(const Job& job, const OptionList& list, const MegatronStyle& style);

// Add the arguments that follow from several keys of the model, and of precision, optimizer, CUDA graphs and kernels.
void add_megatron_model(LaunchOptions& out, const Job& job, const MegatronStyle& style);
void add_megatron_training(LaunchOptions& out, const Job& job, const MegatronStyle& style);

// Returns the variables of the environment that Megatron-LM needs.
std::vector<std::pair<std::string, std::string>> megatron_environment(const Job& job);
// Returns those with which Megatron-LM does not run.
std::vector<std::string> megatron_unset(const Job& job);

}  // namespace mirfak
