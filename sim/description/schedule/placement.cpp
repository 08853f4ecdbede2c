#include "schedule/placement.hpp"

#include <algorithm>
#include <numeric>

namespace mirfak {

namespace {

using Parts = std::vector<std::vector<std::int32_t>>;

// Returns routes if every part is held once: all microbatches take the same route.
std::vector<std::int32_t> only_holders(const Parts& parts) {
  std::size_t count = 0;
  for (const auto& of_stage : parts) count += of_stage.size();
  std::vector<std::int32_t> holder(count);
  for (std::size_t stage = 0; stage < parts.size(); ++stage) {
    for (const std::int32_t part : parts[stage]) {
      holder[static_cast<std::size_t>(part)] = static_cast<std::int32_t>(stage);
    }
  }
  return holder;
}

}  // namespace

Placement::Placement(Parts parts, const std::vector<std::int32_t>& routes) : parts_(std::move(parts)) {
  std::size_t held = 0;
  for (const auto& of_stage : parts_) {
    held += of_stage.size();
    for (const std::int32_t part : of_stage) part_count_ = std::max(part_count_, part + 1);
  }
  holds_twice_ = held > static_cast<std::size_t>(part_count_);
  for (std::size_t stage = 0; stage < parts_.size(); ++stage) {
    for (std::size_t chunk = 0; chunk < parts_[stage].size(); ++chunk) {
      looped_ = looped_ && parts_[stage][chunk] == static_cast<std::int32_t>(chunk * parts_.size() + stage);
    }
  }
  route_count_ = routes.size() / static_cast<std::size_t>(part_count_);
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const auto& of_stage = parts_[static_cast<std::size_t>(routes[i])];
    const auto part = static_cast<std::int32_t>(i % static_cast<std::size_t>(part_count_));
    const auto chunk = std::find(of_stage.begin(), of_stage.end(), part) - of_stage.begin();
    places_.push_back({routes[i], static_cast<std::int32_t>(chunk)});
  }
  // A part that is held once has one route.
  if (!holds_twice_) {
    route_count_ = 1;
    places_.resize(static_cast<std::size_t>(part_count_));
  }
}

Placement Placement::looped(int stages, int chunks) {
  Parts parts(static_cast<std::size_t>(stages));
  for (int part = 0; part < stages * chunks; ++part) parts[static_cast<std::size_t>(part % stages)].push_back(part);
  return {parts, only_holders(parts)};
}

Placement Placement::vee(int stages) {
  Parts parts;
  for (int stage = 0; stage < stages; ++stage) parts.push_back({stage, 2 * stages - 1 - stage});
  return {parts, only_holders(parts)};
}

Placement Placement::both_ways(int stages) {
  Parts parts;
  for (int stage = 0; stage < stages; ++stage) parts.push_back({stage, stages - 1 - stage});
  std::vector<std::int32_t> routes(2 * static_cast<std::size_t>(stages));
  const auto half = routes.begin() + stages;
  std::iota(routes.begin(), half, 0);
  std::reverse_copy(routes.begin(), half, half);
  Placement out(parts, routes);
  // Sets the chunks of the second route: with an odd number of stages, the middle stage holds one part in both chunks,
  // and a single stage holds every part twice.
  for (std::int32_t stage = 0; stage < stages; ++stage) {
    out.places_[static_cast<std::size_t>(2 * stages - 1 - stage)] = {stage, 1};
  }
  return out;
}

int Placement::max_chunks() const {
  std::size_t out = 0;
  for (const auto& of_stage : parts_) out = std::max(out, of_stage.size());
  return static_cast<int>(out);
}

std::vector<Place> Placement::copies_of(const Place& place) const {
  std::vector<Place> out;
  const int part = part_of(place.stage, place.chunk);
  for (std::int32_t stage = 0; stage < stages(); ++stage) {
    for (std::int32_t chunk = 0; chunk < chunks(stage); ++chunk) {
      const Place other{stage, chunk};
      if (other != place && part_of(stage, chunk) == part) out.push_back(other);
    }
  }
  return out;
}

std::vector<std::int32_t> Placement::holders(int part) const {
  std::vector<std::int32_t> out;
  for (std::int32_t stage = 0; stage < stages(); ++stage) {
    const auto& held = parts_[static_cast<std::size_t>(stage)];
    if (std::find(held.begin(), held.end(), part) != held.end()) out.push_back(stage);
  }
  return out;
}

}  // namespace mirfak
