#include "alpa/stage_partition.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <tuple>

using namespace mirfak::alpa;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// True if no boundary of a node, or of a part of a node as large as the submesh, runs through the submesh.
bool lies_whole(const StageProblem& problem, const Submesh& submesh, int device) {
  if (problem.gpus_per_node == 0) return true;
  if (submesh.devices() >= problem.gpus_per_node) return device % problem.gpus_per_node == 0;
  return device % submesh.gpus == 0 &&
         device / problem.gpus_per_node == (device + submesh.gpus - 1) / problem.gpus_per_node;
}

// Finds the least time of all partitions by trying each.
double least_time(const StageProblem& problem) {
  double least = kNever;
  std::vector<std::tuple<int, int, int>> stages;  // first, end, submesh
  const auto judge = [&] {
    double sum = 0;
    double slowest = 0;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const auto [first, end, submesh] = stages[i];
      const int in_flight = std::min(static_cast<int>(stages.size() - i), problem.microbatches);
      double seconds = kNever;
      for (const StageOption& option : problem.options(first, end, submesh)) {
        if (option.bytes(in_flight) <= problem.memory) seconds = std::min(seconds, option.seconds);
      }
      sum += seconds;
      slowest = std::max(slowest, seconds);
    }
    least = std::min(least, sum + (problem.microbatches - 1) * slowest);
  };
  const auto extend = [&](const auto& self, int first, int devices) -> void {
    if (first == problem.layers) {
      if (devices == 0) judge();
      return;
    }
    for (int end = first + 1; end <= problem.layers; ++end) {
      for (std::size_t submesh = 0; submesh < problem.submeshes.size(); ++submesh) {
        if (problem.submeshes[submesh].devices() > devices) continue;
        if (!lies_whole(problem, problem.submeshes[submesh], problem.devices - devices)) continue;
        stages.emplace_back(first, end, static_cast<int>(submesh));
        self(self, end, devices - problem.submeshes[submesh].devices());
        stages.pop_back();
      }
    }
  };
  extend(extend, 0, problem.devices);
  return least;
}

// Layers of random work; more devices help less and less, and some stages have a slower way that takes less memory.
StageProblem random_problem(unsigned seed) {
  std::mt19937 random(seed);
  const auto whole = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  StageProblem problem;
  problem.layers = whole(1, 6);
  const int nodes = whole(1, 3);
  const int gpus = 1 << whole(0, 2);
  problem.devices = nodes * gpus;
  problem.submeshes = submeshes(nodes, gpus, NodeCounts::all);
  problem.gpus_per_node = whole(0, 1) * gpus;
  problem.microbatches = whole(1, 12);
  problem.memory = whole(3, 40);
  std::map<std::tuple<int, int, int>, std::vector<StageOption>> table;
  for (int first = 0; first < problem.layers; ++first) {
    for (int end = first + 1; end <= problem.layers; ++end) {
      for (int submesh = 0; submesh < static_cast<int>(problem.submeshes.size()); ++submesh) {
        const double devices = problem.submeshes[static_cast<std::size_t>(submesh)].devices();
        std::vector<StageOption>& options = table[{first, end, submesh}];
        const int ways = whole(0, 3);
        for (int way = 0; way < ways; ++way) {
          options.push_back({whole(5, 20) * (end - first) / devices + whole(0, 3),
                             whole(2, 12) * (end - first) / devices, static_cast<double>(whole(0, 4)),
                             static_cast<double>(whole(0, 20))});
        }
      }
    }
  }
  problem.options = [table](int first, int end, int submesh) { return table.at({first, end, submesh}); };
  return problem;
}

}  // namespace

