#include "plan/pipeline_bound.hpp"

#include "program/data_parallel.hpp"

#include <algorithm>

namespace mirfak {

namespace {

bool awaits_sends(const Branch& branch, const PipelineChoice& choice) {
  const bool overlaps =
      branch.job().framework.communication.overlap_pipeline && choice.schedule == ScheduleKind::interleaved;
  return branch.job().strategy.pipeline > 1 && !overlaps;
}

// Transfers that a stage's later passes wait for: all it sends but behind its very last pass.
Picoseconds sends(const Branch& branch, const PipelineChoice& choice, int stage, int own) {
  const int stages = branch.job().strategy.pipeline;
  if (!awaits_sends(branch, choice)) return 0;
  const std::size_t place = branch.layout().place(stage, own);
  const int on = choice.chunks - (stage + 1 == stages ? 1 : 0);
  const int back = choice.chunks - (stage == 0 ? 1 : 0);
  const Picoseconds last = stage == 0 ? 0 : branch.transfer_back(place);
  return choice.microbatches_of(own) * (on * branch.transfer_on(place) + back * branch.transfer_back(place)) - last;
}

// Fills in the ends of one class of replicas.
void bound_class(const Branch& branch, const PipelineChoice& choice, int own, PipelineBound& out) {
  const LayoutCosts& layout = branch.layout();
  const Picoseconds m = choice.microbatches_of(own);
  const std::vector<StagePasses> stages = stage_passes(branch, choice, own);
  Picoseconds start = 0;
  double energy_j = 0;
  for (int stage = 0; stage < static_cast<int>(stages.size()); ++stage) {
    const StagePasses& passes = stages[static_cast<std::size_t>(stage)];
    out.end[layout.place(stage, own)] = std::max(start + passes.busy, passes.issued);
    energy_j += static_cast<double>(m) * passes.energy_j;
    start += passes.chunks.front().forward + passes.on;
  }
  follow_backward(branch, stages, own, out.end);
  out.energy_j += energy_j * branch.job().strategy.team() * layout.classes[static_cast<std::size_t>(own)].count();
}

}  // namespace

std::vector<StagePasses> stage_passes(const Branch& branch, const PipelineChoice& choice, int own) {
  const std::vector<int> begins = choice.begins();
  const int stages = branch.job().strategy.pipeline;
  const Picoseconds m = choice.microbatches_of(own);
  std::vector<StagePasses> out(static_cast<std::size_t>(stages));
  for (int stage = 0; stage < stages; ++stage) {
    StagePasses& passes = out[static_cast<std::size_t>(stage)];
    const std::size_t place = branch.layout().place(stage, own);
    PassTerms all;
    for (int chunk = 0; chunk < choice.chunks; ++chunk) {
      const bool embedding = stage == 0 && chunk == 0;
      const bool head = stage + 1 == stages && chunk + 1 == choice.chunks;
      passes.chunks.push_back(
          branch.passes(place, choice.layers_of(begins, stage, chunk), choice.recompute_layers, embedding, head));
      all += passes.chunks.back();
    }
    passes.busy = m * (all.forward + all.backward) + sends(branch, choice, stage, own);
    // The device ends its last pass no earlier than the host has issued all before it.
    passes.issued = m * (all.issue_forward + all.issue_backward) - passes.chunks.front().issue_backward;
    passes.energy_j = all.energy_j;
    passes.awaits_sends = awaits_sends(branch, choice);
    if (stages > 1) {
      passes.on = branch.transfer_on(place);
      passes.back = branch.transfer_back(place);
    }
  }
  return out;
}

void follow_backward(const Branch& branch, std::span<const StagePasses> stages, int own,
                     std::vector<Picoseconds>& end) {
  for (int stage = static_cast<int>(stages.size()) - 2; stage >= 0; --stage) {
    const auto index = static_cast<std::size_t>(stage);
    Picoseconds& ends = end[branch.layout().place(stage, own)];
    const Picoseconds behind = end[branch.layout().place(stage + 1, own)] + stages[index + 1].back;
    ends = std::max(ends, behind + stages[index].chunks.front().backward);
  }
}

PipelineBound pipeline_bound(const Branch& branch, const PipelineChoice& choice) {
  PipelineBound out;
  out.end.resize(branch.layout().costs.size());
  for (int own = 0; own < branch.layout().count(); ++own) bound_class(branch, choice, own, out);
  out.last = *std::max_element(out.end.begin(), out.end.end());
  return out;
}

std::vector<std::vector<ChunkPlan>> chunks_of(const Branch& branch, const PipelineChoice& choice) {
  Job job = branch.job();
  choice.apply_to(job.strategy, branch.layout().classes);
  const int stages = job.strategy.pipeline;
  const std::vector<int> begins = choice.begins();
  std::vector<std::vector<ChunkPlan>> out(static_cast<std::size_t>(stages));
  for (int stage = 0; stage < stages; ++stage) {
    for (int chunk = 0; chunk < choice.chunks; ++chunk) {
      const bool head = stage + 1 == stages && chunk + 1 == choice.chunks;
      out[static_cast<std::size_t>(stage)].push_back(chunk_of(job, branch.blocks().blocks, branch.layers(),
                                                              choice.layers_of(begins, stage, chunk),
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
