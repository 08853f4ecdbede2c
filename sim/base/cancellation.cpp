#include "base/cancellation.hpp"

namespace mirfak {

namespace {

thread_local const std::atomic<bool>* current = nullptr;

}  // namespace

CancellationScope::CancellationScope(const std::atomic<bool>* flag) : outer_(current) { current = flag; }

CancellationScope::~CancellationScope() { current = outer_; }

const std::atomic<bool>* cancellation_flag() { return current; }

void check_cancelled() {
  if (current != nullptr && *current) throw Cancelled{};
}

}  // namespace mirfak
