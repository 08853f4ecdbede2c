#pragma once

#include "plan/layout_bound.hpp"
#include "plan/search.hpp"
#include "program/memory.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace mirfak {

// Steps of a search; the processor time of each is measured.
enum Step : std::uint8_t { enumerated, after_rules, after_memory, after_bounds, simulated };
constexpr std::size_t kSteps = 5;

// Numbers of strategies that were listed, dropped by each step and simulated, and the memory that the dropped ones
// lack.
struct FunnelCounts {
  std::int64_t enumerated = 0;
  std::int64_t against_rules = 0;
  std::int64_t too_large = 0;
  std::int64_t bounded = 0;
  std::int64_t simulated = 0;
  double min_shortage = std::numeric_limits<double>::infinity();  // bytes, with the headroom
  MemoryRoom::Fullest nearest;                                    // the memory that lacks them
  double max_free = -std::numeric_limits<double>::infinity();     // share of memory
  std::array<std::int64_t, kSteps> spent_ns{};                    // processor time

  void add_too_large(const MemoryRoom& room);
  Lack least_lack() const { return {min_shortage, max_free}; }  // of the strategies that were looked at
  FunnelCounts& operator+=(const FunnelCounts& other);
  std::int64_t done() const { return against_rules + too_large + bounded + simulated; }
  std::vector<FunnelStep> steps() const;
};

// Adds the object's life to the time of a step.
class TimeSpent {
 public:
  TimeSpent(FunnelCounts& counts, Step step)
      : sum_ns_(counts.spent_ns[step]), started_(std::chrono::steady_clock::now()) {}
  ~TimeSpent() {
    sum_ns_ +=
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - started_).count();
  }
  TimeSpent(const TimeSpent&) = delete;
  TimeSpent& operator=(const TimeSpent&) = delete;

 private:
  std::int64_t& sum_ns_;
  std::chrono::steady_clock::time_point started_;
};

}  // namespace mirfak
