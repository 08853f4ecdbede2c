#pragma once

#include "plan/layout.hpp"
#include "plan/pipeline_choice.hpp"
#include "plan/shared_blocks.hpp"
#include "plan/state_choice.hpp"
#include "plan/work_division.hpp"
#include "program/data_parallel.hpp"
#include "program/stage_plan.hpp"
#include "simulation/score.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace mirfak {

// Blocks in a row as a stage of some kind runs them: times at the highest clock that devices hold, energy, which falls
// with the clock, at the lowest. No strategy is below.
struct PassTerms {
  Picoseconds forward = 0;  // of the compute stream
  Picoseconds backward = 0;
  Picoseconds forward_kernels = 0;  // of it kernels alone
  Picoseconds backward_kernels = 0;
  Picoseconds halves = 0;         // a backward pass in two
  Picoseconds issue_forward = 0;  // of the host
  Picoseconds issue_backward = 0;
  double energy_j = 0;  // above that of waiting, both passes

  // Here, because bounds add up millions of them.
  PassTerms& operator+=(const PassTerms& other) {
    forward += other.forward;
    backward += other.backward;
    forward_kernels += other.forward_kernels;
    backward_kernels += other.backward_kernels;
    halves += other.halves;
    issue_forward += other.issue_forward;
    issue_backward += other.issue_backward;
    energy_j += other.energy_j;
    return *this;
  }
  PassTerms& operator-=(const PassTerms& other) {
    forward -= other.forward;
    backward -= other.backward;
    forward_kernels -= other.forward_kernels;
    backward_kernels -= other.backward_kernels;
    halves -= other.halves;
    issue_forward -= other.issue_forward;
    issue_backward -= other.issue_backward;
    energy_j -= other.energy_j;
    return *this;
  }
};

// Bytes of parameters, gradients and optimizer state that a layer adds to its stage at least, in the best of `choices`.
double min_state(const Job& job, const LayerBound& layers, std::span<const StateChoice> choices);
// Bytes that a layer keeps of each microbatch in flight, at least. `loops`: all its pipelines are plain
// (PipelineChoice); other placements and orders keep what they do.
double min_kept(const Strategy& strategy, const LayerBound& layers, bool loops);

