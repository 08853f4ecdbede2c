#include "trace/rank_series.hpp"

#include "cost/kernel_model.hpp"
#include "support/example.hpp"
#include "trace/stream_index.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace mirfak;

namespace {

// Folded and unfolded, by passes and by operators, every way that tasks stand for passes.
std::vector<Example> examples() {
  std::vector<Example> out;
  out.push_back(example());
  out.push_back(example({}, {.unfolded = true}));
  out.push_back(example({}, {.operators = true}));
  out.push_back(example({"strategy.overlap_grad_reduce=true", "strategy.zero=1"}));
  out.push_back(example({"strategy.virtual_pipeline=1", "strategy.schedule=1f1b", "strategy.recompute=full"}));
  out.push_back(example({"strategy.virtual_pipeline=1", "strategy.schedule=gpipe"}));
  // Blocks are gathered and reduced one by one; with one microbatch gradients come and go, too.
  for (const char* batch : {"training.global_batch=16", "training.global_batch=32"}) {
    for (const char* zero : {"strategy.zero=2", "strategy.zero=3"}) {
      out.push_back(example({"strategy.tensor=1", "strategy.pipeline=1", "strategy.virtual_pipeline=1",
                             "strategy.schedule=1f1b", "training.framework=torchtitan", zero, batch}));
    }
  }
  for (const char* schedule :
       {"strategy.schedule=zb-v", "strategy.schedule=dualpipe", "strategy.schedule=dualpipe-v"}) {
    out.push_back(example({schedule}));
    out.push_back(example({schedule, "training.cuda_graphs=full"}, {.operators = true}));
  }
  return out;
}

// The passes of a pair either way round; all others as they are.
std::vector<Pass> in_order_of(const std::vector<PassSpan>& spans, std::vector<Pass> order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (!order[i].with_next) continue;
    if (spans[i].kind != TaskKind::forward) std::swap(order[i], order[i + 1]);
    ++i;
  }
  return order;
}

TaskKind kind_of(const Pass& pass) {
  if (is_forward(pass.kind)) return TaskKind::forward;
  return pass.kind == Pass::Kind::backward_weight ? TaskKind::weight_gradient : TaskKind::backward;
}

}  // namespace

TEST_CASE("passes follow the schedule of their stage") {
  for (const Example& e : examples()) {
    const Simulation& s = e.simulation;
    const StreamIndex index(s.program);
    for (std::uint32_t rank = 0; rank < s.program.ranks.size(); ++rank) {
      const auto spans = pass_spans(s.program, s.timeline, index.compute_tasks_of(rank));
      const std::vector<Pass>& planned = s.plans[s.program.ranks[rank].stage].order;
      REQUIRE(spans.size() == planned.size() + 1);
      const std::vector<Pass> order = in_order_of(spans, planned);
      for (std::size_t i = 0; i < order.size(); ++i) {
        CHECK(spans[i].kind == kind_of(order[i]));
        CHECK(spans[i].chunk == order[i].chunk);
        CHECK(spans[i].microbatch == order[i].microbatch);
        CHECK((planned[i].with_next || spans[i].end <= spans[i + 1].start));
      }
      CHECK(spans.back().kind == TaskKind::optimizer);
    }
  }
}

TEST_CASE("memory over time peaks where accounting says, and ends as it began") {
  for (const Example& e : examples()) {
    const Simulation& s = e.simulation;
    const StreamIndex index(s.program);
    for (std::uint32_t rank = 0; rank < s.program.ranks.size(); ++rank) {
      const std::uint32_t stage = s.program.ranks[rank].stage;
      const auto spans = pass_spans(s.program, s.timeline, index.compute_tasks_of(rank));
      const auto points = memory_over_time(rank_memory(s, memory_of_blocks(s.job, s.blocks), s.plans[stage], spans),
                                           s.timeline.makespan);
      double peak = 0;
      for (std::size_t i = 0; i < points.size(); ++i) {
        peak = std::max(peak, points[i].use.total());
        if (i > 0) CHECK(points[i].time > points[i - 1].time);
      }
      CHECK(peak == s.result.stages[stage].memory.peak.total());
      CHECK(points.front().time == 0);
      CHECK(points.back().time == s.timeline.makespan);
      CHECK(points.back().use.activations == doctest::Approx(0).epsilon(1e-3));
      CHECK(points.back().use.workspace == 0);
      CHECK(points.back().use.gradients == doctest::Approx(points.front().use.gradients).epsilon(1e-9));
    }
  }
}

TEST_CASE("power over time adds up to the energy of the iteration and keeps to its limit") {
  for (const Example& e : examples()) {
    const Simulation& s = e.simulation;
    const StreamIndex index(s.program);
    double energy = 0;
    for (std::uint32_t rank = 0; rank < s.program.ranks.size(); ++rank) {
      const StagePlan& plan = s.plans[s.program.ranks[rank].stage];
      const auto points = power_over_time(s, plan, index.compute_tasks_of(rank));
      for (std::size_t i = 0; i + 1 < points.size(); ++i) {
        REQUIRE(points[i + 1].time > points[i].time);
        energy +=
            points[i].watts * to_seconds(points[i + 1].time - points[i].time) * s.program.ranks[rank].multiplicity;
        CHECK(points[i].watts >= plan.costs.hardware->hardware.gpu.blocked_w.value);
        // The limit holds for the mean over the passes of layers; a block alone, such as the logits, may draw more.
        CHECK(points[i].watts <= 1.4 * plan.costs.hardware->hardware.gpu.tdp_w.value);
      }
    }
    CHECK(energy == doctest::Approx(s.result.energy_j).epsilon(1e-9));
  }
}
