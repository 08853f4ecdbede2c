#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mirfak {

// Collects the rates of all runs and prints them as one table when the last is done: absolute figures, and ratios to
// the physical limits measured in the same run. Of repetitions the best counts: what disturbs a run only slows it.
class EngineTable : public benchmark::BenchmarkReporter {
 public:
  using PerStream = std::uint32_t (*)(std::uint32_t streams);
  // `per_stream`: how many flows each of so many streams sends; `compared`: those whose simulated time is compared.
  EngineTable(PerStream per_stream, PerStream compared) : per_stream_(per_stream), compared_(compared) {}

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

 private:
  double rate(const std::string& name) const;  // items per second; 0 if it did not run
  void print_queues() const;
  void print_pipeline() const;
  void print_flows() const;
  void print_beside_simgrid(const char* title, const std::string& benchmark, const std::string& kind) const;

  PerStream per_stream_;
  PerStream compared_;
  std::map<std::string, double> rates_;
  std::map<std::string, double> changes_;      // of speed, per second
  std::map<std::string, double> simulated_s_;  // of flows
};

}  // namespace mirfak
