// The bound of a layout against every way to divide its layers over its stages, and its microbatches over its replicas.
#include "plan/layout_bound.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace mirfak;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// The best time of a replica over all divisions of the layers. Its stages take `seconds` for all layers each.
double best_of_replica(const std::vector<double>& seconds, const LayoutShape& shape, double m) {
  std::vector<double> stages(seconds.size());
  double best = kNever;
  const auto divide = [&](auto&& self, std::size_t stage, std::int64_t left) -> void {
    if (stage + 1 == seconds.size()) {
      stages[stage] = static_cast<double>(left) / static_cast<double>(shape.layers) * seconds[stage];
      double before = 0;
      double time = 0;
      for (const double x : stages) {
        time = std::max(time, before + m * x);
        before += x / shape.max_chunks;
      }
      best = std::min(best, time);
      return;
    }
    const auto stages_left = static_cast<std::int64_t>(seconds.size() - stage - 1);
    for (std::int64_t layers = 1; layers + stages_left <= left; ++layers) {
      stages[stage] = static_cast<double>(layers) / static_cast<double>(shape.layers) * seconds[stage];
      self(self, stage + 1, left - layers);
    }
  };
  divide(divide, 0, shape.layers);
  return best;
}

struct Drawn {
  LayoutShape shape;
  std::vector<TeamsOfType> types;
};

Drawn draw(std::mt19937& random, int replicas, int max_types) {
  const auto number = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  Drawn out;
  out.shape.stages = number(1, 4);
  out.shape.replicas = replicas;
  out.shape.microbatches = replicas * number(1, 12);
  out.shape.layers = number(out.shape.stages, 12);
  out.shape.max_chunks = number(1, 3);
  out.shape.even_chunks = true;
  for (int stage = 0; stage < out.shape.stages; ++stage) {
    const int type = number(0, max_types - 1);
    while (static_cast<int>(out.types.size()) <= type) out.types.push_back({0, 1.0 + number(0, 30) * 0.1, 1});
    out.types[static_cast<std::size_t>(type)].teams += replicas;
  }
  std::erase_if(out.types, [](const TeamsOfType& type) { return type.teams == 0; });
  return out;
}

// The seconds of each stage, as the types stand.
std::vector<double> seconds_of_stages(const Drawn& drawn) {
  std::vector<double> out;
  for (const TeamsOfType& type : drawn.types) {
    out.insert(out.end(), static_cast<std::size_t>(type.teams / drawn.shape.replicas), type.seconds);
  }
  return out;
}

double best_in_any_order(const Drawn& drawn, double m) {
  std::vector<double> seconds = seconds_of_stages(drawn);
  std::sort(seconds.begin(), seconds.end());
  double best = kNever;
  do {
    best = std::min(best, best_of_replica(seconds, drawn.shape, m));
  } while (std::next_permutation(seconds.begin(), seconds.end()));
  return best;
}

}  // namespace

TEST_CASE("no division of layers over stages in any order is below the bound of the layout") {
  std::mt19937 random(7);
  constexpr int kDraws = 2000;
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) {
    const int replicas = 1 + i % 2;
    const Drawn drawn = draw(random, replicas, 3);
    const double m = drawn.shape.microbatches / replicas;
    const double best = best_in_any_order(drawn, m);
    const double bound = least_seconds(drawn.types, drawn.shape);
    CAPTURE(drawn.shape.stages);
    CAPTURE(drawn.types.size());
    CHECK(bound <= best);
    sum += bound / best;
  }
  MESSAGE("the bound is on average " << sum / kDraws << " of the best division of a few layers");
  CHECK(sum / kDraws > 0.75);
}

TEST_CASE("replicas that differ in type: no division of microbatches over them is below the bound") {
  std::mt19937 random(11);
  for (int i = 0; i < 500; ++i) {
    Drawn drawn = draw(random, 2, 1);
    const double slower = drawn.types.front().seconds * (1 + static_cast<double>(random() % 20) * 0.1);
    drawn.types = {{static_cast<double>(drawn.shape.stages), drawn.types.front().seconds, 1},
                   {static_cast<double>(drawn.shape.stages), slower, 1}};
    const auto all = static_cast<int>(drawn.shape.microbatches);
    const auto stages = static_cast<std::size_t>(drawn.shape.stages);
    double best = kNever;
    for (int of_first = 1; of_first < all; ++of_first) {
      const double first = best_of_replica(std::vector<double>(stages, drawn.types[0].seconds), drawn.shape, of_first);
      const double second = best_of_replica(std::vector<double>(stages, slower), drawn.shape, all - of_first);
      best = std::min(best, std::max(first, second));
    }
    CHECK(least_seconds(drawn.types, drawn.shape) <= best);
  }
}

TEST_CASE("layers fit as long as some division of them over the stages does") {
  std::mt19937 random(13);
  int fitting = 0;
  for (int i = 0; i < 2000; ++i) {
    Drawn drawn = draw(random, 1, 1);
    const int stages = drawn.shape.stages;
    const double m = drawn.shape.microbatches;
    const LayerBytes bytes{1.0 + static_cast<double>(random() % 4), 0.25 * static_cast<double>(random() % 8)};
    drawn.types.front().usable_bytes = static_cast<double>(random() % 40);
    std::int64_t room = 0;  // whole layers
    for (int stage = 0; stage < stages; ++stage) {
      const double in_flight = std::min(m, static_cast<double>(stages - stage));
      room += static_cast<std::int64_t>(
          std::floor(drawn.types.front().usable_bytes / (bytes.state + in_flight * bytes.kept)));
    }
    if (room < drawn.shape.layers) continue;
    ++fitting;
    CHECK(layers_may_fit(drawn.types, drawn.shape, bytes));
  }
  CHECK(fitting > 100);
  CHECK_FALSE(layers_may_fit(std::vector<TeamsOfType>{{1, 1, 10}}, LayoutShape{}, {11, 0}));
}
