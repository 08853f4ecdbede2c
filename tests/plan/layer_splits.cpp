// Splits with at most so many layers for each stage, against all splits without those that have more.
#include "plan/layer_splits.hpp"

#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include <random>
#include <vector>

using namespace mirfak;

namespace {

using Layers = std::vector<std::vector<int>>;

Layers splits(const std::vector<int>& hardware, int layers, int uneven, const std::vector<int>& most) {
  Layers out;
  for (const LayerSplit& split : layer_splits(hardware, layers, uneven, most)) out.push_back(*split);
  return out;
}

Layers within(const Layers& all, const std::vector<int>& most) {
  Layers out;
  for (const std::vector<int>& split : all) {
    bool keeps = true;
    for (std::size_t stage = 0; stage < split.size(); ++stage) keeps = keeps && split[stage] <= most[stage];
    if (keeps) out.push_back(split);
  }
  return out;
}

}  // namespace

TEST_CASE("splits with a most for each stage are all splits that keep it, in the same order") {
  std::mt19937 dice(39);
  const auto draw = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(dice); };
  int left_out = 0;
  for (int i = 0; i < 400; ++i) {
    std::vector<int> hardware;
    for (int kind = 0, kinds = draw(1, 4); kind < kinds; ++kind) {
      for (int stage = 0, stages = draw(1, 3); stage < stages; ++stage) hardware.push_back(kind);
    }
    const int layers = static_cast<int>(hardware.size()) * draw(1, 4) + draw(0, 3);
    const int uneven = draw(0, 2);
    std::vector<int> most;
    for (std::size_t stage = 0; stage < hardware.size(); ++stage) most.push_back(draw(0, layers / 2 + 1));
    CAPTURE(fmt::format("{} layers on {}, most {}", layers, hardware, most));
    const Layers all = splits(hardware, layers, uneven, {});
    const Layers some = splits(hardware, layers, uneven, most);
    CHECK(some == within(all, most));
    left_out += some.size() < all.size() && !some.empty() ? 1 : 0;
  }
  CHECK(left_out > 50);  // cases in which the most decides
}
