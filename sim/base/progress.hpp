#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace mirfak {

// Says on one line how far a long task is, how fast it goes and how long it will still take. Tasks that are over within
// a second say nothing.
class Progress {
 public:
  // Where text goes at once, as a terminal would show it: "\r" begins the line anew.
  using Sink = std::function<void(std::string_view)>;

  // `unit`: of what is counted, in the plural. An empty sink: nothing is said.
  Progress(std::string title, std::string unit, Sink sink);
  ~Progress();  // takes the line away
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` never sinks. Cheap: writes a few times a second at most.
  void update(std::int64_t done, std::int64_t total);

 private:
  using Clock = std::chrono::steady_clock;

  std::string title_;
  std::string unit_;
  Sink sink_;
  Clock::time_point started_;
  Clock::time_point last_;
  bool shown_ = false;
};

// "search  [######....]  60 %  120.0 k of 200.0 k strategies, 41.00 k/s, 1.951 s left"
std::string progress_line(const std::string& title, const std::string& unit, std::int64_t done, std::int64_t total,
                          double seconds);

}  // namespace mirfak
