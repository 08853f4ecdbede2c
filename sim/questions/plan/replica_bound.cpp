#include "plan/replica_bound.hpp"

#include "plan/cut_passes.hpp"
#include "plan/ordered_bound.hpp"

#include <algorithm>
#include <functional>

namespace mirfak {

namespace {

using Gather = DataParallelPlan::Gather;
using Reduce = DataParallelPlan::Reduce;

// Times of one stage's passes and collectives, each stream in order. First every chunk's first forward pass is placed,
// in the order of chunks, then every chunk's last backward pass, in the reverse order: the passes before the former and
// after the latter are known (ChunkEdges), and the stage runs all passes between the two without a gap at best.
class StageClock {
 public:
  // All arguments must outlive this.
  StageClock(const StagePasses& passes, const CutStage& cut, const std::vector<ChunkEdges>& edges,
             Picoseconds microbatches)
      : passes_(passes),
        chunks_(cut.chunks),
        edges_(edges),
        plan_(cut.plan),
        microbatches_(microbatches),
        last_(chunks_.size()),
        ends_(chunks_.size()) {}

  // Returns the end of the first forward pass of chunk `c`, whose input arrives no earlier than `arrived`.
  Picoseconds run_first(std::size_t c, Picoseconds arrived) {
    const Picoseconds length = passes_.chunks[c].forward + (is_cut_forward() ? chunks_[c].forward.longer : 0);
    Picoseconds end = std::max(arrived, begin_ + least(edges_[c].before_first)) + length;
    if (passes_.host_waits) end = std::max(end, arrived + passes_.issued_in(passes_.chunks[c].issue_forward));
    if (plan_.gather == Gather::first_forward) {
      end = std::max(end, gathered_ + chunks_[c].forward.first_gather + length);
      gathered_ += chunks_[c].forward.gather;
      end = std::max(end, gathered_);
    }
    begin_ = std::max(begin_, end - length - most(edges_[c].before_first));
    return end;
  }

  // Returns the end of the last backward pass of chunk `c`, whose input arrives no earlier than `arrived`.
  Picoseconds run_last(std::size_t c, Picoseconds arrived) {
    const Picoseconds length = passes_.chunks[c].backward + (is_cut_backward() ? chunks_[c].backward.longer : 0);
    const PassCounts& behind = edges_[c].behind_last;
    last_[c] = std::max(passed() - most(behind), arrived + length);
    if (c + 1 < chunks_.size() && contains(edges_[c + 1].behind_last, behind)) {
      last_[c] = std::max(last_[c], last_[c + 1] + least(edges_[c + 1].behind_last) - least(behind));
    }
    ends_[c] = std::max(last_[c], issued_last(c, arrived));
    end_ = std::max(end_, ends_[c] + least(behind));
    return ends_[c];
  }

  // Returns the end of the passes.
  Picoseconds end() const { return std::max(end_, passed()); }

  // Returns the end of the collectives.
  Picoseconds collectives_end() const {
    if (plan_.reduce == Reduce::last_backward) return reduced_once();
    if (plan_.reduce != Reduce::every_backward) return 0;
    const Picoseconds gathers = plan_.gathers_in_passes() ? microbatches_ : 0;
    Picoseconds all = 0;
    for (const CutChunk& chunk : chunks_) {
      all += gathers * (chunk.forward.gather + chunk.backward.gather) + microbatches_ * chunk.backward.reduce;
    }
    return all;
  }

 private:
  bool is_cut_forward() const { return plan_.gather == Gather::first_forward || plan_.gathers_in_passes(); }
  bool is_cut_backward() const {
    return plan_.reduce == Reduce::last_backward || plan_.reduce == Reduce::every_backward;
  }

  // Returns the end of the last backward pass of chunk `c` by the host's work alone.
  Picoseconds issued_last(std::size_t c, Picoseconds arrived) const {
    const bool none_behind = most(edges_[c].behind_last) == 0;
    const Picoseconds all = c == 0 && none_behind ? passes_.issued : 0;
    return std::max(all, passes_.host_waits ? arrived + passes_.issued_in(passes_.chunks[c].issue_backward) : 0);
  }

  // Returns the end of all passes if they run one after the other.
  Picoseconds passed() const { return begin_ + passes_.busy + longer(); }

  // Returns the extra time of all passes that are cut.
  Picoseconds longer() const {
    const Picoseconds forward = plan_.gather == Gather::first_forward ? 1
                                : plan_.gathers_in_passes()           ? microbatches_
                                                                      : 0;
    const Picoseconds backward = plan_.reduce == Reduce::last_backward    ? 1
                                 : plan_.reduce == Reduce::every_backward ? microbatches_
                                                                          : 0;
    Picoseconds sum = 0;
    for (const CutChunk& chunk : chunks_) sum += forward * chunk.forward.longer + backward * chunk.backward.longer;
    return sum;
  }

