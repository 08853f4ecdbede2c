#include "sharding/state_sharding.hpp"

#include <algorithm>

namespace mirfak {

namespace {

DeviceMesh mesh_of(const StateSharding& of) { return {{"shard", of.shards}, {"copy", of.copies}}; }

// Returns a buffer padded to the ranks, as frameworks pad their flat buffers; the padding is not counted.
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

// A cache of steps for a buffer of one byte per rank: searches ask for the same few steps again and again, with other
// numbers of bytes.
class KnownSteps {
 public:
  template <typename Make>
  std::vector<ReshardStep> of(const StateSharding& state, const Sharding& lies, double bytes, const Make& make) {
    const double ranks = static_cast<double>(state.shards) * state.copies;
    const auto same = [&](const Known& known) {
      return known.shards == state.shards && known.copies == state.copies && known.lies == lies;
    };
    auto found = std::find_if(known_.begin(), known_.end(), same);
    if (found == known_.end()) {
      if (known_.size() == kMost) known_.clear();
      known_.push_back({state.shards, state.copies, lies, make(ranks)});
      found = known_.end() - 1;
    }
    std::vector<ReshardStep> out = found->steps;
    for (ReshardStep& step : out) step.bytes = bytes / (ranks / step.bytes);
    return out;
  }

 private:
  static constexpr std::size_t kMost = 16;
  struct Known {
    int shards = 1;
    int copies = 1;
    Sharding lies;
    std::vector<ReshardStep> steps;
  };
  std::vector<Known> known_;
};

}  // namespace

double StateSharding::held(const Sharding& sharding, double of) const {
  return local_bytes(flat(*this, of), sharding, mesh_of(*this));
}

std::vector<ReshardStep> StateSharding::reductions(double bytes) const {
  thread_local KnownSteps known;
  return known.of(*this, reduced, bytes, [this](double of) {
    const Sharding found{{MeshAxisSet()}, {kShardAxis, kCopyAxis}};
    return reshard(flat(*this, of), found, reduced, mesh_of(*this), ReshardOrder::cheapest);
  });
}

std::vector<ReshardStep> StateSharding::gathers(double bytes) const {
  thread_local KnownSteps known;
  return known.of(*this, state, bytes,
                  [this](double of) { return reshard(flat(*this, of), state, along_buffer(false), mesh_of(*this)); });
}

StateSharding state_sharding(const Strategy& strategy, const ZeroStage& zero) {
  return annotated(zero, strategy.shards(), strategy.replicas() / strategy.shards());
}

StateSharding expert_state_sharding(const Strategy& strategy, const ZeroStage& zero) {
  // Bounds of a search can ask for sizes that no strategy has: experts divided over more ranks than there are.
  const int holders = std::max(1, strategy.expert_replicas());
  const int shards = std::max(1, strategy.expert_shards());
  return annotated(zero, shards, holders / shards);
}

}  // namespace mirfak
