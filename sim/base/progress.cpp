#include "base/progress.hpp"

#include "base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

namespace mirfak {

namespace {

constexpr std::chrono::milliseconds kSilence(1000);
constexpr std::chrono::milliseconds kPause(200);
constexpr int kBar = 20;
constexpr std::string_view kClearLine = "\r\x1b[K";

}  // namespace

Progress::Progress(std::string title, std::string unit, Sink sink)
    : title_(std::move(title)),
      unit_(std::move(unit)),
      sink_(std::move(sink)),
      started_(Clock::now()),
      last_(started_ + kSilence - kPause) {}

Progress::~Progress() {
  if (!shown_) return;
  try {
    sink_(kClearLine);
  } catch (const std::exception&) {
    return;  // a line that stays is no reason to fail
  }
}

void Progress::update(std::int64_t done, std::int64_t total) {
  if (!sink_) return;
  const Clock::time_point now = Clock::now();
  if (now - last_ < kPause) return;
  last_ = now;
  shown_ = true;
  const std::chrono::duration<double> so_far = now - started_;
  sink_(std::string(kClearLine) + progress_line(title_, unit_, done, total, so_far.count()));
}

std::string progress_line(const std::string& title, const std::string& unit, std::int64_t done, std::int64_t total,
                          double seconds) {
  const double count = static_cast<double>(done);
  const double share = total > 0 ? std::clamp(count / static_cast<double>(total), 0.0, 1.0) : 0;
  const int filled = static_cast<int>(share * kBar);
  std::string out = fmt::format("{}  [{:#<{}}{:.<{}}] {:3.0f} %  {} of {} {}", title, "", filled, "", kBar - filled,
                                100 * share, format_count(count), format_count(static_cast<double>(total)), unit);
  if (done <= 0 || seconds <= 0) return out;
  const double rate = count / seconds;
  return out + fmt::format(", {}/s, {} left", format_count(rate),
                           format_seconds(std::max(0.0, static_cast<double>(total) - count) / rate));
}

}  // namespace mirfak
