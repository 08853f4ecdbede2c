// Clocks of parts of passes, against every plan of small passes, and against frontiers of whole passes.

#include "energy/part_clocks.hpp"

#include "energy/frontier.hpp"
#include "energy/scenario_clocks.hpp"
#include "scenario/scenario.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>

using namespace mirfak;

namespace part_clocks_test {

namespace {

constexpr Picoseconds kNever = Picoseconds{1} << 50;

BodyStep step(StreamKind stream, Picoseconds device, double energy_j, std::vector<int> after) {
  BodyStep out;
  out.stream = stream;
  out.device = device;
  out.energy_j = energy_j;
  out.after = std::move(after);
  return out;
}

// A pass of blocks, each of kernels, a collective that waits for them, and kernels that wait for the collective, at
// several clocks: slower ones take longer and need less.
struct DrawnPass {
  std::vector<std::vector<Body>> at;  // by setting and block

  DrawnPass(std::mt19937& random, std::size_t settings, std::size_t blocks) {
    const auto draw = [&](int most) { return static_cast<int>(1 + random() % static_cast<unsigned>(most)); };
    at.resize(settings);
    for (std::size_t block = 0; block < blocks; ++block) {
      const Picoseconds first = 100 * draw(20);
      const Picoseconds second = 100 * draw(20);
      const Picoseconds collective = 100 * draw(10);
      const int bound = draw(3);  // 1: the kernel is bound by memory
      for (std::size_t setting = 0; setting < settings; ++setting) {
        const auto slower = static_cast<Picoseconds>(setting);
        const double joules = static_cast<double>(settings - setting) * draw(4);
        at[setting].push_back({{step(StreamKind::compute, first + (bound == 1 ? 0 : slower * first / 5), joules, {}),
                                step(StreamKind::tensor, collective, 0, {0}),
                                step(StreamKind::compute, second + slower * second / 4, 2 * joules, {1})}});
      }
    }
  }