  // Returns true if `all` has every pass of `some`.
  static bool contains(const PassCounts& all, const PassCounts& some) {
    return std::equal(all.forward.begin(), all.forward.end(), some.forward.begin(), std::greater_equal()) &&
           std::equal(all.backward.begin(), all.backward.end(), some.backward.begin(), std::greater_equal());
  }

  // Returns a lower bound of the time of some passes.
  Picoseconds least(const PassCounts& counts) const {
    Picoseconds sum = 0;
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      sum += counts.forward[c] * passes_.chunks[c].forward + counts.backward[c] * passes_.chunks[c].backward;
    }
    return sum;
  }

  // Returns an upper bound of what some passes take of the time that passed() counts.
  Picoseconds most(const PassCounts& counts) const {
    const Picoseconds on = passes_.awaits_sends ? passes_.on : 0;
    const Picoseconds back = passes_.awaits_sends ? passes_.back : 0;
    Picoseconds sum = least(counts);
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      const int forward = counts.forward[c];
      const int backward = counts.backward[c];
      sum += forward * on + backward * back;
      const int cut_forward = plan_.gathers_in_passes() ? forward : std::min(forward, 1);
      const int cut_backward = plan_.reduce == Reduce::every_backward ? backward : std::min(backward, 1);
      if (is_cut_forward()) sum += cut_forward * chunks_[c].forward.longer;
      if (is_cut_backward()) sum += cut_backward * chunks_[c].backward.longer;
    }
    return sum;
  }

  Picoseconds reduced_once() const {
    Picoseconds end = 0;
    Picoseconds behind = 0;  // reductions of the chunks whose last pass comes later
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      const CutPass& last = chunks_[c].backward;
      end = std::max(end, last_[c] - passes_.chunks[c].backward - last.longer + last.reduce + behind);
      end = std::max(end, ends_[c] + last.last_reduce + behind);
      behind += last.reduce;
    }
    return end;
  }

  const StagePasses& passes_;
  const std::vector<CutChunk>& chunks_;
  const std::vector<ChunkEdges>& edges_;
  const DataParallelPlan& plan_;
  Picoseconds microbatches_;
  Picoseconds begin_ = 0;     // time at which the first pass would begin if all passes followed without a gap
  Picoseconds gathered_ = 0;  // end of the gathers of the chunks so far
  Picoseconds end_ = 0;
  // By chunk: the end of its last backward pass by the device's work, and by the host's too. By the former its
  // beginning is known: a pass that waits for the host is longer.
  std::vector<Picoseconds> last_;
  std::vector<Picoseconds> ends_;
};

// Passes the first microbatch on from chunk to chunk, and the last gradient back.
void run_through(std::span<const StagePasses> stages, std::size_t chunks, std::vector<StageClock>& clocks) {
  Picoseconds arrived = 0;
  for (std::size_t c = 0; c < chunks; ++c) {
    for (std::size_t stage = 0; stage < clocks.size(); ++stage) {
      arrived = clocks[stage].run_first(c, arrived) + stages[stage].on;
    }
  }
  arrived = 0;
  for (std::size_t c = chunks; c-- > 0;) {
    for (std::size_t stage = clocks.size(); stage-- > 0;) {
      arrived = clocks[stage].run_last(c, arrived) + stages[stage].back;
    }
  }
}

}  // namespace

PipelineBound bound_with_replicas(const PricedBranch& branch, const PipelineChoice& choice, const StateChoice& state,
                                  const std::vector<std::vector<ChunkPlan>>& chunks, ScheduleFacts& facts,
                                  const PlaceTerms& terms) {
  PipelineBound out = pipeline_bound(branch, choice, terms);
  if (!choice.plain()) {
    follow_order(branch, choice, state, chunks, terms, out);
    return out;
  }
  for (int own = 0; own < branch.layout().count(); ++own) {
    const std::vector<StagePasses> stages = stage_passes(branch, choice, own, terms);
    CutStages cut(branch, choice, state, own, chunks, terms);
    const ScheduleFacts::Edges& edges = facts.edges(choice.schedule, branch.shape(choice, own));
    std::vector<StageClock> clocks;
    for (int stage = 0; stage < static_cast<int>(stages.size()); ++stage) {
      const auto index = static_cast<std::size_t>(stage);
      clocks.emplace_back(stages[index], cut.stage(stage), edges[index], choice.microbatches_of(own));
    }
    run_through(stages, stages.front().chunks.size(), clocks);
    for (int stage = 0; stage < static_cast<int>(stages.size()); ++stage) {
      Picoseconds& end = out.end[branch.layout().place(stage, own)];
      end = std::max(end, clocks[static_cast<std::size_t>(stage)].end());
    }
    follow_backward(branch, stages, own, out.end);
    for (int stage = 0; stage < static_cast<int>(stages.size()); ++stage) {
      Picoseconds& end = out.end[branch.layout().place(stage, own)];
      end = std::max(end, clocks[static_cast<std::size_t>(stage)].collectives_end());
    }
  }
  out.last = *std::max_element(out.end.begin(), out.end.end());
  return out;
}

}  // namespace mirfak
