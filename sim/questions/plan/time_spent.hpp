#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace mirfak {

// Steps of a search; the processor time of each is measured.
enum Step : std::uint8_t { enumerated, after_rules, after_memory, after_bounds, simulated };
constexpr std::size_t kSteps = 5;

// Adds the nanoseconds of the object's life to a sum over all threads.
class TimeSpent {
 public:
  explicit TimeSpent(std::atomic<std::int64_t>& sum) : sum_(sum), started_(std::chrono::steady_clock::now()) {}
  ~TimeSpent() {
    sum_ += std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - started_).count();
  }
  TimeSpent(const TimeSpent&) = delete;
  TimeSpent& operator=(const TimeSpent&) = delete;

 private:
  std::atomic<std::int64_t>& sum_;
  std::chrono::steady_clock::time_point started_;
};

}  // namespace mirfak
