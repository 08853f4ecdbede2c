#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

namespace mirfak {

// Thrown where work is given up because nobody waits for its result any more. It is no std::exception, so that no
// handler takes a Cancelled for a failure.
struct Cancelled {};

// While a scope lives, the work of this thread, and the work that parallel_for() does for it on other threads, ends
// with Cancelled soon after `flag` is set: at the next call of check_cancelled(). Without a scope, work is never given
// up. Scopes nest; the innermost scope counts.
class CancellationScope {
 public:
  // `look` is called on this thread alone, before the flag is read: for a caller who has no other thread to set the
  // flag.
  explicit CancellationScope(const std::atomic<bool>* flag, const std::function<void()>* look = nullptr);
  ~CancellationScope();
  CancellationScope(const CancellationScope&) = delete;
  CancellationScope& operator=(const CancellationScope&) = delete;

 private:
  const std::atomic<bool>* outer_flag_;
  const std::function<void()>* outer_look_;
};

const std::atomic<bool>* cancellation_flag();  // the flag of this thread; nullptr: none

// Throws Cancelled if the flag of this thread is set. Long loops call this function, no more often than every few
// milliseconds.
void check_cancelled();

// Checks for cancellation in a loop of short steps, up to some microseconds each: one check in many steps.
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
