#include "plan/pipeline_bound.hpp"

#include "program/data_parallel.hpp"

#include <algorithm>
#include <limits>

namespace mirfak {

namespace {

bool awaits_sends(const PricedBranch& branch, const PipelineChoice& choice) {
  return branch.job().strategy.pipeline > 1 && !overlaps_transfers(branch.job().framework, choice.schedule);
}

// Returns the time of the transfers that a stage's later passes wait for: all that the stage sends, except after its
// very last pass.
Picoseconds sends(const PricedBranch& branch, const PipelineChoice& choice, int stage, int own,
                  const StagePasses& passes) {
  const int stages = branch.job().strategy.pipeline;
  if (!awaits_sends(branch, choice)) return 0;
  const int on = choice.chunks - (stage + 1 == stages ? 1 : 0);
  const int back = choice.chunks - (stage == 0 ? 1 : 0);
  const Picoseconds last = stage == 0 ? 0 : passes.back;
  return choice.microbatches_of(own) * (on * passes.on + back * passes.back) - last;
}

// Fills in the ends of the passes of one class of replicas.
void bound_class(const PricedBranch& branch, const PipelineChoice& choice, int own, const PlaceTerms& terms,
                 PipelineBound& out) {
  const LayoutCosts& layout = branch.layout();
  const Picoseconds m = choice.microbatches_of(own);
  const std::vector<StagePasses> stages = stage_passes(branch, choice, own, terms);
  Picoseconds start = 0;
  double energy_j = 0;
  for (int stage = 0; stage < static_cast<int>(stages.size()); ++stage) {
    const StagePasses& passes = stages[static_cast<std::size_t>(stage)];
    const Picoseconds host_start = passes.host_waits ? start : 0;
    out.end[layout.place(stage, own)] = std::max(start + passes.busy, host_start + passes.issued);
    energy_j += static_cast<double>(m) * passes.energy_j * branch.ranks_per_replica(stage);
    start += passes.first + passes.on;
  }
  follow_backward(branch, stages, own, out.end);
  out.energy_j += energy_j * layout.classes[static_cast<std::size_t>(own)].count();
}

// Returns the number of a class's microbatches that a chunk runs.
Picoseconds share_of(const PipelineChoice& choice, Picoseconds microbatches, int stage, int chunk) {
  if (!choice.placement || !choice.placement->holds_twice()) return microbatches;
  const Placement& placement = *choice.placement;
  Picoseconds out = 0;
  for (int m = 0; m < placement.routes(); ++m) {
    out += placement.place_of(placement.part_of(stage, chunk), m) == Place{stage, chunk} ? 1 : 0;
  }
  return out * microbatches / placement.routes();
}

// Returns the least time of a pass after what it waits for has arrived: by the device's work, and by the host's if the
// host waits for it too.
Picoseconds least_of(const StagePasses& passes, Picoseconds device, Picoseconds host) {
  return passes.host_waits ? std::max(device, passes.issued_in(host)) : device;
}

Picoseconds least_forward(const StagePasses& passes, int chunk, const Schedule& order) {
  const PassTerms& of = passes.chunks[static_cast<std::size_t>(chunk)];
  return order.pairs ? of.forward_kernels : least_of(passes, of.forward, of.issue_forward);
}

// Returns the earliest time at which the first microbatch can reach a stage, on any route.
Picoseconds first_start(const PipelineChoice& choice, std::span<const StagePasses> stages, int stage) {
  const Schedule& order = schedule_of(choice.schedule);
  const auto forward = [&](int at, int chunk) {
    return least_forward(stages[static_cast<std::size_t>(at)], chunk, order);
  };
  Picoseconds earliest = std::numeric_limits<Picoseconds>::max();
  if (!choice.placement) {
    earliest = 0;
    for (int before = 0; before < stage; ++before) earliest += forward(before, 0);
    return earliest;
  }
  const Placement& placement = *choice.placement;
  for (int route = 0; route < placement.routes(); ++route) {
    Picoseconds arrived = 0;
    for (int part = 0; part < placement.parts(); ++part) {
      const Place place = placement.place_of(part, route);
      if (place.stage == stage) earliest = std::min(earliest, arrived);
      arrived += forward(place.stage, place.chunk);
    }
  }
  return earliest;
}

// Returns the least time that one microbatch takes through all stages and back, where each stage has one chunk.
Picoseconds way_and_back(const Schedule& order, std::span<const StagePasses> stages) {
  Picoseconds out = 0;
  for (const StagePasses& passes : stages) {
    const PassTerms& of = passes.chunks.front();
    out += least_forward(passes, 0, order);
    out += order.splits ? std::min(of.backward, of.of_inputs) : of.backward;
  }
  return out;
}

// Returns the least time from the beginning of the host's work to the end of the last pass, by this work alone.
// Nothing is known of passes in pairs.
Picoseconds issued(const PipelineChoice& choice, Picoseconds microbatches, int stage, const StagePasses& passes) {
  const Schedule& order = schedule_of(choice.schedule);
  Picoseconds host = 0;
  for (int chunk = 0; chunk < choice.chunks_of(stage) && !order.pairs; ++chunk) {
    const PassTerms& of = passes.chunks[static_cast<std::size_t>(chunk)];
    const Picoseconds back = order.splits ? std::min(of.issue_backward, of.issue_halves) : of.issue_backward;
    host += share_of(choice, microbatches, stage, chunk) * (of.issue_forward + back);
  }
  return passes.issued_in(host);
}

// Bounds any placement and any order, with halves and pairs of passes: a stage runs the kernels of all its passes, and
// none before the first microbatch can have reached it. Communication may overlap with another pass, or with work
// between halves.
void bound_placed(const PricedBranch& branch, const PipelineChoice& choice, int own, const PlaceTerms& terms,
                  PipelineBound& out) {
  const LayoutCosts& layout = branch.layout();
  const Picoseconds m = choice.microbatches_of(own);
  const Schedule& order = schedule_of(choice.schedule);
  const std::vector<StagePasses> stages = stage_passes(branch, choice, own, terms);
  double energy_j = 0;
  for (int stage = 0; stage < static_cast<int>(stages.size()); ++stage) {
    const StagePasses& passes = stages[static_cast<std::size_t>(stage)];
    Picoseconds busy = 0;
    for (int chunk = 0; chunk < choice.chunks_of(stage); ++chunk) {
      const PassTerms& of = passes.chunks[static_cast<std::size_t>(chunk)];
      const Picoseconds apart = of.forward + (order.splits ? std::min(of.backward, of.halves) : of.backward);
      const Picoseconds share = share_of(choice, m, stage, chunk);
      busy += share * (order.pairs ? of.forward_kernels + of.backward_kernels : apart);
      energy_j += static_cast<double>(share) * of.energy_j * branch.ranks_per_replica(stage);
    }
    const Picoseconds first = first_start(choice, stages, stage);
    out.end[layout.place(stage, own)] =
        std::max(first + busy, (passes.host_waits ? first : 0) + issued(choice, m, stage, passes));
  }
  if (!choice.placement && !order.pairs) {
    Picoseconds& end = out.end[layout.place(0, own)];
    end = std::max(end, way_and_back(order, stages));
  }
  out.energy_j += energy_j * layout.classes[static_cast<std::size_t>(own)].count();
}

// Sets what follows from the host's work on the passes of a stage. `all`: the passes of one microbatch.
void set_host(const PricedBranch& branch, const PipelineChoice& choice, int stage, const KindTerms& terms,
              const PassTerms& all, StagePasses& passes) {
  const Job& job = branch.job();
  const int stages = job.strategy.pipeline;
  const PassTerms& chunk = passes.chunks.front();
  passes.host_waits =
      stages > 1 && job.framework.host.waits_for_pipeline && !overlaps_transfers(job.framework, choice.schedule);
  // Nothing is known of passes in pairs.
  const bool pairs = schedule_of(choice.schedule).pairs;
  passes.outlasts = pairs ? std::numeric_limits<Picoseconds>::max() : terms.host_outlasts;
  // The last pass of the stage is the backward pass of its first chunk.
  const Picoseconds before_last = all.issue_forward + all.issue_backward - chunk.issue_backward;
  passes.issued = before_last + passes.issued_in(chunk.issue_backward);
  const bool first_waits = passes.host_waits || stage == 0;  // the first stage waits for nothing
  const bool last_waits = passes.host_waits && stage + 1 < stages;
  passes.first = std::max(chunk.forward, first_waits ? passes.issued_in(chunk.issue_forward) : 0);
  passes.last = std::max(chunk.backward, last_waits ? passes.issued_in(chunk.issue_backward) : 0);
}

}  // namespace

std::vector<StagePasses> stage_passes(const PricedBranch& branch, const PipelineChoice& choice, int own,
                                      const PlaceTerms& terms) {
  const std::vector<int> begins = choice.begins();
  const int stages = branch.job().strategy.pipeline;
  const Picoseconds m = choice.microbatches_of(own);
  std::vector<StagePasses> out(static_cast<std::size_t>(stages));
  for (int stage = 0; stage < stages; ++stage) {
    StagePasses& passes = out[static_cast<std::size_t>(stage)];
    const std::size_t place = branch.layout().place(stage, own);
    PassTerms all;
    const int chunks = choice.chunks_of(stage);
    passes.chunks.reserve(static_cast<std::size_t>(chunks));
    if (stages > 1) passes.on = passes.back = std::numeric_limits<Picoseconds>::max();
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const LayerRange layers = choice.layers_of(begins, stage, chunk);
      passes.chunks.push_back(branch.passes(*terms[place], layers, choice.recompute_layers,
                                            choice.holds_embedding(stage, chunk), choice.holds_head(stage, chunk)));
      all += passes.chunks.back();
      if (stages == 1) continue;
      passes.on = std::min(passes.on, branch.transfer_on(place, layers.first + layers.count));
      passes.back = std::min(passes.back, branch.transfer_back(place, layers.first));
    }
    passes.busy = m * (all.forward + all.backward) + sends(branch, choice, stage, own, passes);
    set_host(branch, choice, stage, *terms[place], all, passes);
    passes.issued += (m - 1) * (all.issue_forward + all.issue_backward);
    passes.energy_j = all.energy_j;
    passes.awaits_sends = awaits_sends(branch, choice);
  }
  return out;
}

