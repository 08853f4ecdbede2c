#pragma once

#include "base/made_once.hpp"
#include "plan/cut_pass.hpp"
#include "plan/listed_branch.hpp"
#include "plan/pass_terms.hpp"
#include "plan/state_terms.hpp"
#include "simulation/score.hpp"

#include <optional>
#include <span>
#include <tuple>
#include <vector>

namespace mirfak {

// A branch with its blocks, sharded and priced, and its transfers. May be used by several threads at once.
class PricedBranch : public ListedBranch {
 public:
  PricedBranch(ListedBranch branch, SharedBlocks& shared);

  BlockSet& blocks(int stage = 0) const { return *sets_[shape_of(stage)]; }
  std::span<const LayerBlocks> layers() const { return layers_; }
  // Number of clocks that nodes may be set to: their own, and the lower ones of the energy asked for. Below, clock 0 is
  // their own, the highest.
  std::size_t clocks() const { return energy_.lower.size() + 1; }
  // Terms at the highest clocks that stages of the branch hold with nodes set to a clock: no strategy runs its passes
  // in less time.
  const PlaceTerms& fastest(std::size_t clock = 0) const { return clock == 0 ? first_->places : at(clock).places; }
  // Terms at the clocks at which the stages of a pipeline settle, those of its plan. `chunks`: the blocks of each
  // stage's chunks.
  PlaceTerms settled(const PipelineChoice& choice, const std::vector<std::vector<ChunkPlan>>& chunks,
                     std::size_t clock = 0) const;
  // Terms of the passes of one microbatch through a chunk.
  PassTerms passes(const KindTerms& kind, const LayerRange& layers, const RecomputedLayers& recomputed, bool embedding,
                   bool head) const;
  // Times of a transfer from a stage to the next (from the last to the first) and to the stage before it, where the
  // model is cut after this many layers.
  Picoseconds transfer_on(std::size_t place, std::int64_t layers) const {
    return transfer_on_[place * streams_.size() + stream_of_[static_cast<std::size_t>(layers)]];
  }
  Picoseconds transfer_back(std::size_t place, std::int64_t layers) const {
    return transfer_back_[place * streams_.size() + stream_of_[static_cast<std::size_t>(layers)]];
  }
  // The stages of a pipeline, asked for their terms under several states.
  struct Stages {
    const std::vector<std::vector<ChunkPlan>>* chunks = nullptr;  // blocks of each stage's chunks
    std::vector<std::size_t> like;                                // for each place, the first place with equal terms
    std::vector<Job> jobs = {};  // by shape, with the state asked for last: copies take long
  };
  // `chunks` must outlive the result.
  Stages stages_of(const std::vector<std::vector<ChunkPlan>>& chunks) const;
  // Returns the state terms of a place that is the first of its like.
  const StateTerms& state_terms_at(std::size_t place, Stages& stages, const StateChoice& choice) const;
  // Returns the state terms of every place.
  std::vector<StateTerms> state_terms(Stages& stages, const StateChoice& choice) const;
  std::vector<StateTerms> state_terms(const std::vector<std::vector<ChunkPlan>>& chunks,
                                      const StateChoice& choice) const {
    Stages stages = stages_of(chunks);
    return state_terms(stages, choice);
  }
  // Cut stages that are known (CutStages).
  MadeOnce<CutStageKey, CutStage>& cut_stages() const { return cut_stages_; }
  // Executes one strategy of the branch, as score_iteration() does. `job` has that strategy.
  std::optional<IterationScore> score(const Job& job, const std::function<bool(const IterationScore&)>& hopeless) const;

 private:
  // Clocks that devices may settle at, as shares of the full clock.
  struct SettledRange {
    double lowest = 1;
    double highest = 0;
  };
  // Terms with nodes set to one clock.
  struct AtClock {
    std::vector<KindTerms> kinds;
    PlaceTerms places;
  };
  const AtClock& at(std::size_t clock) const;
  AtClock terms_at(std::size_t clock) const;
  double limit_at(std::size_t place, std::size_t clock) const;  // NodeHardware::clock_limit
  std::shared_ptr<const std::vector<BlockBodies>> bodies_at(std::size_t place, double settled, double limit) const;
  // Terms at a clock that devices settle at. `energies_j`: the least energy of each block.
  KindTerms kind_terms(std::size_t place, double settled, double limit, std::span<const double> energies_j) const;
  std::vector<double> least_energies(std::size_t place, const SettledRange& settled, double limit) const;
  std::vector<double> energies_at(std::size_t place, double settled, double limit) const;
  // `schedules`: kinds_of_schedules().
  SettledRange settled_range(std::size_t place, std::span<const ScheduleId> schedules) const;
  void find_streams();
  void price_transfers();
  ShardedBlocks blocks_of(const Job& job) const;

  std::vector<std::shared_ptr<BlockSet>> sets_;  // for each shape
  std::vector<LayerBlocks> layers_;
  std::vector<BlockId> kept_of_;  // for each block, the same layer if it is not recomputed, else the block itself
  std::vector<SettledRange> settled_ranges_;  // for each kind
  // One block for each size of the stream after a block; two sizes are one if they are equal on all stages.
  // `stream_of_`: index in `streams_` by the number of layers before the stream.
  std::vector<BlockId> streams_;
  std::vector<std::size_t> stream_of_;
  // Times by place and stream: [place * number of streams + stream].
  std::vector<Picoseconds> transfer_on_;
  std::vector<Picoseconds> transfer_back_;
  mutable MadeOnce<std::vector<int>, StateTerms> states_;
  mutable MadeOnce<CutStageKey, CutStage> cut_stages_;
  mutable MadeOnce<std::size_t, std::shared_ptr<const AtClock>> at_;
  mutable MadeOnce<std::tuple<std::size_t, double, std::size_t>, KindTerms> settled_;  // by kind and both clocks
  const AtClock* first_ = nullptr;                                                     // at the highest clock
};

}  // namespace mirfak
