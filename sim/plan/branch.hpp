#pragma once

#include "plan/layer_splits.hpp"
#include "plan/layout.hpp"
#include "plan/shared_blocks.hpp"
#include "program/stage_plan.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace mirfak {

// Blocks in a row as a stage of some kind runs them: times at the highest clock that devices hold, energy, which falls
// with the clock, at the lowest. No strategy is below.
struct PassTerms {
  Picoseconds forward = 0;  // of the compute stream
  Picoseconds backward = 0;
  Picoseconds issue_forward = 0;  // of the host
  Picoseconds issue_backward = 0;
  double energy_j = 0;  // above that of waiting, both passes

  PassTerms& operator+=(const PassTerms& other);
  PassTerms& operator-=(const PassTerms& other);
};

// Which layers of each chunk are recomputed, as in Strategy.
struct RecomputedLayers {
  int layers = 0;
  RecomputeMethod method = RecomputeMethod::block;

  friend bool operator==(const RecomputedLayers&, const RecomputedLayers&) = default;
};

// How the layers of a branch are spread over chunks, and which of them are recomputed.
struct PipelineChoice {
  int chunks = 1;
  ScheduleKind schedule = ScheduleKind::one_forward_one_backward;
  RecomputedLayers recompute_layers;
  // Layers of each stage's chunks: all chunks of a stage have the same but the pipeline's ends.
  LayerSplit layers;
  // Of each class of replicas, of one of them.
  std::shared_ptr<const std::vector<int>> microbatches;
  // Layers that the very first and the very last chunk have fewer than their stages' others.
  int first_fewer = 0;
  int last_fewer = 0;

  int microbatches_of(int replica_class) const { return (*microbatches)[static_cast<std::size_t>(replica_class)]; }
  void apply_to(Strategy& strategy, std::span<const ReplicaClass> classes) const;
};

// How the state is divided over replicas, and what of that hides behind passes.
struct StateChoice {
  int zero = 0;
  bool overlap_grad_reduce = false;
  bool overlap_param_gather = false;
  double offload_optimizer = 0;

  void apply_to(Strategy& strategy) const;
};

// What a stage holds between iterations, in bytes, and what its replicas do when the passes are over.
struct StateTerms {
  double resident = 0;
  double step_workspace = 0;
  double host = 0;         // in the host's memory
  Picoseconds reduce = 0;  // all gradients, once
  Picoseconds norms = 0;
  Picoseconds optimizer = 0;
  Picoseconds gather = 0;  // all parameters, once
  double optimizer_energy_j = 0;
};

// The strategies that have their layout and their blocks in common: a branch of the tree that a search walks.
class Branch {
 public:
  // `layout` must outlive this. `strategy`: layout and blocks; the rest as the space says.
  Branch(std::shared_ptr<const LayoutCosts> layout, const Strategy& strategy, SharedBlocks& shared);

  const Job& job() const { return job_; }
  const LayoutCosts& layout() const { return *layout_; }
  BlockSet& blocks() const { return *set_; }
  std::span<const LayerBlocks> layers() const { return layers_; }
  // `place`: of a stage and class of replicas (LayoutCosts). Of one microbatch's passes of a chunk.
  PassTerms passes(std::size_t place, const LayerRange& layers, const RecomputedLayers& recomputed, bool embedding,
                   bool head) const;
  // From a stage to the next (the last: to the first), and to the one before.
  Picoseconds transfer_on(std::size_t place) const { return transfer_on_[place]; }
  Picoseconds transfer_back(std::size_t place) const { return transfer_back_[place]; }

  // No strategy of this branch is faster.
  Picoseconds bound() const { return bound_; }
  // ... or needs less energy above that of waiting, all ranks.
  double least_energy_j() const { return least_energy_j_; }

  // Every way to spread the layers that the space has, each with the fewest layers recomputed; behind each stands a row
  // of choices that recompute more, none of them faster.
  std::vector<PipelineChoice> pipelines(const StrategySpace& space) const;
  // The recomputed layers in such a row: numbers of them, ascending, then all (0), then all in groups. Of groups that a
  // chunk falls into equally many of, the smallest alone: those take as long and need more memory.
  std::vector<RecomputedLayers> recomputations(const StrategySpace& space, const PipelineChoice& choice) const;

  // How many choices all rows have.
  std::int64_t strategies(const StrategySpace& space) const;

  // Of a stage whose chunks run these blocks. May be used by several threads at once.
  StateTerms state_terms(std::size_t place, const std::vector<ChunkPlan>& chunks, const StateChoice& choice);

 private:
  std::shared_ptr<const LayoutCosts> layout_;
  Job job_;
  std::shared_ptr<BlockSet> set_;
  std::vector<LayerBlocks> layers_;
  // On a kind of stages: of all layers before each one, and of what is not a layer.
  struct KindTerms {
    std::vector<PassTerms> recomputed;
    std::vector<PassTerms> kept;
    PassTerms embedding;
    PassTerms head;
  };
  KindTerms kind_terms(const std::vector<BlockBodies>& fastest, const std::vector<BlockBodies>& thriftiest) const;
  // Every split of a choice whose layers are open yet.
  void add_splits(const StrategySpace& space, PipelineChoice choice, std::vector<PipelineChoice>& out) const;
  void price_transfers();
  std::pair<double, double> settled_clocks(const StageCosts& costs) const;  // lowest and highest
  void bound_all();

  std::vector<KindTerms> kinds_;
  std::vector<Picoseconds> transfer_on_;
  std::vector<Picoseconds> transfer_back_;
  std::vector<std::shared_ptr<const std::vector<int>>> shares_;  // of microbatches
  Picoseconds bound_ = 0;
  double least_energy_j_ = 0;

  std::mutex mutex_;
  std::map<std::vector<int>, StateTerms> states_;
};

}  // namespace mirfak
