#pragma once

#include "base/made_once.hpp"
#include "plan/listed_branch.hpp"
#include "plan/pass_terms.hpp"
#include "plan/state_terms.hpp"
#include "simulation/score.hpp"

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace mirfak {

// A branch with its blocks, sharded and priced, and its transfers. May be used by several threads at once.
class PricedBranch : public ListedBranch {
 public:
  PricedBranch(ListedBranch branch, SharedBlocks& shared);

  BlockSet& blocks(int stage = 0) const { return *sets_[shape_of(stage)]; }
  std::span<const LayerBlocks> layers() const { return layers_; }
  // Terms at the highest clocks that stages of the branch hold: no strategy runs its passes in less time.
  const PlaceTerms& fastest() const { return fastest_; }
  // Terms at the clocks at which the stages of a pipeline settle, those of its plan. `chunks`: the blocks of each
  // stage's chunks.
  PlaceTerms settled(const PipelineChoice& choice, const std::vector<std::vector<ChunkPlan>>& chunks) const;
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
  // Returns the state terms of every place. `chunks`: the blocks of each stage's chunks.
  std::vector<StateTerms> state_terms(const std::vector<std::vector<ChunkPlan>>& chunks,
                                      const StateChoice& choice) const;
  // Executes one strategy of the branch, as score_iteration() does. `job` has that strategy.
  std::optional<IterationScore> score(const Job& job, const std::function<bool(const IterationScore&)>& hopeless) const;

 private:
  // Terms at a clock that devices settle at. `energies_j`: the least energy of each block.
  KindTerms kind_terms(std::size_t place, double clock, std::span<const double> energies_j) const;
  std::vector<double> least_energies(std::size_t place, double lowest, double highest) const;
  std::pair<double, double> settled_clocks(std::size_t place) const;  // lowest and highest
  void find_streams();
  void price_transfers();
  ShardedBlocks blocks_of(const Job& job) const;

  std::vector<std::shared_ptr<BlockSet>> sets_;  // for each shape
  std::vector<LayerBlocks> layers_;
  std::vector<BlockId> kept_of_;  // for each block, the same layer if it is not recomputed, else the block itself
  std::vector<KindTerms> kinds_;  // at the highest clocks
  std::vector<std::vector<double>> energies_j_;  // for each kind, the least energies of its blocks
  PlaceTerms fastest_;
  // One block for each size of the stream after a block; two sizes are one if they are equal on all stages.
  // `stream_of_`: index in `streams_` by the number of layers before the stream.
  std::vector<BlockId> streams_;
  std::vector<std::size_t> stream_of_;
  // Times by place and stream: [place * number of streams + stream].
  std::vector<Picoseconds> transfer_on_;
  std::vector<Picoseconds> transfer_back_;
  mutable MadeOnce<std::vector<int>, StateTerms> states_;
  mutable MadeOnce<std::pair<std::size_t, double>, KindTerms> settled_;  // by kind and clock
};

}  // namespace mirfak
