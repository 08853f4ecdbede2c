#include "program/paired_bodies.hpp"

#include "program/pass_parts.hpp"

#include <algorithm>
#include <array>

namespace mirfak {

namespace {

// Distance to the next communication after the last communication: longer than any body.
constexpr Picoseconds kNoCommunication = Picoseconds{1} << 60;

// One of the two bodies while they are merged.
struct Side {
  const Body* body = nullptr;
  std::size_t next = 0;
  std::vector<Picoseconds> ahead;  // for each step, kernel time up to the next communication
  std::vector<int> placed;         // index of each step in the merged body
  // The last collective of this side that holds multiprocessors, and the period in which it does.
  const BodyStep* holds = nullptr;
  Picoseconds holds_from = 0;
  Picoseconds holds_until = 0;

  bool ended() const { return next == body->steps.size(); }
};

// Share of its speed that a kernel loses beside a collective.
double share_lost(const BodyStep& collective, const BodyStep& kernel, double memory_bytes_per_s) {
  if (memory_bytes_per_s <= 0 || kernel.device <= 0) return collective.held_share;
  const double moved = collective.device > 0 ? collective.memory_bytes / to_seconds(collective.device) : 0;
  const double needed = std::min(1.0, kernel.bytes / to_seconds(kernel.device) / memory_bytes_per_s);
  const double left = std::max(0.0, 1 - moved / memory_bytes_per_s);
  return needed > left ? std::max(collective.held_share, 1 - left / needed) : collective.held_share;
}

class Merge {
 public:
  Merge(const Body& forward, const Body& backward, double memory_bytes_per_s)
      : memory_bytes_per_s_(memory_bytes_per_s) {
    sides_[0].body = &forward;
    sides_[1].body = &backward;
    for (Side& side : sides_) {
      side.ahead.resize(side.body->steps.size());
      Picoseconds ahead = kNoCommunication;
      for (std::size_t i = side.ahead.size(); i-- > 0;) {
        const BodyStep& step = side.body->steps[i];
        ahead = step.stream == StreamKind::compute ? ahead + step.device : 0;
        side.ahead[i] = ahead;
      }
    }
  }

  PairedBody run(std::size_t alone) {
    while (sides_[1].next < alone) place(1);
    while (!sides_[0].ended() || !sides_[1].ended()) place(choose());
    return std::move(out_);
  }

 private:
  // Time when a side's next step can start.
  Picoseconds start_of(const Side& side) const {
    const BodyStep& step = side.body->steps[side.next];
    Picoseconds start = free_[static_cast<std::size_t>(step.stream)];
    for (const int before : step.after) {
      start = std::max(start, ends_[static_cast<std::size_t>(side.placed[static_cast<std::size_t>(before)])]);
    }
    return start;
  }

  std::size_t choose() const {
    if (sides_[0].ended()) return 1;
    if (sides_[1].ended()) return 0;
    const Picoseconds first = start_of(sides_[0]);
    const Picoseconds second = start_of(sides_[1]);
    if (first != second) return first < second ? 0 : 1;
    return sides_[0].ahead[sides_[0].next] < sides_[1].ahead[sides_[1].next] ? 0 : 1;
  }

  void place(std::size_t chosen) {
    Side& side = sides_[chosen];
    const Picoseconds start = start_of(side);
    BodyStep step = side.body->steps[side.next];
    const bool kernel = step.stream == StreamKind::compute;
    if (kernel) step.lost = lost(sides_[1 - chosen], start, step);
    step.device += step.lost;
    step.of_second = chosen == 1;
    for (int& before : step.after) before = side.placed[static_cast<std::size_t>(before)];
    const Picoseconds end = start + step.device;
    if (!kernel && step.held_share > 0) {
      side.holds = &side.body->steps[side.next];
      side.holds_from = start;
      side.holds_until = end;
    }
    free_[static_cast<std::size_t>(step.stream)] = end;
    side.placed.push_back(static_cast<int>(out_.body.steps.size()));
    out_.origins.push_back({chosen == 1, static_cast<int>(side.next++)});
    out_.body.steps.push_back(std::move(step));
    ends_.push_back(end);
  }

  // Additional time of a kernel that begins during a collective of the other side.
  Picoseconds lost(const Side& other, Picoseconds start, const BodyStep& kernel) const {
    if (other.holds == nullptr || start < other.holds_from || start >= other.holds_until) return 0;
    return lost_beside(*other.holds, other.holds_until - start, kernel, memory_bytes_per_s_);
  }

  double memory_bytes_per_s_;
  std::array<Side, 2> sides_;
  std::array<Picoseconds, kStreamKinds> free_{};
  std::vector<Picoseconds> ends_;
  PairedBody out_;
};

}  // namespace

Picoseconds lost_beside(const BodyStep& collective, Picoseconds left, const BodyStep& kernel,
                        double memory_bytes_per_s) {
  if (collective.held_share <= 0) return 0;
  return to_picoseconds(
      lost_beside(to_seconds(left), share_lost(collective, kernel, memory_bytes_per_s), to_seconds(kernel.device)));
}

PairedBody pair_bodies(const Body& forward, const Body& backward, double memory_bytes_per_s, std::size_t alone) {
  return Merge(forward, backward, memory_bytes_per_s).run(alone);
}

}  // namespace mirfak
