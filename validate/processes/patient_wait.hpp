#pragma once

#include <functional>
#include <string>

namespace mirfak::measure {

double monotonic_seconds();  // of this machine

// Throws Error(internal): "nothing went on for 60 s: WHAT", and that --timeout sets how long to wait. `what`: who waits
// for whom and for what, "rank 2: all_reduce with ranks 0, 1".
[[noreturn]] void fail_waiting(double timeout_s, const std::string& what);

// Waits where several processes share a core: looks a few times at once, then naps that get longer, up to 100 us.
// Throws as fail_waiting() does when nothing has gone on for `timeout_s`, and as check_interruption() does.
class PatientWait {
 public:
  static constexpr double kLongestNap = 100e-6;  // seconds

  PatientWait(double timeout_s, std::function<std::string()> what) : timeout_s_(timeout_s), what_(std::move(what)) {}

  void progress() { looks_ = 0; }  // something went on
  // Nothing went on. Returns how long to nap, in seconds; 0: look again at once.
  double next_nap();
  void nap();  // for so long

 private:
  double timeout_s_;
  std::function<std::string()> what_;
  int looks_ = 0;
  double since_ = 0;
};

}  // namespace mirfak::measure
