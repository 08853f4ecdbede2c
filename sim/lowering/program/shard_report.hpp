#pragma once

#include "program/sharded_model.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace mirfak {

// Returns the text of `mirfak shard` for a sharded model: for each block the sharding of every tensor and a device's
// part of it, the collectives of both passes and those after the passes, FLOPs, memory and, if nodes are stated, time.
// `heading`: the model, its mesh and its batch.
std::string shard_text(const ShardedModel& model, std::string_view heading);
// Returns the report as one JSON object (README.md, "Shardings").
nlohmann::ordered_json shard_json(const ShardedModel& model, std::string_view name, std::int64_t batch,
                                  std::int64_t sequence);

// Returns the steps of one device in Graphviz' language: kernels with the labels that they divide, and collectives as
// nodes of their own. An arrow leads from a step to each step that waits for it.
std::string shard_dot(const ShardedModel& model);

}  // namespace mirfak
