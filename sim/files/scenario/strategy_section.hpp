#pragma once

#include "base/document.hpp"
#include "cluster/cluster.hpp"
#include "model/model_spec.hpp"
#include "strategy/strategy.hpp"

namespace mirfak {

// Reads the `strategy` section of a scenario, strictly, and completes it for `gpus` GPUs; errors at the place of the
// fault. Each value is one that its key may have; strategy/rules.hpp checks that the values fit together.
Strategy read_strategy(const Node& node, int gpus);
// Reads the section for the nodes of a cluster, which stages of their own shape may take as whole nodes, and for a
// model, whose tower may be a stage.
Strategy read_strategy(const Node& node, const Cluster& cluster, const ModelSpec& model);

// Reads a schedule's name, or its path, which is relative to the folder of the file that states it.
ScheduleId read_schedule(const Node& node);

}  // namespace mirfak
