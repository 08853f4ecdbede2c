#pragma once

#include "base/document.hpp"
#include "cluster/cluster.hpp"
#include "strategy/strategy.hpp"

namespace mirfak {

// Reads the `strategy` section of a scenario, strictly, and completes it for so many GPUs; errors at the place of the
// fault. Each value is one that its key may have; whether they go together is what strategy/rules.hpp says.
Strategy read_strategy(const Node& node, int gpus);
// The same on the nodes of a cluster, which stages of their own shape may take as a whole.
Strategy read_strategy(const Node& node, const Cluster& cluster);

// A schedule by its name, or by its path, which counts from the folder of the file that states it.
ScheduleId read_schedule(const Node& node);

}  // namespace mirfak
