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

// Time and energy of a row of blocks on one kind of stage. Times are at the highest clock that its devices hold;
// energy, which falls with the clock, is at the lowest. No strategy needs less of either.
struct PassTerms {
  Picoseconds forward = 0;  // time of the compute stream
  Picoseconds backward = 0;
  Picoseconds forward_kernels = 0;  // time of its kernels alone
  Picoseconds backward_kernels = 0;
  Picoseconds halves = 0;         // a backward pass run as two halves
  Picoseconds issue_forward = 0;  // time of the host
  Picoseconds issue_backward = 0;
  double energy_j = 0;  // both passes, above that of waiting

  // Inline because bounds add up millions of terms.
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

// Least bytes of parameters, gradients and optimizer state that a layer adds to its stage, in the best of `choices`.
double min_state(const Job& job, const LayerBound& layers, std::span<const StateChoice> choices);
// Least bytes that a layer keeps for each microbatch in flight. The result is 0 unless all pipelines are plain
// (`loops`, see PipelineChoice) and nothing is recomputed or offloaded.
double min_kept(const Strategy& strategy, const LayerBound& layers, bool loops);

// Returns the time that the collectives of a stage's replicas take one after the other.
Picoseconds time_of(const std::vector<ReplicaCollective>& collectives, const StageCosts& costs);

// Bytes that a stage holds between iterations, and the time and energy of its replicas' work after the passes.
struct StateTerms {
  double resident = 0;
  double step_workspace = 0;
  double host = 0;         // bytes in the host's memory
  Picoseconds reduce = 0;  // all gradients, once
  Picoseconds norms = 0;
  Picoseconds optimizer = 0;
  Picoseconds gather = 0;  // all parameters, once
  double optimizer_energy_j = 0;
};

// All strategies that share a layout and a choice of blocks: one branch of the search tree.
class Branch {
 public:
  // Takes layout and blocks from `strategy` and the rest from `space`. Bounds the branch as if its work could be
  // divided at will. Its energy is bounded too if `energy` asks for it; else the energy bound is 0. `headroom`: share
  // of memory that its strategies keep free.
  Branch(std::shared_ptr<const LayoutCosts> layout, const Strategy& strategy, const StrategySpace& space,
         SharedBlocks& shared, const EnergyAsked& energy, double headroom = 0);
  // Counts the branch's strategies and bounds the branch by its best pipeline. Members marked "listed" need this call
  // first.
  void list(const StrategySpace& space, SharedBlocks& shared);
  // Prices the branch's blocks and transfers; needs list(). Members marked "priced" need this call first.
  void price(SharedBlocks& shared);

  const Job& job() const { return job_; }
  // Job as one stage sees it, if stages have shapes of their own (Job::at); else job().
  const Job& job_at(int stage) const { return shaped_.empty() ? job_ : shaped_[shape_of(stage)].job; }
  // Ranks of a stage per replica of its class (LayoutCosts::classes).
  double ranks_per_replica(int stage) const {
    return static_cast<double>(job_.strategy.ranks_of(stage)) / job_.strategy.data;
  }
  const LayoutCosts& layout() const { return *layout_; }
  double headroom() const { return headroom_; }
  BlockSet& blocks(int stage = 0) const { return shaped_.empty() ? *set_ : *shaped_[shape_of(stage)].set; }  // priced
  std::span<const LayerBlocks> layers() const { return layers_; }                                            // priced
  PipelineShape shape(const PipelineChoice& choice, int replica_class) const;
  // Terms of the passes of one microbatch through a chunk (priced). `place`: index of a stage and class of replicas
  // (LayoutCosts).
  PassTerms passes(std::size_t place, const LayerRange& layers, const RecomputedLayers& recomputed, bool embedding,
                   bool head) const;
  // Times of a transfer from a stage to the next (from the last to the first) and to the stage before it, where the
  // model is cut after this many layers (priced).
  Picoseconds transfer_on(std::size_t place, std::int64_t layers) const {
    return transfer_on_[place * streams_.size() + stream_of_[static_cast<std::size_t>(layers)]];
  }
  Picoseconds transfer_back(std::size_t place, std::int64_t layers) const {
    return transfer_back_[place * streams_.size() + stream_of_[static_cast<std::size_t>(layers)]];
  }