// Of collectives of a stage's replicas, one behind the other.
Picoseconds time_of(const std::vector<ReplicaCollective>& collectives, const StageCosts& costs);

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
  // `strategy`: layout and blocks; the rest as `space` says. Bounds the branch as if its work could be divided at will;
  // its energy too where that is asked for, else by 0. `headroom`: the share of memory that its strategies keep free.
  Branch(std::shared_ptr<const LayoutCosts> layout, const Strategy& strategy, const StrategySpace& space,
         SharedBlocks& shared, const EnergyAsked& energy, double headroom = 0);
  // Counts its strategies, and bounds it by the best of its pipelines. What says "listed" below needs it.
  void list(const StrategySpace& space, SharedBlocks& shared);
  // Prices its blocks and transfers; listed. What says "priced" below needs it.
  void price(SharedBlocks& shared);

  const Job& job() const { return job_; }
  // As one of its stages sees it, where these have shapes of their own (Job::at).
  const Job& job_at(int stage) const { return shaped_.empty() ? job_ : shaped_[shape_of(stage)].job; }
  // Ranks of a stage for each of the replicas that its class has (LayoutCosts::classes).
  double ranks_per_replica(int stage) const {
    return static_cast<double>(job_.strategy.ranks_of(stage)) / job_.strategy.data;
  }
  const LayoutCosts& layout() const { return *layout_; }
  double headroom() const { return headroom_; }
  BlockSet& blocks(int stage = 0) const { return shaped_.empty() ? *set_ : *shaped_[shape_of(stage)].set; }  // priced
  std::span<const LayerBlocks> layers() const { return layers_; }                                            // priced
  PipelineShape shape(const PipelineChoice& choice, int replica_class) const;
  // Priced. `place`: of a stage and class of replicas (LayoutCosts). Of one microbatch's passes of a chunk.
  PassTerms passes(std::size_t place, const LayerRange& layers, const RecomputedLayers& recomputed, bool embedding,
                   bool head) const;
  // Priced. From a stage to the next (the last: to the first), and to the one before, where the model parts behind so
  // many layers.
  Picoseconds transfer_on(std::size_t place, std::int64_t layers) const {
    return transfer_on_[place * streams_.size() + stream_of_[static_cast<std::size_t>(layers)]];
  }
  Picoseconds transfer_back(std::size_t place, std::int64_t layers) const {
    return transfer_back_[place * streams_.size() + stream_of_[static_cast<std::size_t>(layers)]];
  }

  // No strategy of this branch is faster.
  Picoseconds bound() const { return bound_; }
  // ... or needs less energy above that of waiting, all ranks.
  double min_energy_j() const { return min_energy_j_; }
  // What shares its microbatches (work_division.hpp), and how many there are.
  std::span<const WorkPlace> work_places() const { return work_places_; }
  double microbatches() const {
    const std::int64_t whole = job_.training.global_batch / job_.strategy.micro_batch;
    return static_cast<double>(whole);
  }
  // Whether some of its strategies may fit in memory; listed. `choices`: all that they can choose.
  bool may_fit(std::span<const StateChoice> choices, SharedBlocks& shared) const;

  // Listed. Every way to spread the layers that the space has, each with the first of its row of recomputed layers.
  std::vector<PipelineChoice> pipelines() const;
  // Listed. Calls `visit` with those whose bound, by their layers alone, `may` says may matter, and with their number
  // among all; what a bound excludes, a higher one does. Returns how many choices the rows of the others have.
  std::int64_t visit_pipelines(const std::function<bool(Picoseconds)>& may,
                               const std::function<void(const PipelineChoice&, std::size_t)>& visit) const;

  // Priced. Blocks in a row as such a stage runs them, each at least in that time.
  const BlockBodies& fastest(std::size_t place, BlockId block) const;

  // Priced. Executes one of its strategies, as score_iteration() does; `job`: with that strategy.
  std::optional<IterationScore> score(const Job& job, const std::function<bool(const IterationScore&)>& hopeless) const;

  // How many choices all rows have; listed.
  std::int64_t rows() const { return rows_; }

  // Priced. Of every place; `chunks`: of each stage, the blocks that its chunks run. May be used by several threads at
  // once.
  std::vector<StateTerms> state_terms(const std::vector<std::vector<ChunkPlan>>& chunks, const StateChoice& choice);

 private:
  std::shared_ptr<const LayoutCosts> layout_;
  Job job_;
  EnergyAsked energy_;
  double headroom_ = 0;
  std::shared_ptr<BlockSet> set_;
  // Where stages have shapes of their own: of each; else empty.
  struct Shaped {
    Job job;
    std::shared_ptr<BlockSet> set;  // priced
  };
  std::vector<Shaped> shaped_;
  std::vector<LayerBlocks> layers_;
  std::vector<BlockId> kept_of_;  // of each block: the same layer if it is not recomputed, else the block itself
  // On a kind of stages: of all layers before each one, and of what is not a layer.
  struct KindTerms {
    std::vector<PassTerms> recomputed;
    std::vector<PassTerms> kept;
    PassTerms embedding;
    PassTerms head;
    std::shared_ptr<const std::vector<BlockBodies>> fastest;
  };
  // Of a stage and class of replicas (LayoutCosts).
  int stage_of(std::size_t place) const { return static_cast<int>(place) / layout_->count(); }
  std::size_t shape_of(int stage) const {
    return static_cast<std::size_t>(layout_->shape_of[static_cast<std::size_t>(stage)]);
  }
  void set_shapes();
  ShardedBlocks blocks_of(const Job& job) const;
  KindTerms kind_terms(std::size_t place, const std::vector<double>& energies_j,
                       const std::vector<BlockBodies>& fastest) const;
  std::vector<double> least_energies(std::size_t place, double lowest, double highest) const;
  void append_contents(std::vector<int>& key, int stage, const std::vector<ChunkPlan>& chunks, bool in_order) const;
  StateTerms state_terms_of(std::size_t place, const std::vector<ChunkPlan>& chunks, const StateChoice& choice);
  bool as_large(BlockId a, BlockId b) const;
  void find_streams();
  void price_transfers();
  std::pair<double, double> settled_clocks(std::size_t place) const;  // lowest and highest
  void bound_at_will(const StrategySpace& space, SharedBlocks& shared);
  // What a stage does before its microbatches, and for each of them: `m` take at least the largest around + m each.
  struct StageLine {
    Picoseconds around = 0;
    Picoseconds each = 0;
  };
  using Lines = std::vector<std::vector<StageLine>>;  // of each class of replicas
  void set_lines(const PipelineChoice& choice, Lines& lines) const;
  void set_lines(const PipelineChoice& choice, int own, std::vector<StageLine>& lines) const;
  Picoseconds bound_of_share(const Lines& lines, std::size_t share) const;
  std::size_t best_share(const Lines& lines) const;

  std::vector<std::shared_ptr<const LayerBound::Terms>> layer_terms_;  // of each kind, none recomputed
  std::vector<WorkPlace> work_places_;                                 // for microbatches
  SharedBlocks::Pipelines pipelines_;                                  // their microbatches left open
  std::vector<KindTerms> kinds_;
  // Blocks with the streams behind them, none as large as another on all stages; by layers before it, which it is.
  std::vector<BlockId> streams_;
  std::vector<std::size_t> stream_of_;
  // Of each place and stream.
  std::vector<Picoseconds> transfer_on_;
  std::vector<Picoseconds> transfer_back_;
  std::vector<std::shared_ptr<const std::vector<int>>> shares_;  // of microbatches
  std::int64_t rows_ = 0;
  bool plain_ = true;  // all its pipelines are (PipelineChoice)
  Picoseconds bound_ = 0;
  double min_energy_j_ = 0;

  std::mutex mutex_;
  std::map<std::vector<int>, StateTerms> states_;
};

}  // namespace mirfak
