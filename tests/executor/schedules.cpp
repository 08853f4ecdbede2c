// Every schedule, executed on all ranks: each pass once, in an order that the schedule allows.

#include "executor/measured_timeline.hpp"
#include "executor/rank_plan.hpp"
#include "executor/submission_order.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"
#include "strategy/rules.hpp"
#include "support/scratch_folder.hpp"
#include "support/source_root.hpp"
#include "together.hpp"
#include "trace/pass_spans.hpp"
#include "trace/stream_index.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace mirfak;
using namespace mirfak::measure;
using namespace mirfak::test;

namespace {

Job job_of(const std::string& strategy) {
  const std::string text = fmt::format(
      "model: {{source: test, family: gpt, layers: 8, hidden: 64, heads: 4, ffn: 256, vocab: 512, max_sequence: 64,\n"
      "  activation: gelu, normalization: layer_norm, position: learned, linear_bias: true, tied_embeddings: true,\n"
      "  dropout: 0.1}}\n"
      "cluster: {{nodes: [{{type: dgx-a100-80g, count: 1, gpus: 4}}]}}\n"
      "training: {{global_batch: 16, sequence_length: 64, precision: fp32, framework: megatron-core}}\n"
      "strategy: {{{}}}\n",
      strategy);
  const DataFolders folders{source_root() + "/models", source_root() + "/hw_profiles"};
  return parse_scenario(Document::from_text(text, "test"), folders).job;
}

// Passes by what they are of the model, whoever runs them.
using PartPass = std::tuple<TaskKind, int, int>;  // kind, part, microbatch
using Executed = std::map<PartPass, PassSpan>;

PartPass part_pass(const Placement& placement, int stage, const PassSpan& span) {
  return {span.kind, placement.part_of(stage, span.chunk), span.microbatch};
}

PassSpan span_of(const Pass& pass) {
  PassSpan out;
  out.kind = TaskKind::backward;
  if (is_forward(pass.kind)) out.kind = TaskKind::forward;
  if (pass.kind == Pass::Kind::backward_weight) out.kind = TaskKind::weight_gradient;
  out.chunk = pass.chunk;
  out.microbatch = pass.microbatch;
  return out;
}

// Checks that a rank ran its stage's order, in which the passes of a pair may change places.
void check_order(const std::vector<PassSpan>& ran, std::vector<Pass> order) {
  REQUIRE(ran.size() == order.size() + 1);
  CHECK(ran.back().kind == TaskKind::optimizer);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i].with_next && !ran[i].same_pass(span_of(order[i]))) std::swap(order[i], order[i + 1]);
    CHECK(ran[i].same_pass(span_of(order[i])));
  }
}

// The passes of one replica's ranks with one place on the tensor axis.
Executed passes_of(const Simulation& simulation, const Timeline& timeline, const ProgramRank& like) {
  const Program& program = simulation.program;
  const StreamIndex index(program);
  const Placement placement = placement_of(simulation.job.strategy);
  Executed out;
  for (std::uint32_t rank = 0; rank < program.ranks.size(); ++rank) {
    const ProgramRank& own = program.ranks[rank];
    if (own.data != like.data || own.tensor != like.tensor) continue;
    const std::vector<PassSpan> ran = pass_spans(program, timeline, index.compute_tasks_of(rank));
    check_order(ran, simulation.plans[own.plan].order);
    for (const PassSpan& span : ran) {
      if (span.kind == TaskKind::optimizer) continue;
      CHECK(out.emplace(part_pass(placement, static_cast<int>(own.stage), span), span).second);
    }
  }
  return out;
}

// Activations go from part to part, gradients back, and gradients of weights come behind those of inputs.
void check_passes(const Executed& passes, int parts, int microbatches) {
  const auto ended = [&](TaskKind kind, int part, int microbatch) { return passes.at({kind, part, microbatch}).end; };
  std::size_t halves = 0;
  for (const auto& [pass, span] : passes) {
    const auto [kind, part, microbatch] = pass;
    if (kind == TaskKind::weight_gradient) {
      ++halves;
      CHECK(ended(TaskKind::backward, part, microbatch) <= span.start);
    } else if (kind == TaskKind::forward) {
      if (part > 0) CHECK(ended(TaskKind::forward, part - 1, microbatch) <= span.start);
    } else if (part + 1 < parts) {
      CHECK(ended(TaskKind::backward, part + 1, microbatch) <= span.start);
    } else {
      CHECK(ended(TaskKind::forward, part, microbatch) <= span.start);
    }
  }
  CHECK(passes.size() == static_cast<std::size_t>(2 * parts * microbatches) + halves);
}

void run(const std::string& strategy) {
  CAPTURE(strategy);
  const auto simulation = lowered(job_of(strategy), {true, true});
  const ExecutionGroups groups = execution_groups(simulation.program);
  Together together(simulation, groups);
  REQUIRE(together.run());
  CHECK_NOTHROW(submission_order(groups, together.plans()));
  const Timeline timeline = measured_timeline(simulation.program, groups, together.times());
  const Strategy& own = simulation.job.strategy;
  for (const ProgramRank& rank : simulation.program.ranks) {
    if (rank.stage > 0) continue;
    check_passes(passes_of(simulation, timeline, rank), placement_of(own).parts(),
                 microbatches(own, simulation.job.training));
  }
}

}  // namespace

TEST_CASE("every schedule runs each of its passes once, in its order, whatever divides the ranks beside it") {
  for (const Schedule& schedule : schedules()) {
    for (const char* beside : {"pipeline: 4", "pipeline: 2, tensor: 2", "pipeline: 2, data: 2, zero: 1",
                               "pipeline: 2, data: 2, overlap_grad_reduce: true"}) {
      const char* chunks = schedule.chunks == 0 ? ", virtual_pipeline: 2" : "";
      run(fmt::format("{}, schedule: {}{}", beside, schedule.name, chunks));
    }
  }
}

TEST_CASE("a schedule from a file runs where the file lays the model") {
  // Two stages hold the first part of the model, two the second, and neither part lies in the order of the stages.
  const ScratchFolder folder;
  const std::filesystem::path file = folder / "crosswise.csv";
  std::ofstream(file) << "0F0,0F2,0I0,0B2,0W0\n"
                         "1F1,1B1,1F3,1B3\n"
                         "1F0,1B0,1F2,1I2,1W2\n"
                         "0F1,0F3,0B1,0B3\n";
  run(fmt::format("pipeline: 4, micro_batch: 4, schedule: {}", file.string()));
}
