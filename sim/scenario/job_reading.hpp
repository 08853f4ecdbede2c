#pragma once

#include "base/document.hpp"
#include "program/job.hpp"

#include <string_view>

namespace mirfak {

// The sections of a scenario that say how, strictly: Error(input) at the place that is wrong.
TrainingSpec read_training(const Node& section, const ModelSpec& model);
Strategy read_strategy(const Node& section, int gpus);  // `gpus`: of the cluster

// Error(infeasible) at the key that breaks a rule (strategy/rules.hpp) or makes the job impossible on its cluster.
void check_job(const Document& document, const Job& job);

// The place of "strategy.tensor" in the document, or of the nearest mapping around it.
Node locate(const Document& document, std::string_view path);

}  // namespace mirfak