TEST_CASE("the dynamic program finds the best of all partitions, or that none fits") {
  int none = 0;
  int pipelines = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    const StageProblem problem = random_problem(seed);
    const double least = least_time(problem);
    const std::optional<StagePartition> found = best_stages(problem);
    REQUIRE(found.has_value() == (least < kNever));
    if (!found) {
      ++none;
      continue;
    }
    CHECK(found->iteration_s == doctest::Approx(least).epsilon(1e-12));
    StageProblem hurried = problem;
    hurried.longest_s = least * 0.999;
    CHECK_FALSE(best_stages(hurried).has_value());
    hurried.longest_s = least * 1.001;
    CHECK(best_stages(hurried).has_value());
    if (found->stages.size() > 1) ++pipelines;
    // The plan must have all layers and all devices, and stay within memory.
    int layer = 0;
    int devices = 0;
    for (std::size_t i = 0; i < found->stages.size(); ++i) {
      const PlannedStage& stage = found->stages[i];
      CHECK(stage.first == layer);
      layer = stage.end;
      devices += problem.submeshes[static_cast<std::size_t>(stage.submesh)].devices();
      CHECK(stage.in_flight == std::min(static_cast<int>(found->stages.size() - i), problem.microbatches));
      CHECK(stage.cost.bytes(stage.in_flight) <= problem.memory);
    }
    CHECK(layer == problem.layers);
    CHECK(devices == problem.devices);
  }
  CHECK(none > 20);
  CHECK(pipelines > 100);
}

TEST_CASE("equal layers on equal devices: stages of one device each where communication costs") {
  // A layer takes 8 on one device; more devices divide that but add 3. B = 64, 8 layers, 8 devices.
  StageProblem problem;
  problem.layers = 8;
  problem.devices = 8;
  problem.microbatches = 64;
  problem.memory = 1e9;
  problem.submeshes = submeshes(1, 8, NodeCounts::all);
  problem.options = [&](int first, int end, int submesh) {
    const double devices = problem.submeshes[static_cast<std::size_t>(submesh)].devices();
    return std::vector<StageOption>{{(end - first) * (8 / devices + (devices > 1 ? 3 : 0)), 0, 0, 0}};
  };
  const std::optional<StagePartition> found = best_stages(problem);
  REQUIRE(found.has_value());
  CHECK(found->stages.size() == 8);
  CHECK(found->iteration_s == 8 * 8 + 63 * 8);
  // One microbatch gains nothing from a pipeline: all devices on all layers.
  problem.microbatches = 1;
  const std::optional<StagePartition> one = best_stages(problem);
  CHECK(one->stages.size() == 1);
  CHECK(one->iteration_s == 8 * (1 + 3));
}

TEST_CASE("earlier stages keep more microbatches, so memory decides how layers are split (1F1B)") {
  // Two devices, four equal layers, each with 1 of activations a microbatch. With 4 of memory an even split does not
  // fit: its first stage keeps two microbatches of two layers each. One layer and three does not fit last, either.
  StageProblem problem;
  problem.layers = 4;
  problem.devices = 2;
  problem.microbatches = 8;
  problem.submeshes = {{1, 1}};
  problem.options = [](int first, int end, int) {
    return std::vector<StageOption>{{static_cast<double>(end - first), 0, static_cast<double>(end - first), 0}};
  };
  problem.memory = 4;
  CHECK(best_stages(problem)->stages[0].end == 2);
  problem.memory = 3;
  CHECK(best_stages(problem)->stages[0].end == 1);
  problem.memory = 2.5;
  CHECK_FALSE(best_stages(problem).has_value());
}

TEST_CASE("submeshes: powers of two within a node, then whole nodes") {
  CHECK(submeshes(4, 8, NodeCounts::all) ==
        std::vector<Submesh>{{1, 1}, {1, 2}, {1, 4}, {1, 8}, {2, 8}, {3, 8}, {4, 8}});
  CHECK(submeshes(6, 4, NodeCounts::powers_of_two) ==
        std::vector<Submesh>{{1, 1}, {1, 2}, {1, 4}, {2, 4}, {4, 4}, {6, 4}});
}
