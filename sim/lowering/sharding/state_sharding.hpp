#pragma once

#include "sharding/device_mesh.hpp"
#include "sharding/sharding.hpp"
#include "strategy/strategy.hpp"
#include "strategy/zero_stage.hpp"

#include <vector>

namespace mirfak {

// The two axes of the mesh of ranks that hold the same parameters: ranks that share a sharded copy, and the copies.
inline constexpr MeshAxis kShardAxis = static_cast<MeshAxis>(0);
inline constexpr MeshAxis kCopyAxis = static_cast<MeshAxis>(1);

// Layout of parameters outside passes, of their gradients as they accumulate, and of the optimizer's state on the ranks
// that hold the same parameters. Frameworks flatten each of these into a buffer, so each is a tensor of one axis, and
// ZeRO (arXiv 1910.02054) and FSDP are annotations of these tensors:
//
//                 parameters       gradients        state
//   no ZeRO       (flat)           (flat)           (flat)
//   stage 1       (flat)           (flat)           (flat@shard)
//   stage 2       (flat)           (flat@shard)     (flat@shard)
//   stage 3       (flat@shard)     (flat@shard)     (flat@shard)
//
// Communication follows from the annotations, as for any other tensor (reshard).
struct StateSharding {
  int shards = 1;  // size of kShardAxis; `copies`: size of kCopyAxis
  int copies = 1;
  Sharding parameters;
  Sharding gradients;
  Sharding reduced;  // gradients after the sum over all ranks: as the state, unless a framework all-reduces gradients
  Sharding state;

  // Returns the part of a buffer of `of` elements, or bytes, that one rank holds.
  double held(const Sharding& sharding, double of) const;

  // Collectives for a buffer of `bytes` bytes, in order. `reductions` sum the gradients that every rank has computed
  // from its own sequences; `gathers` make the parameters whole that the optimizer has updated, or that lie divided.
  std::vector<ReshardStep> reductions(double bytes) const;
  std::vector<ReshardStep> gathers(double bytes) const;
};

// Returns the sharding of parameters that all replicas of a stage hold alike.
StateSharding state_sharding(const Strategy& strategy, const ZeroStage& zero);
// Returns the sharding of experts, which fewer replicas hold; all of these replicas share the state of the experts.
StateSharding expert_state_sharding(const Strategy& strategy, const ZeroStage& zero);

}  // namespace mirfak
