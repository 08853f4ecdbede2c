#pragma once

#include "base/read_files.hpp"
#include "capture/capture_simulation.hpp"
#include "capture/captured_spread.hpp"
#include "trace/power_file.hpp"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace mirfak::python {

// A scenario of a capture that was executed, with all data that its reports use.
class SimulatedCapture {
 public:
  // `sampling`: also samples so many steps.
  SimulatedCapture(const Document& document, const ScenarioSources& sources,
                   const std::optional<SpreadOptions>& sampling);

  const CapturedScenario& scenario() const { return scenario_; }
  const ReadFiles::ListPointer& read() const { return read_; }
  nlohmann::ordered_json json() const;
  std::string text(bool explain) const;
  void write_timeline(const std::filesystem::path& path) const;
  void write_trace(const std::filesystem::path& path) const;
  PowerFile power(double resolution_s) const;  // Error(input) for intervals that are no 1 ms to 1 s
  void write_report(const std::filesystem::path& path) const;

 private:
  CapturePricing pricing() const { return pricing_of(scenario_, sources_); }

  CaptureSources sources_;
  CapturedScenario scenario_;
  CaptureSimulation simulation_;
  std::optional<Spread> spread_;
  double wall_time_s_ = 0;
  ReadFiles::ListPointer read_ = ReadFiles::of_this_thread();
};

}  // namespace mirfak::python
