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

// What work and who waits for it tell each other. Every thread may use one.
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

// Time since it was made.
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Runs `work` on a thread of its own while this one, which holds the GIL, lets it go and waits: Python's other threads
// run on. Some twenty times a second it looks for signals, and calls `progress(done, total)` where there is news. Where
// a signal handler or `progress` raises, the work is given up, and when it has ended the exception is thrown. What the
// work throws is thrown here.
void run_beside_interpreter(const nanobind::object& progress, const std::function<void(Reporter&)>& work);

// Runs `work` on this thread, which holds the GIL and lets it go meanwhile: for work that is mostly too short for a
// thread of its own. Signals are looked for as above, where the work calls check_cancelled().
void run_here(const std::function<void()>& work);

// Called when the interpreter is about to end, with the GIL: has all work given up, and waits until the threads that
// asked for it are back in Python, where SystemExit ends them. So threads that nobody joins end as they should.
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

// Writes files of a result, which replace none of those that were read for it: a result keeps their list as
// ReadFiles::of_this_thread() of the work that made it.
template <typename Write>
void write_beside(const ReadFiles::ListPointer& read, const Write& write) {
  wait_for(nanobind::none(), [&](Reporter& /*unused*/) {
    const ReadFiles reading(read);
    write();
    return true;
  });
}

}  // namespace mirfak::python
