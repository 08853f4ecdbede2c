// Schedules in lowered programs: their formulas, memory, and random orders from files.

#include "engine/execute.hpp"
#include "job_fixture.hpp"
#include "program/lowering.hpp"
#include "program/memory.hpp"
#include "schedule/pass_timeline.hpp"
#include "schedule/schedule_file.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>

using namespace mirfak;
using namespace mirfak::test;

namespace {

Strategy strategy_with(const char* schedule, int stages) {
  Strategy strategy;
  strategy.schedule = schedule_named(schedule);
  strategy.pipeline = stages;
  strategy.virtual_pipeline = std::max(1, schedule_of(strategy.schedule).chunks);
  return strategy;
}

// Layers alone, without an optimizer step.
void keep_layers_alone(Lowered& lowered) {
  for (StagePlan& plan : lowered.plans) {
    plan.parameters = {};
    for (ChunkPlan& chunk : plan.chunks) {
      std::erase_if(chunk.runs, [&](const BlockRun& run) { return run.block != lowered.blocks.layer_id(0); });
      for (BlockRun& run : chunk.runs) run.parameters = run.experts = 0;
    }
  }
}

// A random order that ends, of stages that hold random parts, some of them twice: whatever can run next may.
std::string random_csv(std::mt19937& random, int stages, int parts, int microbatches) {
  const auto below = [&](int count) { return std::uniform_int_distribution<int>(0, count - 1)(random); };
  std::vector<std::vector<int>> holders(static_cast<std::size_t>(parts));
  for (int part = 0; part < parts; ++part) {
    auto& of = holders[static_cast<std::size_t>(part)];
    of.push_back(part < stages ? part : below(stages));  // every stage holds something
    if (below(3) == 0) of.push_back(below(stages));
  }
  struct Flow {
    int forward = 0;   // parts done
    int backward = 0;  // ... from the last
    std::vector<int> stage;
    std::vector<int> due;  // parts whose weights are due
  };
  std::vector<Flow> flows(static_cast<std::size_t>(microbatches));
  for (Flow& flow : flows) {
    // The first microbatch visits every stage, so that no row is empty.
    const bool first = &flow == &flows.front();
    for (const auto& of : holders) {
      flow.stage.push_back(first ? of.front() : of[static_cast<std::size_t>(below(static_cast<int>(of.size())))]);
    }
  }
  std::vector<std::string> rows(static_cast<std::size_t>(stages));
  const auto add = [&](int stage, int part, char kind, int microbatch) {
    std::string& row = rows[static_cast<std::size_t>(stage)];
    row += fmt::format("{}{}{}{}", row.empty() ? "" : ",", part, kind, microbatch);
  };
  for (bool left = true; left;) {
    left = std::any_of(flows.begin(), flows.end(),
                       [&](const Flow& flow) { return flow.backward < parts || !flow.due.empty(); });
    const int m = below(microbatches);
    Flow& flow = flows[static_cast<std::size_t>(m)];
    if (flow.forward < parts) {
      add(flow.stage[static_cast<std::size_t>(flow.forward)], flow.forward, 'F', m);
      ++flow.forward;
    } else if (!flow.due.empty() && (below(2) == 0 || flow.backward == parts)) {
      const int part = flow.due.back();
      flow.due.pop_back();
      add(flow.stage[static_cast<std::size_t>(part)], part, 'W', m);
    } else if (flow.backward < parts) {
      const int part = parts - 1 - flow.backward++;
      const bool whole = below(2) == 0;
      add(flow.stage[static_cast<std::size_t>(part)], part, whole ? 'B' : 'I', m);
      if (!whole) flow.due.push_back(part);
    }
  }
  std::string out;
  for (const std::string& row : rows) out += row + '\n';
  return out;
}

}  // namespace

TEST_CASE("uniform chunks and free communication: programs take what their orders do, to the picosecond") {
  for (const Schedule& schedule : schedules()) {
    const int stages = 4;
    Strategy strategy = strategy_with(schedule.name.c_str(), stages);
    if (schedule.in_groups) strategy.virtual_pipeline = 2;
    strategy.data = 4;
    Lowered lowered(free_communication(small_job(8, 2, strategy, 16 * strategy.data)));
    keep_layers_alone(lowered);
    PassTimes times;
    for (const StagePlan& plan : lowered.plans) {
      times.chunks.emplace_back();
      for (const ChunkPlan& chunk : plan.chunks) {
        const auto lasts = [&](Pass::Kind kind) { return plan.folded(chunk, kind).device; };
        const Picoseconds input = schedule.splits ? lasts(Pass::Kind::backward_input) : lasts(Pass::Kind::backward);
        const Picoseconds weight = schedule.splits ? lasts(Pass::Kind::backward_weight) : 0;
        times.chunks.back().push_back({lasts(Pass::Kind::forward), input, weight, 0});
        if (schedule.splits) CHECK(lasts(Pass::Kind::backward) == input + weight);
      }
    }
    StageOrders orders;
    for (const StagePlan& plan : lowered.plans) orders.push_back(plan.order);
    const Picoseconds optimizer = to_picoseconds(lowered.plans[0].costs.kernels.price_memory_bound(0).seconds);
    CAPTURE(schedule.name);
    const PassTimeline timeline = run_passes(orders, placement_of(strategy), times);
    CHECK(execute(lowered.program()).makespan == timeline.end() + optimizer);
  }
}

