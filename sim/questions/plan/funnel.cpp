#include "plan/funnel.hpp"

#include <algorithm>

namespace mirfak {

void FunnelCounts::add_too_large(const MemoryRoom& room) {
  ++too_large;
  if (room.shortage < min_shortage) {
    min_shortage = room.shortage;
    nearest = room.fullest;
  }
  max_free = std::max(max_free, room.free);
}

FunnelCounts& FunnelCounts::operator+=(const FunnelCounts& other) {
  enumerated += other.enumerated;
  against_rules += other.against_rules;
  too_large += other.too_large;
  bounded += other.bounded;
  simulated += other.simulated;
  if (other.min_shortage < min_shortage) {
    min_shortage = other.min_shortage;
    nearest = other.nearest;
  }
  max_free = std::max(max_free, other.max_free);
  for (std::size_t step = 0; step < kSteps; ++step) spent_ns[step] += other.spent_ns[step];
  return *this;
}

std::vector<FunnelStep> FunnelCounts::steps() const {
  const auto seconds = [&](Step step) { return static_cast<double>(spent_ns[step]) * 1e-9; };
  std::int64_t left = enumerated;
  return {{"enumerated", left, seconds(Step::enumerated)},
          {"after rules", left -= against_rules, seconds(after_rules)},
          {"after memory", left -= too_large, seconds(after_memory)},
          {"after bounds", left -= bounded, seconds(after_bounds)},
          {"simulated", simulated, seconds(Step::simulated)}};
}

}  // namespace mirfak
