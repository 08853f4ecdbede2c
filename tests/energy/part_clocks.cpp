// Clocks of parts of passes, against every plan of small passes, and against frontiers of whole passes.

#include "energy/part_clocks.hpp"

#include "energy/frontier.hpp"
#include "energy/scenario_clocks.hpp"
#include "program/part_bodies.hpp"
#include "scenario/scenario.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <utility>

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
        BodyStep own = step(StreamKind::compute, first + (bound == 1 ? 0 : slower * first / 5), joules, {});
        own.activity = bound == 1 ? Activity::memory_bound : Activity::gemm;
        at[setting].push_back({{std::move(own), step(StreamKind::tensor, collective, 0, {0}),
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

constexpr double kMemory = 1e12;  // bytes per second: a byte takes a picosecond

// A pass of one layer whose microbatch runs as two halves, each of kernels and two collectives, at several clocks.
// Kernels are bound by memory, or by multiprocessors; the steps have the same order at all clocks. With more than one
// number of channels, collectives that hold fewer multiprocessors take longer.
struct DrawnHalves {
  std::vector<RowBodies> at;  // by channels and setting

  DrawnHalves(std::mt19937& random, std::size_t settings, std::size_t channels = 1) {
    do draw(random, settings, channels);
    while (!in_one_order());
  }

  std::vector<PassSteps> settings() const {
    std::vector<PassSteps> out;
    for (const RowBodies& row : at) out.push_back({&row.placed({false, false}).steps.body});
    return out;
  }

 private:
  void draw(std::mt19937& random, std::size_t settings, std::size_t channels) {
    const auto number = [&](int most) { return static_cast<int>(1 + random() % static_cast<unsigned>(most)); };
    std::vector<Body> halves(settings * channels);
    int last = -1;
    for (int part = 0; part < 2; ++part) {
      const int kernels = number(3);
      for (int i = 0; i <= kernels; ++i) {
        const bool collective = i == kernels;
        const Picoseconds device = 100 * number(collective ? 25 : 20);
        const bool bound_by_memory = number(2) == 1;
        const bool waits = collective && number(2) == 1;  // for its peers, whatever its multiprocessors
        for (std::size_t place = 0; place < halves.size(); ++place) {
          const std::size_t setting = place % settings;
          const auto fewer = static_cast<Picoseconds>(place / settings);
          const auto slower = static_cast<Picoseconds>(setting);
          BodyStep each = step(collective ? StreamKind::tensor : StreamKind::compute, device, 0, {});
          if (last >= 0) each.after.push_back(last);
          if (collective) {
            each.device += waits ? 0 : fewer * device / 4;
            each.held_share = 0.2 / static_cast<double>(1 + 3 * fewer);
            each.memory_bytes = static_cast<double>(device) * 0.6;
          } else {
            each.bytes = static_cast<double>(device) * (bound_by_memory ? 0.9 : 0.1);
            each.device += bound_by_memory ? 0 : slower * device / 4;
            each.energy_j = static_cast<double>(settings - setting) * static_cast<double>(device) / 100;
          }
          halves[place].steps.push_back(std::move(each));
        }
        ++last;
      }
    }
    at.clear();
    for (const Body& half : halves) at.push_back(row_bodies(half, kMemory));
  }

  bool in_one_order() const {
    const auto origins = [](const RowBodies& row) {
      std::vector<std::pair<bool, int>> out;
      for (const PairedBody::Origin& origin : row.placed({false, false}).steps.origins) {
        out.emplace_back(origin.backward, origin.step);
      }
      return out;
    };
    return std::all_of(at.begin(), at.end(), [&](const RowBodies& row) { return origins(row) == origins(at.front()); });
  }
};

// A pass's plan as executed.
struct FoldedPlan {
  double duration = 0;
  double energy_j = 0;

  double cost(double price) const { return energy_j + price * duration; }
};
double least_cost(const std::vector<FoldedPlan>& plans, double price) {
  double least = std::numeric_limits<double>::infinity();
  for (const FoldedPlan& plan : plans) least = std::min(least, plan.cost(price));
  return least;
}
FoldedPlan folded_plan(MixedPass& pass, const PartSettings& plan, const PartLaunches& launches) {
  const FoldedBody folded = pass.folded(plan, launches);
  return {static_cast<double>(folded.device), folded.energy_j};
}

// Numbers of kernels, by part of a pass of one block, with which the collectives beside the part can start.
PartLaunches launch_counts(const Body& body) {
  std::vector<Picoseconds> starts;
  std::vector<Picoseconds> ends;
  std::map<StreamKind, Picoseconds> free;
  for (const BodyStep& each : body.steps) {
    Picoseconds start = free[each.stream];
    for (const int before : each.after) start = std::max(start, ends[static_cast<std::size_t>(before)]);
    starts.push_back(start);
    ends.push_back(free[each.stream] = start + each.device);
  }
  PartLaunches out;
  std::size_t collectives = 0;
  for (std::size_t i = 0; i < body.steps.size(); ++i) {
    const bool kernel = body.steps[i].stream == StreamKind::compute;
    const bool begins = kernel && (i == 0 || body.steps[i - 1].stream != StreamKind::compute);
    if (!kernel && (i == 0 || body.steps[i - 1].stream == StreamKind::compute)) collectives = i;
    if (!begins) continue;
    std::size_t end = i;
    while (end < body.steps.size() && body.steps[end].stream == StreamKind::compute) ++end;
    const KernelsBeside place{i == 0 ? i : collectives, i, end};
    std::size_t count = 1;
    while (launched_with(body.steps, starts, place, count, kMemory)) ++count;
    out.push_back(count);
  }
  return out;
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
  for (int round = 0; round < 120; ++round) {
    const PartCut cut = round % 2 == 0 ? PartCut::collectives : PartCut::kernel_classes;
    const std::size_t settings = 2 + random() % 2;
    const DrawnPass drawn(random, settings, 1 + random() % 3);
    const std::vector<PassSteps> steps = drawn.settings();
    const PassParts parts = parts_of(steps, cut);
    // Kernels around a block's end are one part, or one of each class.
    std::size_t classes = 0;
    for (std::size_t block = 1; block < steps.front().size(); ++block) {
      if (steps.front()[block]->steps.front().activity == Activity::memory_bound) ++classes;
    }
    REQUIRE(parts.figures.size() == steps.front().size() + 1 + (cut == PartCut::collectives ? 0 : classes));
    for (const Picoseconds change : {Picoseconds{0}, Picoseconds{300}, Picoseconds{1500}, kNever}) {
      CAPTURE(round);
      CAPTURE(change);
      MixedPass pass(steps, cut, {change, 0, 0});
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

TEST_CASE("the hull of clocks and launch points of halves of a microbatch is that of every plan") {
  std::mt19937 random(7);
  int late = 0;  // rounds in which a later launch lowers a cost
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const DrawnHalves drawn(random, 2);
    const std::vector<PassSteps> steps = drawn.settings();
    const PassParts soon = parts_of(steps, PartCut::collectives);
    const PassParts best = parts_of(steps, PartCut::collectives, kMemory);
    const PartLaunches counts = launch_counts(*steps.front().front());
    REQUIRE(counts.size() == best.figures.size());
    MixedPass pass(steps, PartCut::collectives, {0, 0, kMemory});
    std::vector<FoldedPlan> all;
    std::vector<FoldedPlan> all_soon;
    each_plan(best.figures.size(), 2, [&](const PartSettings& plan) {
      PartLaunches launches(plan.size(), 0);
      all_soon.push_back(folded_plan(pass, plan, launches));
      while (true) {
        all.push_back(folded_plan(pass, plan, launches));
        std::size_t at = 0;
        while (at < plan.size() && ++launches[at] == counts[at]) launches[at++] = 0;
        if (at == plan.size()) break;
      }
    });
    std::vector<FoldedPlan> found;
    for (const PartSettings& plan : hull_of_parts(best, 0)) {
      found.push_back(folded_plan(pass, plan, launches_of(best, plan)));
    }
    std::vector<FoldedPlan> found_soon;
    for (const PartSettings& plan : hull_of_parts(soon, 0)) found_soon.push_back(folded_plan(pass, plan, {}));
    bool is_late = false;
    for (const double price : {1e-3, 1e-2, 0.1, 0.3, 1.0, 10.0, 1e6}) {
      CAPTURE(price);
      CHECK(least_cost(found, price) == doctest::Approx(least_cost(all, price)).epsilon(1e-9));
      CHECK(least_cost(found_soon, price) == doctest::Approx(least_cost(all_soon, price)).epsilon(1e-9));
      is_late = is_late || least_cost(all, price) < least_cost(all_soon, price) * (1 - 1e-6);
    }
    late += is_late ? 1 : 0;
  }
  CHECK(late > 10);
}

TEST_CASE("the hull of clocks and channels of parts is that of every plan, and channels change without a pause") {
  std::mt19937 random(11);
  int better = 0;  // rounds in which channels of parts lower a cost that one number of channels for all reaches
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const SettingList list{2};
    const DrawnHalves drawn(random, list.clocks, 2);
    const std::vector<PassSteps> steps = drawn.settings();
    const PassParts parts = parts_of(steps, PartCut::collectives);
    for (const Picoseconds change : {Picoseconds{0}, kNever}) {
      CAPTURE(change);
      MixedPass pass(steps, PartCut::collectives, {change, 0, kMemory, list});
      std::vector<FoldedPlan> all;
      std::vector<FoldedPlan> alike;  // one number of channels
      each_plan(parts.figures.size(), steps.size(), [&](const PartSettings& plan) {
        all.push_back(folded_plan(pass, plan, {}));
        const auto same = [&](std::size_t setting) { return list.highest_of(setting) == list.highest_of(plan[0]); };
        if (std::all_of(plan.begin(), plan.end(), same)) alike.push_back(all.back());
      });
      std::vector<FoldedPlan> found;
      for (const PartSettings& plan : hull_of_parts(parts, change, list)) found.push_back(folded_plan(pass, plan, {}));
      bool is_better = false;
      for (const double price : {1e-3, 1e-2, 0.1, 0.3, 1.0, 10.0, 1e6}) {
        CAPTURE(price);
        CHECK(least_cost(found, price) == doctest::Approx(least_cost(all, price)).epsilon(1e-9));
        is_better = is_better || least_cost(all, price) < least_cost(alike, price) * (1 - 1e-6);
      }
      better += is_better ? 1 : 0;
    }
  }
  CHECK(better > 10);
}

TEST_CASE("a collective that starts later runs beside kernels that lose less") {
  // A collective of 1000 that holds a fifth of the multiprocessors and takes 0.6 of the memory's bandwidth, beside
  // kernels of the other half: one of 800 that needs 0.9 of the bandwidth, of which 0.4 is left (it loses 1 - 0.4 /
  // 0.9, at most half), and a product of 2000.
  //   launch 0: 800 / (1 - 0.5) = 1600, but after 1000 nothing is lost: 800 + 0.5 x 1000 = 1300; then 2000: 3300
  //   launch 1: 800; the collective ends at 1800, and the product has lost 0.2 x 1000: 3000
  const auto kernel = [](Picoseconds device, double bytes) {
    BodyStep out = step(StreamKind::compute, device, 0, {});
    out.bytes = bytes;
    return out;
  };
  BodyStep collective = step(StreamKind::tensor, 1000, 0, {});
  collective.held_share = 0.2;
  collective.memory_bytes = 600;
  const PairedBody merged = pair_bodies({{collective}}, {{kernel(800, 720), kernel(2000, 100)}}, kMemory);
  const PassSteps steps = {&merged.body};
  REQUIRE(merged.body.steps[1].device == 1300);
  REQUIRE(merged.body.steps[1].lost == 500);
  const std::vector<Picoseconds> starts = {0, 0, 1300};
  CHECK(launched_with(merged.body.steps, starts, {0, 1, 3}, 0, kMemory)->lasts == 3300);
  CHECK(launched_with(merged.body.steps, starts, {0, 1, 3}, 1, kMemory)->lasts == 3000);
  CHECK_FALSE(launched_with(merged.body.steps, starts, {0, 1, 3}, 2, kMemory));
  // A launch that is not ready in time, or of the same half, is not put later.
  CHECK_FALSE(launched_with(merged.body.steps, std::vector<Picoseconds>{100, 0, 1300}, {0, 1, 3}, 1, kMemory));
  std::vector<BodyStep> own = merged.body.steps;
  own[1].of_second = false;
  CHECK_FALSE(launched_with(own, starts, {0, 1, 3}, 1, kMemory));
  const std::vector<PassSteps> settings = {steps};
  const PassParts best = parts_of(settings, PartCut::collectives, kMemory);
  CHECK(best.figures[0][0].launch == 1);
  MixedPass pass(settings, PartCut::collectives, {0, 0, kMemory});
  CHECK(pass.folded({0}, {1}).device == 3000);
  CHECK(pass.folded({0}).device == 3300);
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
    MixedPass pass(steps, PartCut::collectives, {change, 0, 0});
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
    ClockUnits classes = with_change(0);
    classes.cut = PartCut::kernel_classes;
    const Frontier of_classes = frontier(clocked_program(job, classes));
    for (const FrontierPoint& point : passes.points) {
      const auto energy = of_classes.min_energy_j(point.iteration_time_s);
      REQUIRE(energy);
      CHECK(*energy <= point.energy_j * (1 + 1e-9));
    }
    // No kernel is faster than at the highest clock.
    CHECK(of_classes.t_min_s == doctest::Approx(passes.t_min_s).epsilon(1e-9));
    CHECK(*of_classes.min_energy_j(passes.t_min_s) < 0.999 * passes.points.front().energy_j);
    if (job.strategy.nanobatches == 1) {
      CHECK(*of_classes.min_energy_j(passes.t_min_s) < 0.999 * *parts.min_energy_j(passes.t_min_s));
    }
    classes.change = kNever;
    CHECK(frontier(clocked_program(job, classes)).points.size() == passes.points.size());
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
  const Frontier at_once = frontier(clocked_program(job, units));
  units.launches = true;
  const ClockedProgram clocked = clocked_program(job, units);
  const Frontier joint = frontier(clocked);
  CHECK(joint.t_min_s < alone.t_min_s);
  for (const FrontierPoint& point : at_once.points) {
    const auto energy = joint.min_energy_j(point.iteration_time_s);
    REQUIRE(energy);
    CHECK(*energy <= point.energy_j * (1 + 1e-9));
  }
  for (const FrontierPoint& point : alone.points) {
    const auto energy = joint.min_energy_j(point.iteration_time_s);
    REQUIRE(energy);
    CHECK(*energy <= point.energy_j * (1 + 1e-9));
  }
  units.channels_of_parts = true;
  const Frontier of_parts = frontier(clocked_program(job, units));
  CHECK(of_parts.t_min_s <= joint.t_min_s);
  for (const FrontierPoint& point : joint.points) {
    const auto energy = of_parts.min_energy_j(point.iteration_time_s);
    REQUIRE(energy);
    CHECK(*energy <= point.energy_j * (1 + 1e-9));
  }
  // The engine keeps the plan's deadline with no more than 0.5 % above the curve, below which no plan of these
  // choices lies.
  double most = 0;
  for (const FrontierPoint& point : joint.points) {
    const ExecutedClocks plan = plan_for(clocked, static_cast<Picoseconds>(point.iteration_time_s * 1e12) + 1);
    most = std::max(most, plan.energy_j / point.energy_j - 1);
    CHECK(plan.energy_j <= point.energy_j * 1.005);
  }
  MESSAGE("rounding costs at most ", 100 * most, " %");
}

}  // namespace part_clocks_test
