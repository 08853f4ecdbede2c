#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

namespace mirfak {

// Thrown where work is given up that nobody waits for any more. No std::exception, so that nobody takes it for a
// failure.
struct Cancelled {};

// While one lives, what this thread does, and what parallel_for() does for it on others, ends with Cancelled soon after
// `flag` is set: where check_cancelled() is called. Without one, work is never given up. Scopes nest; the inner counts.
class CancellationScope {
 public:
  // `look`: called on this thread alone, before the flag is looked at: for who has nobody else to set it.
  explicit CancellationScope(const std::atomic<bool>* flag, const std::function<void()>* look = nullptr);
  ~CancellationScope();
  CancellationScope(const CancellationScope&) = delete;
  CancellationScope& operator=(const CancellationScope&) = delete;

 private:
  const std::atomic<bool>* outer_flag_;
  const std::function<void()>* outer_look_;
};

const std::atomic<bool>* cancellation_flag();  // of this thread; nullptr: none

// Throws Cancelled where the flag of this thread is set: in loops that take long, as rarely as some milliseconds.
void check_cancelled();

// Of a loop of short steps, up to some microseconds each: looks once in many.
class CancellationSteps {
 public:
  void step(std::size_t steps = 1) {
    taken_ += steps;
    if (taken_ < kBetween) return;
    taken_ = 0;
    check_cancelled();
  }

 private:
  static constexpr std::size_t kBetween = 1 << 14;
  std::size_t taken_ = 0;
};

}  // namespace mirfak