void follow_backward(const PricedBranch& branch, std::span<const StagePasses> stages, int own,
                     std::vector<Picoseconds>& end) {
  for (int stage = static_cast<int>(stages.size()) - 2; stage >= 0; --stage) {
    const auto index = static_cast<std::size_t>(stage);
    Picoseconds& ends = end[branch.layout().place(stage, own)];
    const Picoseconds behind = end[branch.layout().place(stage + 1, own)] + stages[index + 1].back;
    ends = std::max(ends, behind + stages[index].last);
  }
}

PipelineBound pipeline_bound(const PricedBranch& branch, const PipelineChoice& choice, const PlaceTerms& terms) {
  PipelineBound out;
  out.end.resize(branch.layout().costs.size());
  for (int own = 0; own < branch.layout().count(); ++own) {
    if (choice.plain()) {
      bound_class(branch, choice, own, terms, out);
    } else {
      bound_placed(branch, choice, own, terms, out);
    }
  }
  out.last = *std::max_element(out.end.begin(), out.end.end());
  return out;
}

std::vector<std::vector<ChunkPlan>> chunks_of(const PricedBranch& branch, const PipelineChoice& choice) {
  Strategy strategy = branch.job().strategy;
  choice.apply_to(strategy, branch.layout().classes);
  const int stages = strategy.pipeline;
  const std::vector<int> begins = choice.begins();
  std::vector<std::vector<ChunkPlan>> out(static_cast<std::size_t>(stages));
  for (int stage = 0; stage < stages; ++stage) {
    for (int chunk = 0; chunk < choice.chunks_of(stage); ++chunk) {
      out[static_cast<std::size_t>(stage)].push_back(chunk_of(
          branch.job().model, strategy, branch.blocks().blocks, branch.layers(), choice.layers_of(begins, stage, chunk),
          choice.holds_embedding(stage, chunk), choice.holds_head(stage, chunk)));
    }
  }
  return out;
}

Picoseconds iteration_bound(const PricedBranch& branch, const PipelineBound& passes, std::span<const StateTerms> states,
                            const StateChoice& choice) {
  const bool at_end = choice.zero < 2 && !choice.overlap_grad_reduce;
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
