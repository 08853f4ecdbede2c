#include "plan/layout_bound.hpp"

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

std::vector<TeamsOfType> fastest_first(std::span<const TeamsOfType> types) {
  std::vector<TeamsOfType> out(types.begin(), types.end());
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  return out;
}

// Returns the passes of the whole model per second of one replica of `stages` teams with `m` microbatches, each team
// alone at `seconds` if it waited for nothing: the sum of the dual weights of its stages. A stage for which the others
// would wait too long is left out.
double replica_rate(const LayoutShape& shape, double seconds, double m) {
  const double alone = 1 / seconds;
  double weights = 0;
  for (int stage = shape.stages - 1; stage >= 0; --stage) {
    const bool waited_for = stage > 0 || shape.even_chunks;
    const double others = waited_for ? weights / shape.max_chunks : 0;
    weights += std::max(0.0, alone - others) / m;
  }
  return weights * m;
}

// Returns the bound if all replicas have the same devices and equally many microbatches.
double least_of_alike(const TeamsOfType& type, const LayoutShape& shape) {
  const double m = shape.microbatches / shape.replicas;
  const auto layers = static_cast<double>(shape.layers);
  const double of_largest = std::ceil(layers / shape.stages) / layers;
  return std::max(m / replica_rate(shape, type.seconds, m), m * of_largest * type.seconds);
}

// Returns the rate of all teams, where the teams of each stage are slowed down by `share` against those of the stage
// before.
double rate_of_all(std::span<const TeamsOfType> fastest_first, const LayoutShape& shape, double share) {
  double rate = 0;
  double factor = 1;
  double room = shape.replicas;  // left in the stage
  bool first = true;
  for (const TeamsOfType& type : fastest_first) {
    for (double left = type.teams; left > 0;) {
      const double here = std::min(left, room);
      rate += here * factor / type.seconds;
      left -= here;
      room -= here;
      if (room > 0) continue;
      room = shape.replicas;
      if (!first || shape.even_chunks) factor *= share;
      first = false;
    }
  }
  return rate;
}

// Returns the bound if replicas may differ. With more microbatches the passes around them weigh less; no replica has
// more microbatches than the fastest teams can do in that time.
double least_of_different(std::span<const TeamsOfType> types, const LayoutShape& shape) {
  const std::vector<TeamsOfType> sorted = fastest_first(types);
  const auto seconds_with = [&](double share) { return shape.microbatches / rate_of_all(sorted, shape, share); };
  const auto share_within = [&](double seconds) {
    const double others = shape.replicas - 1;  // these have one microbatch each
    const double by_time = seconds * shape.stages / sorted.front().seconds;
    const double m = shape.replicas == 1 ? shape.microbatches : std::min(shape.microbatches - others, by_time);
    // If a stage could be left out, the sums of all replicas cannot be taken together.
    const bool all_count = shape.max_chunks * m * sorted.front().seconds >= shape.stages * sorted.back().seconds;
    return all_count ? 1 - 1 / (shape.max_chunks * m) : 1;
  };
  // The first result is no lower than the least, so the share within it is no lower either.
  const double high = seconds_with(share_within(seconds_with(1)));
  return seconds_with(share_within(high));
}

}  // namespace

double least_seconds(std::span<const TeamsOfType> types, const LayoutShape& shape) {
  const double seconds = types.size() == 1 ? least_of_alike(types.front(), shape) : least_of_different(types, shape);
  return seconds * kRounding;
}

bool layers_may_fit(std::span<const StageRoom> stages, std::int64_t layers, double microbatches) {
  double room = 0;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    const StageRoom& of = stages[stage];
    const double in_flight = std::min(microbatches, static_cast<double>(stages.size() - stage));
    room += std::max(0.0, of.usable) / (of.layer.state + in_flight * of.layer.kept);
  }
  return room >= static_cast<double>(layers) * kRounding;
}

// Large memories help most in the last stages, where the fewest microbatches are in flight. A type lies on as many
// stages as it has teams for, and on one more if it begins within a stage.
bool layers_may_fit(std::span<const TeamsOfType> types, const LayoutShape& shape, const LayerBytes& bytes) {
  std::vector<TeamsOfType> largest_first(types.begin(), types.end());
  std::sort(largest_first.begin(), largest_first.end(),
            [](const auto& a, const auto& b) { return a.usable_bytes > b.usable_bytes; });
  std::vector<StageRoom> rooms;
  for (const TeamsOfType& type : largest_first) {
    const double stages = std::floor((type.teams - 1) / shape.replicas) + 2;
    for (double i = 0; i < stages && static_cast<int>(rooms.size()) < shape.stages; ++i) {
      rooms.push_back({type.usable_bytes, bytes});
    }
  }
  std::reverse(rooms.begin(), rooms.end());
  return layers_may_fit(rooms, shape.layers, shape.microbatches / shape.replicas);
}

}  // namespace mirfak
