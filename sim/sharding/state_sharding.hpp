#pragma once

#include "sharding/device_mesh.hpp"
#include "sharding/sharding.hpp"
#include "strategy/strategy.hpp"
#include "strategy/zero_stage.hpp"

#include <vector>

namespace mirfak {

// The two axes of the mesh of ranks that hold the same parameters: those that share a sharded copy, and their copies.
inline constexpr MeshAxis kShardAxis = static_cast<MeshAxis>(0);
inline constexpr MeshAxis kCopyAxis = static_cast<MeshAxis>(1);

// How what a rank holds of some parameters lies on the ranks that hold the same: the parameters outside passes, their
// gradients as they accumulate, the state that the optimizer steps on. Frameworks flatten them into buffers, so each is
// a tensor of one axis, and ZeRO (arXiv 1910.02054) and FSDP are annotations of it:
//
//                 parameters       gradients        state
//   no ZeRO       (flat)           (flat)           (flat)
//   stage 1       (flat)           (flat)           (flat@shard)
//   stage 2       (flat)           (flat@shard)     (flat@shard)
//   stage 3       (flat@shard)     (flat@shard)     (flat@shard)
//
// What is communicated follows from them, as for any other tensor (reshard).
struct StateSharding {
  int shards = 1;  // sizes of kShardAxis and kCopyAxis
  int copies = 1;
  Sharding parameters;
  Sharding gradients;
  Sharding reduced;  // as gradients are summed over all ranks: as the state, where a framework does not sum all
  Sharding state;

  // What one rank has of a buffer of so many elements, or bytes.
  double held(const Sharding& sharding, double of) const;

  // Of a buffer of so many bytes, in order: what sums the gradients that every rank has found of its own sequences, and
  // what makes the parameters whole that the optimizer has stepped on, or that lie divided.
  std::vector<ReshardStep> reductions(double bytes) const;
  std::vector<ReshardStep> gathers(double bytes) const;
};

// Of what all replicas of a stage hold alike.
StateSharding state_sharding(const Strategy& strategy, const ZeroStage& zero);
// Of experts, which fewer replicas hold; their state is shared by all of these.
StateSharding expert_state_sharding(const Strategy& strategy, const ZeroStage& zero);

}  // namespace mirfak
