#pragma once

#include "measure/power_readings.hpp"

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <thread>

namespace mirfak::measure {

// Reads a power again and again in a thread of its own, until stop().
class PowerRecorder {
 public:
  // Returns the power in W at the moment of the call; nothing where it cannot be read, which ends the recording.
  using Meter = std::function<std::optional<double>()>;

  // `interval_s`: time between two readings; readings that come late are not made up for.
  explicit PowerRecorder(Meter meter, double interval_s = 0.01);
  PowerRecorder(const PowerRecorder&) = delete;
  PowerRecorder& operator=(const PowerRecorder&) = delete;
  ~PowerRecorder() { stop(); }

  // Ends the recording. Times are those of a steady clock of the machine.
  const PowerReadings& stop();

 private:
  void run(const Meter& meter, double interval_s);

  std::atomic<bool> stopped_ = false;
  PowerReadings readings_;
  std::thread thread_;  // last: it uses the others
};

// Returns the text of a table that read_power_readings() reads.
std::string readings_csv(const PowerReadings& readings);

}  // namespace mirfak::measure
