#pragma once

#include "program/job.hpp"

#include <string>
#include <string_view>

namespace mirfak {

// Returns the value of a scenario's key for a job, as scenarios write it: "strategy.tensor", "model.experts.count",
// "training.precision". "": the key has no value, or its default is not a value of the key. The keys recipe.activations
// and recipe.scaling are those of the precision's recipe, and keys that begin with "derived." follow from several keys.
// Error(internal) for any other key.
std::string job_value(const Job& job, std::string_view key);
// Returns the value for the job with another strategy.
std::string job_value(const Job& job, const Strategy& strategy, std::string_view key);

// Returns the value of a key of the model alone: "model.experts.count".
std::string model_value(const ModelSpec& model, std::string_view key);

}  // namespace mirfak
