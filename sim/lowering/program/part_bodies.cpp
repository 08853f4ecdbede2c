// Two parts of a microbatch, each with two all-reduces a layer, on the stream of kernels (K) and that of collectives
// (C):
//
//   K | attention A | attention B | MLP A       | MLP B       | attention A ...
//   C |             | A           | B           | A           | B           ...
//
// The last all-reduce of B runs during the next layer's attention of A: at the end of a layer, B's late steps are
// handed on. The first layer of a row is handed none, and the last layer runs its own late steps, which nothing hides.

#include "program/part_bodies.hpp"

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

// Index of the first late step: the body's last collective; the number of steps if the body has no collective.
std::size_t first_late(const Body& body) {
  for (std::size_t i = body.steps.size(); i-- > 0;) {
    if (body.steps[i].stream != StreamKind::compute) return i;
  }
  return body.steps.size();
}

// Returns the steps of a body from one on as a body of their own; what they wait for outside of it has ended.
Body steps_from(const Body& part, std::size_t from) {
  Body out;
  for (std::size_t i = from; i < part.steps.size(); ++i) {
    BodyStep step = part.steps[i];
    std::erase_if(step.after, [&](int before) { return static_cast<std::size_t>(before) < from; });
    for (int& before : step.after) before -= static_cast<int>(from);
    out.steps.push_back(std::move(step));
  }
  return out;
}

// A part at one place of a row, and for each of its steps the index in the part's own body.
struct MovedPart {
  Body body;
  std::vector<int> origins;
};

// `moved`: the last steps of the part, which it hands on.
MovedPart moved_part(const Body& part, const Body& moved, RowPlace place) {
  MovedPart out;
  const std::size_t own = part.steps.size() - moved.steps.size();
  if (place.takes) {
    out.body = moved;
    for (std::size_t i = own; i < part.steps.size(); ++i) out.origins.push_back(static_cast<int>(i));
  }
  const auto taken = static_cast<int>(out.body.steps.size());
  for (std::size_t i = 0; i < (place.hands ? own : part.steps.size()); ++i) {
    BodyStep step = part.steps[i];
    for (int& before : step.after) before += taken;
    if (taken > 0) step.after.push_back(taken - 1);
    out.body.steps.push_back(std::move(step));
    out.origins.push_back(static_cast<int>(i));
  }
  return out;
}

PlacedBody placed_body(const Body& part, std::size_t late_from, RowPlace place, double memory_bytes_per_s) {
  const std::size_t behind_collective = std::min(late_from + 1, part.steps.size());
  MovedPart late = moved_part(part, steps_from(part, late_from), place);
  const MovedPart early = moved_part(part, steps_from(part, behind_collective), place);
  for (BodyStep& step : late.body.steps) step.name += ", second part";
  PlacedBody out{pair_bodies(late.body, early.body, memory_bytes_per_s), {}};
  for (PairedBody::Origin& origin : out.steps.origins) {
    origin.step = (origin.backward ? early : late).origins[static_cast<std::size_t>(origin.step)];
  }
  out.folded = fold(out.steps.body);
  return out;
}

bool alike(const BodyStep& a, const BodyStep& b) {
  return a.stream == b.stream && a.name == b.name && a.device == b.device && a.host == b.host && a.bytes == b.bytes;
}

}  // namespace

double shared_memory_bytes_per_s(const GpuSpec& gpu) {
  return gpu.memory_bandwidth.value * gpu.memory_bandwidth_efficiency.value;
}

RowBodies row_bodies(const Body& part, double memory_bytes_per_s) {
  RowBodies out;
  const std::size_t late_from = first_late(part);
  out.late = steps_from(part, late_from);
  for (std::size_t place = 0; place < kRowPlaces; ++place) {
    out.at.push_back(placed_body(part, late_from, {(place & 1U) != 0, (place & 2U) != 0}, memory_bytes_per_s));
  }
  return out;
}

bool hands_on(const RowBodies& block, const RowBodies& next) {
  if (block.empty() || next.empty()) return false;
  const std::vector<BodyStep>& own = block.late.steps;
  return std::equal(own.begin(), own.end(), next.late.steps.begin(), next.late.steps.end(), alike);
}

}  // namespace mirfak
