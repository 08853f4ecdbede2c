#include "measure/power_recorder.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace mirfak::measure {

using Clock = std::chrono::steady_clock;

PowerRecorder::PowerRecorder(Meter meter, double interval_s)
    : thread_([this, meter = std::move(meter), interval_s] { run(meter, interval_s); }) {}

const PowerReadings& PowerRecorder::stop() {
  stopped_ = true;
  if (thread_.joinable()) thread_.join();
  return readings_;
}

void PowerRecorder::run(const Meter& meter, double interval_s) {
  const auto interval = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(interval_s));
  for (Clock::time_point next = Clock::now(); !stopped_;) {
    const std::optional<double> watts = meter();
    const Clock::time_point now = Clock::now();
    if (!watts) return;
    readings_.time_s.push_back(std::chrono::duration<double>(now.time_since_epoch()).count());
    readings_.power_w.push_back(*watts);
    while (next <= now) next += interval;
    std::this_thread::sleep_until(next);
  }
}

std::string readings_csv(const PowerReadings& readings) {
  std::string out = "time_s,power_w\n";
  for (std::size_t i = 0; i < readings.time_s.size(); ++i) {
    out += fmt::format("{:.6f},{:.3f}\n", readings.time_s[i], readings.power_w[i]);
  }
  return out;
}

}  // namespace mirfak::measure
