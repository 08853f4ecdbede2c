#include "plan/replica_bound.hpp"

#include "program/pass_parts.hpp"

#include <algorithm>
#include <numeric>

namespace mirfak {

namespace {

using Gather = DataParallelPlan::Gather;
using Reduce = DataParallelPlan::Reduce;

// One kind of pass of a chunk, cut into parts by collectives.
struct CutPass {
  Picoseconds gather = 0;        // all gathers of its parts
  Picoseconds first_gather = 0;  // the first of these gathers
  Picoseconds reduce = 0;        // all reductions of its parts
  Picoseconds last_reduce = 0;   // the last of these reductions
  Picoseconds longer = 0;        // extra time against a pass that is not cut
  Picoseconds longer_later = 0;  // `longer` for a chunk that is not the stage's first
};

struct CutChunk {
  CutPass forward;
  CutPass backward;
};

// The stages of one class of replicas, with passes cut as a strategy demands.
class CutStages {
 public:
  CutStages(const PricedBranch& branch, const PipelineChoice& choice, const StateChoice& state, int own)
      : branch_(branch), choice_(choice), state_(state), own_(own), chunks_(chunks_of(branch, choice)) {}

  // Returns the job as a stage sees it.
  Job job(int stage) const {
    Job out = branch_.job_at(stage);
    choice_.apply_to(out.strategy, branch_.layout().classes);
    state_.apply_to(out.strategy);
    return out;
  }

  std::vector<CutChunk> stage(int stage) const {
    const std::size_t place = branch_.layout().place(stage, own_);
    const Job own = job(stage);
    const StageContents contents(own, branch_.blocks(stage).blocks, stage, chunks_[static_cast<std::size_t>(stage)]);
    std::vector<CutChunk> out;
    for (std::size_t i = 0; i < contents.chunks.size(); ++i) {
      const ChunkPlan& chunk = contents.chunks[i];
      const bool as_before = i > 0 && same_blocks(chunk, contents.chunks[i - 1]);
      out.push_back(as_before ? out.back()
                              : CutChunk{cut(own, place, contents, chunk, Pass::Kind::forward),
                                         cut(own, place, contents, chunk, Pass::Kind::backward)});
      if (i == 0) continue;
      for (CutPass* pass : {&out.back().forward, &out.back().backward}) pass->longer = pass->longer_later;
    }
    return out;
  }

 private:
  static bool same_blocks(const ChunkPlan& a, const ChunkPlan& b) {
    return a.embedding == b.embedding && a.head == b.head &&
           std::equal(a.runs.begin(), a.runs.end(), b.runs.begin(), b.runs.end(),
                      [](const BlockRun& x, const BlockRun& y) { return x.block == y.block && x.count == y.count; });
  }

  CutPass cut(const Job& job, std::size_t place, const StageContents& contents, const ChunkPlan& chunk,
              Pass::Kind kind) const {
    const StageCosts& costs = branch_.layout().costs[place];
    CutPass out;
    const std::vector<PassPart> parts = split_pass(job, chunk, kind);
    const DataParallelPlan plan = data_parallel_plan(job);
    const std::vector<PartCollectives> collectives = collectives_of(job, costs, contents.parameters, parts);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const PassPart& part = parts[i];
      if (part.gathers.total() > 0) {
        const Picoseconds gather = time_of(parameter_gather(job, contents.parameters, part.gathers), costs);
        if (part.first == 0) out.first_gather = gather;
        out.gather += gather;
      }
      out.last_reduce = part.reduces.total() > 0 ? time_of(gradient_reduction(job, part.reduces), costs) : 0;
      out.reduce += out.last_reduce;
      const Picoseconds copies = fold(replica_copies(job, costs, part)).device;
      const double kernels_s = to_seconds(kernels(place, chunk, kind, part) + copies);
      const auto longer = [&](int of_chunk) {
        const double lost_s = lost_to_collectives(collectives_beside(plan, of_chunk, collectives, i), kernels_s);
        return copies + (lost_s > 0 ? to_picoseconds(lost_s) : 0);
      };
      out.longer += longer(0);
      out.longer_later += longer(1);
    }
    return out;
  }

  Picoseconds kernels(std::size_t place, const ChunkPlan& chunk, Pass::Kind kind, const PassPart& part) const {
    const bool forward = kind == Pass::Kind::forward;
    Picoseconds sum = 0;
    for (int i = part.first; i < part.last; ++i) {
      const BlockBodies& block = branch_.fastest(place, chunk.block(forward ? i : chunk.blocks() - 1 - i));
      sum += (forward ? block.folded_forward : block.folded_backward).device;
    }
    return sum;
  }

