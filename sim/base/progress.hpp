#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace mirfak {

// State of progress of a long piece of work.
struct ProgressState {
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  std::uint64_t before = 0;  // the part of `done` that was there at the start and does not count for the rate
  double elapsed_s = 0;
};

// Returns "[######......]  50 %  1,000 of 2,000 points  100/s  0:10 left", in at most `columns` characters: the bar is
// shortened first. `noun`: the counted things, in the plural.
std::string progress_line(const ProgressState& state, std::string_view noun, int columns);

// A bar on one line of a terminal that is rewritten as work gets done, a few times a second, and erased at the end. It
// prints through the caller's function only. Any thread may call add().
class Progress {
 public:
  using Print = std::function<void(std::string_view)>;

  // `print` empty: nothing is ever shown.
  Progress(std::string noun, std::uint64_t total, std::uint64_t before, Print print, int columns = 80);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add(std::uint64_t count);
  void update(std::uint64_t done, std::uint64_t total);  // for work whose total becomes known on the way

 private:
  using Clock = std::chrono::steady_clock;
  void show_if_due();
  void show(Clock::time_point now);

  std::string noun_;
  Print print_;
  int columns_;
  Clock::time_point started_ = Clock::now();
  std::mutex mutex_;  // guards the members below
  ProgressState state_;
  Clock::time_point shown_at_;
  bool shown_ = false;
};

}  // namespace mirfak
