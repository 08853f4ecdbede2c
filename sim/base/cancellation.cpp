#include "base/cancellation.hpp"

#include <utility>

namespace mirfak {

namespace {

thread_local const std::atomic<bool>* flag_of_thread = nullptr;
thread_local const std::function<void()>* look_of_thread = nullptr;

}  // namespace

CancellationScope::CancellationScope(const std::atomic<bool>* flag, const std::function<void()>* look)
    : outer_flag_(std::exchange(flag_of_thread, flag)), outer_look_(std::exchange(look_of_thread, look)) {}

CancellationScope::~CancellationScope() {
  flag_of_thread = outer_flag_;
  look_of_thread = outer_look_;
}

const std::atomic<bool>* cancellation_flag() { return flag_of_thread; }

void check_cancelled() {
  if (look_of_thread != nullptr) (*look_of_thread)();
  if (flag_of_thread != nullptr && *flag_of_thread) throw Cancelled{};
}

}  // namespace mirfak
