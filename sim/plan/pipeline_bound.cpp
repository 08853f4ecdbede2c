#include "plan/pipeline_bound.hpp"

#include "program/data_parallel.hpp"

#include <algorithm>

namespace mirfak {

namespace {

// The first layer of every stage's first chunk, and behind them the layers of one round of chunks.
std::vector<int> begins(const PipelineChoice& choice) {
  std::vector<int> out = {0};
  for (const int layers : *choice.layers) out.push_back(out.back() + layers);
  return out;
}

// The layers of one chunk; chunks lie in the order of the model, chunk 0 of every stage first.
LayerRange layers_of(const PipelineChoice& choice, std::span<const int> begins, int stage, int chunk) {
  const auto place = static_cast<std::size_t>(stage);
  LayerRange out{std::int64_t{chunk} * begins.back() + begins[place], (*choice.layers)[place]};
  const bool first = stage == 0 && chunk == 0;
  const bool last = place + 1 == choice.layers->size() && chunk + 1 == choice.chunks;
  if (first) out.count -= choice.first_fewer;
  if (!first) out.first -= choice.first_fewer;
  if (last) out.count -= choice.last_fewer;
  return out;
}

// What a stage does over all microbatches, its first chunk's passes apart.
struct StageWorkload {
  PassTerms all;    // chunks
  PassTerms first;  // chunk
};

StageWorkload workload(const Branch& branch, const PipelineChoice& choice, std::span<const int> begin, int stage,
                       int own) {
  const int stages = branch.job().strategy.pipeline;
  StageWorkload out;
  for (int chunk = 0; chunk < choice.chunks; ++chunk) {
    const bool embedding = stage == 0 && chunk == 0;
    const bool head = stage + 1 == stages && chunk + 1 == choice.chunks;
    const PassTerms passes = branch.passes(branch.layout().place(stage, own), layers_of(choice, begin, stage, chunk),
                                           choice.recompute_layers, embedding, head);
    if (chunk == 0) out.first = passes;
    out.all += passes;
  }
  return out;
}

// Transfers that a stage's later passes wait for: all it sends but behind its very last pass.
Picoseconds sends(const Branch& branch, const PipelineChoice& choice, int stage, int own) {
  const int stages = branch.job().strategy.pipeline;
  const bool overlaps = branch.job().framework.overlap_pipeline && choice.schedule == ScheduleKind::interleaved;
  if (stages == 1 || overlaps) return 0;
  const std::size_t place = branch.layout().place(stage, own);
  const int on = choice.chunks - (stage + 1 == stages ? 1 : 0);
  const int back = choice.chunks - (stage == 0 ? 1 : 0);
  const Picoseconds last = stage == 0 ? 0 : branch.transfer_back(place);
  return choice.microbatches_of(own) * (on * branch.transfer_on(place) + back * branch.transfer_back(place)) - last;
}

// Fills in the ends of one class of replicas.
void bound_class(const Branch& branch, const PipelineChoice& choice, std::span<const int> begin, int own,
                 PipelineBound& out) {
  const int stages = branch.job().strategy.pipeline;
  const LayoutCosts& layout = branch.layout();
  const Picoseconds m = choice.microbatches_of(own);
  std::vector<Picoseconds> last_backward;
  Picoseconds start = 0;
  double energy_j = 0;
  for (int stage = 0; stage < stages; ++stage) {
    const std::size_t place = layout.place(stage, own);
    const StageWorkload work = workload(branch, choice, begin, stage, own);
    const Picoseconds busy = m * (work.all.forward + work.all.backward) + sends(branch, choice, stage, own);
    // The device ends its last pass no earlier than the host has issued all before it.
    const Picoseconds issued = m * (work.all.issue_forward + work.all.issue_backward) - work.first.issue_backward;
    out.end[place] = std::max(start + busy, issued);
    last_backward.push_back(work.first.backward);
    energy_j += static_cast<double>(m) * work.all.energy_j;
    if (stage + 1 < stages) start += work.first.forward + branch.transfer_on(place);
  }
  for (int stage = stages - 2; stage >= 0; --stage) {
    const std::size_t behind = layout.place(stage + 1, own);
    Picoseconds& end = out.end[layout.place(stage, own)];
    end =
        std::max(end, out.end[behind] + branch.transfer_back(behind) + last_backward[static_cast<std::size_t>(stage)]);
  }
  out.energy_j += energy_j * branch.job().strategy.team() * layout.classes[static_cast<std::size_t>(own)].count();
}

}  // namespace

PipelineBound pipeline_bound(const Branch& branch, const PipelineChoice& choice) {
  PipelineBound out;
  out.end.resize(branch.layout().costs.size());
  const std::vector<int> begin = begins(choice);
  for (int own = 0; own < branch.layout().count(); ++own) bound_class(branch, choice, begin, own, out);
  out.last = *std::max_element(out.end.begin(), out.end.end());
  return out;
}

std::vector<std::vector<ChunkPlan>> chunks_of(const Branch& branch, const PipelineChoice& choice) {
  Job job = branch.job();
  choice.apply_to(job.strategy, branch.layout().classes);
  const int stages = job.strategy.pipeline;
  const std::vector<int> begin = begins(choice);
  std::vector<std::vector<ChunkPlan>> out(static_cast<std::size_t>(stages));
  for (int stage = 0; stage < stages; ++stage) {
    for (int chunk = 0; chunk < choice.chunks; ++chunk) {
      const bool head = stage + 1 == stages && chunk + 1 == choice.chunks;
      out[static_cast<std::size_t>(stage)].push_back(chunk_of(job, branch.blocks().blocks, branch.layers(),
                                                              layers_of(choice, begin, stage, chunk),
                                                              stage == 0 && chunk == 0, head));
    }
  }
  return out;
}

Picoseconds iteration_bound(const Branch& branch, const PipelineBound& passes, std::span<const StateTerms> states,
                            const StateChoice& choice) {
  const bool at_end = branch.job().strategy.replicas() > 1 && choice.zero < 2 && !choice.overlap_grad_reduce;
  Picoseconds reduced = 0;
  for (std::size_t place = 0; place < passes.end.size(); ++place) {
    const Picoseconds reduction = (at_end ? states[place].reduce : 0) + states[place].norms;
    reduced = std::max(reduced, passes.end[place] + reduction);
  }
  const bool gathers =
      choice.zero >= 1 && !choice.overlap_param_gather && !gathers_in_passes(branch.job().framework, choice.zero);
  Picoseconds out = 0;
  for (const StateTerms& state : states) out = std::max(out, reduced + state.optimizer + (gathers ? state.gather : 0));
  return out;
}

}  // namespace mirfak
