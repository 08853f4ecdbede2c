#pragma once

#include "base/read_files.hpp"

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace mirfak::python {

// Passes progress from the work to the waiting thread, and the order to give up back to the work. Thread-safe.
class Reporter {
 public:
  void report(std::uint64_t done, std::uint64_t total) {
    total_ = total;
    done_ = done;
  }
  bool given_up() const { return given_up_; }

  void give_up() { given_up_ = true; }
  std::atomic<bool>& flag() { return given_up_; }
  std::uint64_t done() const { return done_; }
  std::uint64_t total() const { return total_; }

 private:
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::uint64_t> total_{0};
  std::atomic<bool> given_up_{false};
};

// Measures the time since its construction.
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Runs `work` on a thread of its own. The calling thread, which holds the GIL, releases it and waits, so that Python's
// other threads continue. Some twenty times a second the calling thread checks for signals, and calls `progress(done,
// total)` after changes. If a signal handler or `progress` raises, the work is given up, and the exception is thrown
// after the work has ended. Exceptions of the work are thrown here.
void run_beside_interpreter(const nanobind::object& progress, const std::function<void(Reporter&)>& work);

// Runs `work` on the calling thread, which holds the GIL and releases it meanwhile: for work that is mostly too short
// for a thread of its own. Signals are checked as in run_beside_interpreter() whenever the work calls
// check_cancelled().
void run_here(const std::function<void()>& work);

// Called with the GIL when the interpreter is about to end: gives up all work, and waits until the threads that asked
// for it are back in Python, where SystemExit ends them. Threads that nobody joins therefore end properly.
void end_calls();

template <typename Work>
auto work_here(const Work& work) {
  std::optional<std::invoke_result_t<Work>> result;
  run_here([&] {
    const ReadFiles reading;
    result.emplace(work());
  });
  return *std::move(result);
}

template <typename Work>
auto wait_for(const nanobind::object& progress, const Work& work) {
  std::optional<std::invoke_result_t<Work, Reporter&>> result;
  run_beside_interpreter(progress, [&](Reporter& reporter) {
    const ReadFiles reading;
    result.emplace(work(reporter));
  });
  return *std::move(result);
}

// Writes files of a result, which replace none of the files that were read for it: a result keeps the list of those
// files, ReadFiles::of_this_thread() of the work that made it.
template <typename Write>
void write_beside(const ReadFiles::ListPointer& read, const Write& write) {
  wait_for(nanobind::none(), [&](Reporter& /*unused*/) {
    const ReadFiles reading(read);
    write();
    return true;
  });
}

}  // namespace mirfak::python