  // Lower bound of the iteration time of all strategies of the branch.
  Picoseconds bound() const { return bound_; }
  // Lower bound of the energy of all strategies of the branch above that of waiting, over all ranks.
  double min_energy_j() const { return min_energy_j_; }
  // Places that share the branch's microbatches (work_division.hpp), and the number of these microbatches.
  std::span<const WorkPlace> work_places() const { return work_places_; }
  double microbatches() const {
    const std::int64_t whole = job_.training.global_batch / job_.strategy.micro_batch;
    return static_cast<double>(whole);
  }
  // Returns false if no strategy of the branch can fit in memory (listed). `choices`: all state choices that its
  // strategies can have.
  bool may_fit(std::span<const StateChoice> choices, SharedBlocks& shared) const;

  // Returns every way of the space to spread the layers, each with the first choice of its row of recomputed layers
  // (listed).
  std::vector<PipelineChoice> pipelines() const;
  // Calls `visit` with each pipeline whose bound, by its layers alone, `may` accepts, and with its number among all
  // pipelines. A `may` that rejects a bound must reject every higher bound. Returns the number of choices in the rows
  // of the pipelines left out (listed).
  std::int64_t visit_pipelines(const std::function<bool(Picoseconds)>& may,
                               const std::function<void(const PipelineChoice&, std::size_t)>& visit) const;

  // Bodies of a block on the kind of stage at `place`; no strategy runs the block in less time (priced).
  const BlockBodies& fastest(std::size_t place, BlockId block) const;

  // Executes one strategy of the branch, as score_iteration() does (priced). `job` has that strategy.
  std::optional<IterationScore> score(const Job& job, const std::function<bool(const IterationScore&)>& hopeless) const;

  // Number of choices in all rows (listed).
  std::int64_t rows() const { return rows_; }

  // Returns the state terms of every place (priced). `chunks`: the blocks of each stage's chunks. May be called by
  // several threads at once.
  std::vector<StateTerms> state_terms(const std::vector<std::vector<ChunkPlan>>& chunks, const StateChoice& choice);

 private:
  std::shared_ptr<const LayoutCosts> layout_;
  Job job_;
  EnergyAsked energy_;
  double headroom_ = 0;
  std::shared_ptr<BlockSet> set_;
  // Job and blocks of each shape, if stages have shapes of their own; else empty.
  struct Shaped {
    Job job;
    std::shared_ptr<BlockSet> set;  // priced
  };
  std::vector<Shaped> shaped_;
  std::vector<LayerBlocks> layers_;
  std::vector<BlockId> kept_of_;  // for each block, the same layer if it is not recomputed, else the block itself
  // Terms on one kind of stage: sums over all layers before each layer, and the terms of embedding and head.
  struct KindTerms {
    std::vector<PassTerms> recomputed;
    std::vector<PassTerms> kept;
    PassTerms embedding;
    PassTerms head;
    std::shared_ptr<const std::vector<BlockBodies>> fastest;
  };
  // Stage of a place; a place numbers a stage and a class of replicas (LayoutCosts).
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
  // Times of a stage before its microbatches and for each of them: `m` microbatches take at least the largest around +
  // m * each of its lines.
  struct StageLine {
    Picoseconds around = 0;
    Picoseconds each = 0;
  };
  using Lines = std::vector<std::vector<StageLine>>;  // for each class of replicas
  void set_lines(const PipelineChoice& choice, Lines& lines) const;
  void set_lines(const PipelineChoice& choice, int own, std::vector<StageLine>& lines) const;
  Picoseconds bound_of_share(const Lines& lines, std::size_t share) const;
  std::size_t best_share(const Lines& lines) const;

  std::vector<std::shared_ptr<const LayerBound::Terms>> layer_terms_;  // for each kind, with nothing recomputed
  std::vector<WorkPlace> work_places_;                                 // places that share the microbatches
  SharedBlocks::Pipelines pipelines_;                                  // pipelines with their microbatches left open
  std::vector<KindTerms> kinds_;
  // One block for each size of the stream after a block; two sizes are one if they are equal on all stages.
  // `stream_of_`: index in `streams_` by the number of layers before the stream.
  std::vector<BlockId> streams_;
  std::vector<std::size_t> stream_of_;
  // Times by place and stream: [place * number of streams + stream].
  std::vector<Picoseconds> transfer_on_;
  std::vector<Picoseconds> transfer_back_;
  std::vector<std::shared_ptr<const std::vector<int>>> shares_;  // ways to share the microbatches
  std::int64_t rows_ = 0;
  bool plain_ = true;  // all pipelines of the branch are plain (PipelineChoice)
  Picoseconds bound_ = 0;
  double min_energy_j_ = 0;

  std::mutex mutex_;
  std::map<std::vector<int>, StateTerms> states_;
};

}  // namespace mirfak