  const PricedBranch& branch_;
  const PipelineChoice& choice_;
  const StateChoice& state_;
  int own_;
  std::vector<std::vector<ChunkPlan>> chunks_;
};

// Times of one stage's passes and collectives, each stream in order.
class StageClock {
 public:
  StageClock(const StagePasses& passes, const std::vector<CutChunk>& chunks, const std::vector<ChunkEdges>& edges,
             const DataParallelPlan& plan, Picoseconds microbatches)
      : passes_(passes), chunks_(chunks), edges_(edges), plan_(plan), microbatches_(microbatches) {}

  // Returns the end of the first pass, which begins no earlier than `start`.
  Picoseconds first_end(Picoseconds start) const {
    const Picoseconds passed = start + passes_.chunks.front().forward;
    return plan_.gather == Gather::first_forward ? std::max(passed, chunks_.front().forward.gather) : passed;
  }

  // Returns the time at which the first pass would begin if all passes after it followed without a gap.
  Picoseconds begin(Picoseconds start) const {
    if (plan_.gather != Gather::first_forward) return start;
    Picoseconds gathered = 0;
    Picoseconds begin = start;
    Picoseconds longer = 0;
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      const CutPass& first = chunks_[c].forward;
      const Picoseconds before = duration(edges_[c].before_first) + longer;
      longer += first.longer;
      begin = std::max(begin, gathered + first.first_gather - before);
      gathered += first.gather;
      begin = std::max(begin, gathered - before - passes_.chunks[c].forward - first.longer);
    }
    return begin;
  }

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

  // Returns the end of the collectives of a stage whose passes end at `passed`.
  Picoseconds collectives_end(Picoseconds passed) const {
    if (plan_.reduce == Reduce::last_backward) return reduced_once(passed);
    if (plan_.reduce != Reduce::every_backward) return 0;
    const Picoseconds gathers = plan_.gathers_in_passes() ? microbatches_ : 0;
    Picoseconds all = 0;
    for (const CutChunk& chunk : chunks_) {
      all += gathers * (chunk.forward.gather + chunk.backward.gather) + microbatches_ * chunk.backward.reduce;
    }
    return all;
  }

 private:
  Picoseconds duration(const PassCounts& counts) const {
    const Picoseconds on = passes_.awaits_sends ? passes_.on : 0;
    const Picoseconds back = passes_.awaits_sends ? passes_.back : 0;
    Picoseconds sum = 0;
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      sum += counts.forward[c] * (passes_.chunks[c].forward + on);
      sum += counts.backward[c] * (passes_.chunks[c].backward + back);
    }
    return sum;
  }

  Picoseconds reduced_once(Picoseconds passed) const {
    Picoseconds end = 0;
    Picoseconds behind = 0;  // reductions of the chunks whose last pass comes later
    Picoseconds longer = 0;
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      const CutPass& last = chunks_[c].backward;
      const Picoseconds ended = passed - duration(edges_[c].behind_last) - longer;
      longer += last.longer;
      end = std::max(end, ended - passes_.chunks[c].backward - last.longer + last.reduce + behind);
      end = std::max(end, ended + last.last_reduce + behind);
      behind += last.reduce;
    }
    return end;
  }

  const StagePasses& passes_;
  const std::vector<CutChunk>& chunks_;
  const std::vector<ChunkEdges>& edges_;
  const DataParallelPlan& plan_;
  Picoseconds microbatches_;
};

}  // namespace

PipelineBound bound_with_replicas(const PricedBranch& branch, const PipelineChoice& choice, const StateChoice& state,
                                  ScheduleFacts& facts) {
  PipelineBound out = pipeline_bound(branch, choice);
  if (!choice.plain()) return out;
  for (int own = 0; own < branch.layout().count(); ++own) {
    const std::vector<StagePasses> stages = stage_passes(branch, choice, own);
    const CutStages cut(branch, choice, state, own);
    const ScheduleFacts::Edges& edges = facts.edges(choice.schedule, branch.shape(choice, own));
    std::vector<Picoseconds> collectives;
    Picoseconds start = 0;
    for (int stage = 0; stage < static_cast<int>(stages.size()); ++stage) {
      const auto index = static_cast<std::size_t>(stage);
      const std::vector<CutChunk> chunks = cut.stage(stage);
      const DataParallelPlan plan = data_parallel_plan(cut.job(stage));
      const StageClock clock(stages[index], chunks, edges[index], plan, choice.microbatches_of(own));
      const Picoseconds passed = clock.begin(start) + stages[index].busy + clock.longer();
      Picoseconds& end = out.end[branch.layout().place(stage, own)];
      end = std::max(end, passed);
      collectives.push_back(clock.collectives_end(passed));
      start = clock.first_end(start) + stages[index].on;
    }
    follow_backward(branch, stages, own, out.end);
    for (int stage = 0; stage < static_cast<int>(stages.size()); ++stage) {
      Picoseconds& end = out.end[branch.layout().place(stage, own)];
      end = std::max(end, collectives[static_cast<std::size_t>(stage)]);
    }
  }
  out.last = *std::max_element(out.end.begin(), out.end.end());
  return out;
}

}  // namespace mirfak
