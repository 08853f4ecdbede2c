#pragma once

#include "program/sharded_model.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace mirfak {

// What `mirfak shard` shows of a sharded model: of each block how every tensor lies and what a device has of it, the
// collectives of both passes and behind them, FLOPs, memory and, where nodes are stated, time. `heading`: what it is
// of.
std::string shard_text(const ShardedModel& model, std::string_view heading);
// The same for programs: one object (sim/report/README.md, "Shardings").
nlohmann::ordered_json shard_json(const ShardedModel& model, std::string_view name, std::int64_t batch,
                                  std::int64_t sequence);

// The steps of one device in the language of Graphviz: kernels, with how they divide their labels, and collectives as
// nodes of their own; an arrow for what a step waits for.
std::string shard_dot(const ShardedModel& model);

}  // namespace mirfak
