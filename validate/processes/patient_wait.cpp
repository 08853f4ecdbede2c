#include "processes/patient_wait.hpp"

#include "base/error.hpp"
#include "processes/interruption.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace mirfak::measure {

namespace {

constexpr int kLooks = 20;          // at once, before the first nap
constexpr double kFirstNap = 5e-6;  // seconds

}  // namespace

double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void fail_waiting(double timeout_s, const std::string& what) {
  fail_internal(fmt::format(
      "nothing went on for {:g} s: {}\n  has another rank failed? --timeout sets how long to wait", timeout_s, what));
}

double PatientWait::next_nap() {
  check_interruption();
  const double now = monotonic_seconds();
  if (looks_++ == 0) since_ = now;
  if (now - since_ > timeout_s_) fail_waiting(timeout_s_, what_());
  if (looks_ < kLooks) return 0;
  return std::min(kLongestNap, kFirstNap * std::exp2((looks_ - kLooks) / 16));
}

void PatientWait::nap() {
  if (const double seconds = next_nap(); seconds > 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }
}

}  // namespace mirfak::measure
