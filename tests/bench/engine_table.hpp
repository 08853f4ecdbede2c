#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <vector>

namespace mirfak {

// Collects the rates of all runs and prints them as one table when the last is done: absolute figures, and ratios to
// the physical limits measured in the same run. Of repetitions the best counts: what disturbs a run only slows it.
class EngineTable : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

 private:
  double rate(const std::string& name) const;  // items per second; 0 if it did not run
  void print_queues() const;
  void print_pipeline() const;
  void print_flows() const;

  std::map<std::string, double> rates_;
  std::map<std::string, double> changes_;  // of speed, per second
};

}  // namespace mirfak
