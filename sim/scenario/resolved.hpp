#pragma once

#include "base/document.hpp"
#include "program/job.hpp"

#include <string>
#include <vector>

namespace mirfak {

// The scenario of a job as YAML, every key written out. `model`: the model as the scenario states it, a
// name, a path or a mapping.
std::string resolved_yaml(const Job& job, const Node& model);
// Its parts, in their order.
std::string resolved_setting(const Cluster& cluster, const Node& model);  // `model` and `cluster`
std::string resolved_training(const TrainingSpec& training);
std::string resolved_strategy(const Strategy& strategy);

const std::vector<std::string>& optimizer_names();    // in the order of the enumeration
const std::vector<std::string>& cuda_graph_scopes();  // of training.cuda_graphs

}  // namespace mirfak
