#include "sharding/state_sharding.hpp"

#include <algorithm>

namespace mirfak {

namespace {

DeviceMesh mesh_of(const StateSharding& of) { return {{"shard", of.shards}, {"copy", of.copies}}; }

// Padded to the ranks, as frameworks pad their flat buffers; the padding is not counted.
TensorSize flat(const StateSharding& of, double bytes) { return {bytes, {std::int64_t{of.shards} * of.copies}}; }

Sharding along_buffer(bool divided) { return {{divided ? MeshAxisSet(kShardAxis) : MeshAxisSet()}, {}}; }

StateSharding annotated(const ZeroStage& zero, int shards, int copies) {
  StateSharding out;
  out.shards = shards;
  out.copies = copies;
  out.parameters = along_buffer(zero.parameters);
  out.gradients = along_buffer(zero.gradients);
  out.reduced = along_buffer(zero.state && !zero.all_reduces_gradients);
  out.state = along_buffer(zero.state);
  return out;
}

}  // namespace

double StateSharding::held(const Sharding& sharding, double of) const {
  return local_bytes(flat(*this, of), sharding, mesh_of(*this));
}

std::vector<ReshardStep> StateSharding::reductions(double bytes) const {
  const Sharding found{{MeshAxisSet()}, {kShardAxis, kCopyAxis}};
  // Searches ask this often: where the shard is summed first, the order of the mesh is the cheapest.
  const bool ordered = copies == 1 || shards == 1 || reduced == along_buffer(true);
  return reshard(flat(*this, bytes), found, reduced, mesh_of(*this),
                 ordered ? ReshardOrder::of_mesh : ReshardOrder::cheapest);
}

std::vector<ReshardStep> StateSharding::gathers(double bytes) const {
  return reshard(flat(*this, bytes), state, along_buffer(false), mesh_of(*this));
}

StateSharding state_sharding(const Strategy& strategy, const ZeroStage& zero) {
  return annotated(zero, strategy.shards(), strategy.replicas() / strategy.shards());
}

StateSharding expert_state_sharding(const Strategy& strategy, const ZeroStage& zero) {
  // Bounds of a search ask for sizes that no strategy has: experts divided over more ranks than there are.
  const int holders = std::max(1, strategy.expert_replicas());
  const int shards = std::max(1, strategy.expert_shards());
  return annotated(zero, shards, holders / shards);
}

}  // namespace mirfak