TEST_CASE("halves of a backward pass are the whole: kernels, FLOPs, energy") {
  Strategy strategy = strategy_with("zb-h1", 2);
  strategy.tensor = 2;
  strategy.data = 4;
  for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
    strategy.recompute = recompute;
    const Lowered lowered(small_job(4, 2, strategy, 32));
    for (const BlockBodies& block : *lowered.plans.front().bodies) {
      CHECK(block.folded_backward_input.flop + block.folded_backward_weight.flop ==
            doctest::Approx(block.folded_backward.flop).epsilon(1e-12));
      CHECK(block.folded_backward_input.energy_j + block.folded_backward_weight.energy_j ==
            doctest::Approx(block.folded_backward.energy_j).epsilon(1e-12));
      CHECK(block.folded_backward_input.kernels + block.folded_backward_weight.kernels ==
            block.folded_backward.kernels);
      CHECK(block.split.input_steps.size() + block.split.weight_steps.size() == block.backward.steps.size());
    }
    // Weights take a product for each of the forward pass but those of attention itself.
    const BlockBodies& layer = lowered.plans.front().bodies_of(lowered.blocks.layer_id(0));
    CHECK(layer.folded_backward_weight.flop < layer.folded_forward.flop);
    CHECK(layer.folded_backward_weight.flop > 0.6 * layer.folded_forward.flop);
  }
}

TEST_CASE("what waits for weights is kept between the halves, and a limit of microbatches limits it") {
  const auto activations = [](const char* schedule, int limit) {
    Strategy strategy = strategy_with(schedule, 4);
    strategy.data = 4;
    strategy.max_in_flight = limit;
    const Lowered lowered(small_job(8, 2, strategy, 16 * 4));
    const auto memory = account_memory(lowered.job, lowered.blocks, lowered.plans);
    double most = 0;
    for (const StageMemory& stage : memory) most = std::max(most, stage.peak.activations);
    return most;
  };
  const double plain = activations("1f1b", 0);
  const double h1 = activations("zb-h1", 0);
  const double h2 = activations("zb-h2", 0);
  CHECK(h1 >= plain);
  CHECK(h1 < h2);
  CHECK(h2 > 1.5 * plain);  // 2 p - 1 of p microbatches, on the first stage
  CHECK(activations("zb-auto", 2) < h1);
  CHECK(activations("zb-auto", 7) <= h2 * 1.0000001);
  const BlockMemory layer = block_memory(shard_blocks(small_job(8, 2, strategy_with("zb-h1", 4), 64)).layer(),
                                         mesh_of(strategy_with("zb-h1", 4)), Framework(), true);
  CHECK(layer.due > 0);
  CHECK(layer.backward_input >= layer.due);
  CHECK(layer.backward_weight >= layer.due);
}

TEST_CASE("a random order from a file: folded and unfolded, passes and operators take the same time") {
  std::mt19937 random(20261122);
  for (int i = 0; i < 24; ++i) {
    const int stages = 1 + i % 4;
    const int parts = stages + i % 3;
    const int microbatches = 2 + i % 5;
    const std::string csv = random_csv(random, stages, parts, microbatches);
    CAPTURE(csv);
    Strategy strategy;
    strategy.pipeline = stages;
    strategy.schedule = read_schedule_text(csv, fmt::format("random {}", i));
    strategy.virtual_pipeline = schedule_of(strategy.schedule).chunks;
    strategy.tensor = i % 2 == 0 ? 2 : 1;
    strategy.sequence_parallel = i % 4 == 0;
    strategy.data = 2;
    Job job = small_job(2 * parts, 2, strategy, std::int64_t{2} * microbatches);
    job.training.framework = "megatron-core";
    job.framework = framework_named("megatron-core");
    const Lowered lowered(job);
    const Picoseconds expected = execute(lowered.program()).makespan;
    CHECK(expected > 0);
    for (const LoweringOptions& options : {LoweringOptions{true, false}, {false, true}, {true, true}}) {
      const Program program = lowered.program(options);
      program.validate();
      INFO("unfolded " << options.unfolded << " operators " << options.operators);
      CHECK(execute(program).makespan == expected);
    }
    CHECK(schedule_csv(schedule_of(strategy.schedule), {}) == csv);
  }
}
