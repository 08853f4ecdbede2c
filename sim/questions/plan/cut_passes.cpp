#include "plan/cut_passes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace mirfak {

namespace {

bool same_blocks(const ChunkPlan& a, const ChunkPlan& b) {
  return a.embedding == b.embedding && a.head == b.head &&
         std::equal(a.runs.begin(), a.runs.end(), b.runs.begin(), b.runs.end(),
                    [](const BlockRun& x, const BlockRun& y) { return x.block == y.block && x.count == y.count; });
}

}  // namespace

const CutStage& CutStages::stage(int stage) {
  if (stage == 0 || !as_before(stage)) last_ = &branch_.cut_stages().get(key(stage), [&] { return make(stage); });
  return *last_;
}

CutStageKey CutStages::key(int stage) const {
  const auto offloaded = std::bit_cast<std::array<int, 2>>(state_.offload_optimizer);
  const int most = *std::max_element(choice_.microbatches->begin(), choice_.microbatches->end());
  std::vector<int> out = {state_.zero,
                          state_.overlap_grad_reduce ? 1 : 0,
                          state_.overlap_param_gather ? 1 : 0,
                          offloaded[0],
                          offloaded[1],
                          most > 1 ? 1 : 0,
                          schedule_of(choice_.schedule).splits ? 1 : 0};
  for (const ChunkPlan& chunk : chunks_[static_cast<std::size_t>(stage)]) {
    out.push_back(-1);
    out.push_back((chunk.embedding ? 1 : 0) + (chunk.head ? 2 : 0));
    for (const BlockRun& run : chunk.runs) out.insert(out.end(), {run.block, run.count});
  }
  return {terms_[branch_.layout().place(stage, own_)], std::move(out)};
}

// Returns the job as a stage sees it, until another stage is asked for.
const Job& CutStages::job(int stage) {
  const Job& of_branch = branch_.job_at(stage);
  if (job_of_ == &of_branch) return *job_;
  job_of_ = &of_branch;
  job_ = of_branch;
  choice_.apply_to(job_->strategy, branch_.layout().classes);
  state_.apply_to(job_->strategy);
  return *job_;
}

// Returns true if the chunks of a stage are those of the stage before it, on the same kind of stage.
bool CutStages::as_before(int stage) const {
  const auto at = static_cast<std::size_t>(stage);
  const LayoutCosts& layout = branch_.layout();
  return terms_[layout.place(stage, own_)] == terms_[layout.place(stage - 1, own_)] &&
         std::equal(chunks_[at].begin(), chunks_[at].end(), chunks_[at - 1].begin(), chunks_[at - 1].end(),
                    same_blocks);
}

CutStage CutStages::make(int stage) {
  const std::size_t place = branch_.layout().place(stage, own_);
  const Job& own = job(stage);
  const bool splits = schedule_of(choice_.schedule).splits;
  const StageContents contents(own, branch_.blocks(stage).blocks, stage, chunks_[static_cast<std::size_t>(stage)]);
  CutStage out;
  out.plan = data_parallel_plan(own);
  for (std::size_t i = 0; i < contents.chunks.size(); ++i) {
    const ChunkPlan& chunk = contents.chunks[i];
    const bool as_before = i > 0 && same_blocks(chunk, contents.chunks[i - 1]);
    const auto of_kind = [&](Pass::Kind kind) { return cut(own, place, contents, chunk, kind); };
    out.chunks.push_back(as_before ? out.chunks.back()
                                   : CutChunk{of_kind(Pass::Kind::forward), of_kind(Pass::Kind::backward),
                                              splits ? of_kind(Pass::Kind::backward_weight) : CutPass()});
    if (i == 0) continue;
    for (CutPass* pass : {&out.chunks.back().forward, &out.chunks.back().backward, &out.chunks.back().weights}) {
      pass->longer = pass->longer_later;
    }
  }
  return out;
}

CutPass CutStages::cut(const Job& job, std::size_t place, const StageContents& contents, const ChunkPlan& chunk,
                       Pass::Kind kind) const {
  const StageCosts& costs = branch_.layout().costs[place];
  CutPass out;
  const std::vector<PassPart> parts = split_pass(job, chunk, kind);
  const DataParallelPlan plan = data_parallel_plan(job);
  const std::vector<PartCollectives> collectives = collectives_of(job, costs, contents.parameters, parts);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const PassPart& part = parts[i];
    if (part.gathers.total() > 0) {
      const auto from = [&](GatheredFrom copy) {
        return time_of(parameter_gather(job, contents.parameters, part.gathers, copy), costs);
      };
      const Picoseconds gather = std::min(from(GatheredFrom::shards), from(part.from));
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

Picoseconds CutStages::kernels(std::size_t place, const ChunkPlan& chunk, Pass::Kind kind, const PassPart& part) const {
  Picoseconds sum = 0;
  for (int i = part.first; i < part.last; ++i) {
    const BlockBodies& block = terms_[place]->of(chunk.block(is_forward(kind) ? i : chunk.blocks() - 1 - i));
    sum += kind == Pass::Kind::backward_weight ? block.folded_backward_weight.device
           : is_forward(kind)                  ? block.folded_forward.device
                                               : block.folded_backward.device;
  }
  return sum;
}

}  // namespace mirfak
