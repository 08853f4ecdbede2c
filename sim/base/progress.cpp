#include "base/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace mirfak {

namespace {

constexpr std::chrono::milliseconds kPeriod{100};
constexpr int kLongestBar = 30;
constexpr int kShortestBar = 6;

std::string clock_text(double seconds) {
  constexpr double most = 359999;  // 99:59:59
  const auto whole = static_cast<int>(std::min(std::ceil(seconds), most));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string rate_text(double per_second) {
  if (per_second >= 100) return grouped(static_cast<std::uint64_t>(std::llround(per_second)));
  return fmt::format("{:.1f}", per_second);
}

}  // namespace

std::string progress_line(const ProgressState& state, std::string_view noun, int columns) {
  const double share = state.total > 0 ? static_cast<double>(state.done) / static_cast<double>(state.total) : 1;
  const double gained = static_cast<double>(state.done - state.before);
  std::string text =
      fmt::format("{:3.0f} %  {} of {} {}", std::floor(100 * share), grouped(state.done), grouped(state.total), noun);
  if (gained > 0 && state.elapsed_s > 0) {
    const double per_second = gained / state.elapsed_s;
    const double left_s = static_cast<double>(state.total - state.done) / per_second;
    text += fmt::format("  {}/s  {} left", rate_text(per_second), clock_text(left_s));
  }
  const int room = std::min(kLongestBar, columns - static_cast<int>(text.size()) - 3);
  if (room < kShortestBar) return text.substr(0, static_cast<std::size_t>(std::max(0, columns)));
  const auto filled = static_cast<std::size_t>(share * room);
  return fmt::format("[{}{}] {}", std::string(filled, '#'), std::string(static_cast<std::size_t>(room) - filled, '.'),
                     text);
}

Progress::Progress(std::string noun, std::uint64_t total, std::uint64_t before, Print print, int columns)
    : noun_(std::move(noun)), print_(std::move(print)), columns_(columns), state_{before, total, before} {}

Progress::~Progress() {
  if (shown_) print_("\r\x1b[K");
}

void Progress::add(std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  state_.done += count;
  show_if_due();
}

void Progress::update(std::uint64_t done, std::uint64_t total) {
  const std::lock_guard lock(mutex_);
  state_.done = done;
  state_.total = total;
  show_if_due();
}

void Progress::show_if_due() {
  const Clock::time_point now = Clock::now();
  if (print_ && (!shown_ || now - shown_at_ >= kPeriod)) show(now);
}

void Progress::show(Clock::time_point now) {
  state_.elapsed_s = std::chrono::duration<double>(now - started_).count();
  print_("\r" + progress_line(state_, noun_, columns_ - 1) + "\x1b[K");
  shown_at_ = now;
  shown_ = true;
}

}  // namespace mirfak