  std::vector<PassSteps> settings() const {
    std::vector<PassSteps> out;
    for (const std::vector<Body>& blocks : at) {
      PassSteps& steps = out.emplace_back();
      for (const Body& block : blocks) steps.push_back(&block);
    }
    return out;
  }
};

// Calls `visit` with every plan.
template <class Visit>
void each_plan(std::size_t parts, std::size_t settings, const Visit& visit) {
  PartSettings plan(parts, 0);
  while (true) {
    visit(plan);
    std::size_t at = 0;
    while (at < parts && ++plan[at] == settings) plan[at++] = 0;
    if (at == parts) return;
  }
}

Job job_of(const std::string& strategy) {
  const DataFolders folders{source_root() + "/models", source_root() + "/hw_profiles"};
  const std::string text =
      "model: gpt3-2.7b\ncluster: {nodes: [{type: dgx-a100-80g, count: 2}]}\n"
      "training: {precision: bf16, global_batch: 16, sequence_length: 2048, "
      "framework: {like: kareus, kernels: {like: megatron-core}}}\nstrategy: {" +
      strategy + "}\n";
  return parse_scenario(Document::from_text(text, "none/parts.yaml"), folders).job;
}

ClockUnits with_change(Picoseconds change) {
  ClockUnits out;
  out.change = change;
  return out;
}

}  // namespace

TEST_CASE("the hull of clocks of parts is that of every plan") {
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    const std::size_t settings = 2 + random() % 2;
    const DrawnPass drawn(random, settings, 1 + random() % 3);
    const std::vector<PassSteps> steps = drawn.settings();
    const PassParts parts = parts_of(steps);
    // Kernels around a block's end are one part.
    REQUIRE(parts.figures.size() == steps.front().size() + 1);
    for (const Picoseconds change : {Picoseconds{0}, Picoseconds{300}, Picoseconds{1500}, kNever}) {
      CAPTURE(round);
      CAPTURE(change);
      MixedPass pass(steps, change, 0);
      const std::vector<PartSettings> hull = hull_of_parts(parts, change);
      for (const double price : {0.0, 1e-4, 1e-3, 3e-3, 1e-2, 0.1, 10.0}) {
        const auto cost = [&](const PartSettings& plan) {
          const FoldedBody folded = pass.folded(plan);
          return folded.energy_j + price * static_cast<double>(folded.device);
        };
        double least = std::numeric_limits<double>::infinity();
        each_plan(parts.figures.size(), settings,
                  [&](const PartSettings& plan) { least = std::min(least, cost(plan)); });
        double found = std::numeric_limits<double>::infinity();
        for (const PartSettings& plan : hull) found = std::min(found, cost(plan));
        CHECK(found == doctest::Approx(least).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("a change hides beside the collective before a part, as far as it is no longer") {
  // Kernels of 1000, a collective of 300, kernels of 1000.
  std::mt19937 random(1);
  DrawnPass drawn(random, 2, 1);
  for (std::vector<Body>& blocks : drawn.at) {
    blocks.front().steps[0].device = blocks.front().steps[2].device = 1000;
    blocks.front().steps[1].device = 300;
  }
  const std::vector<PassSteps> steps = drawn.settings();
  for (const auto& [change, lasts] : {std::pair<Picoseconds, Picoseconds>{0, 2300}, {300, 2300}, {500, 2500}}) {
    MixedPass pass(steps, change, 0);
    CHECK(pass.folded({0, 1}).device == lasts);
    CHECK(pass.folded({1, 1}).device == 2300);
  }
}

TEST_CASE("the frontier with clocks of parts is never above that of passes, and equal where no change is worth it") {
  for (const std::string strategy : {"tensor: 8, pipeline: 2, micro_batch: 2", "tensor: 4, pipeline: 4, micro_batch: 2",
                                     "tensor: 8, pipeline: 2, micro_batch: 2, nanobatches: 2"}) {
    CAPTURE(strategy);
    const Job job = job_of(strategy);
    const Frontier passes = frontier(clocked_program(job));
    const ClockedProgram clocked = clocked_program(job, with_change(0));
    const Frontier parts = frontier(clocked);
    CHECK(parts.t_min_s <= passes.t_min_s * (1 + 1e-12));
    for (const FrontierPoint& point : passes.points) {
      const auto energy = parts.min_energy_j(point.iteration_time_s);
      REQUIRE(energy);
      CHECK(*energy <= point.energy_j * (1 + 1e-9));
    }
    // Kernels bound by memory run at lower clocks than products beside them.
    CHECK(*parts.min_energy_j(passes.t_min_s) < 0.9999 * passes.points.front().energy_j);
    const ExecutedClocks& executed = parts.plans.front().executed;
    CHECK(executed.makespan <= parts.plans.front().deadline);
    CHECK(executed.energy_j <= passes.plans.front().executed.energy_j * (1 + 1e-9));
    const Frontier never = frontier(clocked_program(job, with_change(kNever)));
    REQUIRE(never.points.size() == passes.points.size());
    for (std::size_t i = 0; i < passes.points.size(); ++i) {
      CHECK(never.points[i].iteration_time_s == passes.points[i].iteration_time_s);
      CHECK(never.points[i].energy_j == doctest::Approx(passes.points[i].energy_j).epsilon(1e-9));
    }
  }
}

TEST_CASE("a frontier of passes in two parts, with few channels, is never above the frontier without these ways") {
  const Job job = job_of("tensor: 8, pipeline: 2, micro_batch: 2");
  ClockUnits units = with_change(10'000'000'000);
  const Frontier alone = frontier(clocked_program(job, units));
  units.ways = {{1, 4}, {2, 0}, {2, 4}};
  const ClockedProgram clocked = clocked_program(job, units);
  const Frontier joint = frontier(clocked);
  CHECK(joint.t_min_s < alone.t_min_s);
  for (const FrontierPoint& point : alone.points) {
    const auto energy = joint.min_energy_j(point.iteration_time_s);
    REQUIRE(energy);
    CHECK(*energy <= point.energy_j * (1 + 1e-9));
  }
  // The engine keeps the plan's deadline with no more than half a percent above the curve, below which no plan of these
  // choices lies.
  for (const FrontierPoint& point : joint.points) {
    const ExecutedClocks plan = plan_for(clocked, static_cast<Picoseconds>(point.iteration_time_s * 1e12) + 1);
    CHECK(plan.energy_j <= point.energy_j * 1.005);
  }
}

}  // namespace part_clocks_test
