#pragma once

#include "base/read_files.hpp"
#include "python/inputs.hpp"
#include "scenario/scenario.hpp"
#include "simulation/figures.hpp"
#include "simulation/iteration.hpp"
#include "simulation/sensitivity.hpp"
#include "simulation/spread.hpp"

#include <nanobind/nanobind.h>
#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mirfak::python {

// A simulated iteration with its figures. Parts that take memory (the program and its timeline) or time (notes on the
// scenario) are made on request.
class Iteration {
 public:
  Iteration(Scenario scenario, std::shared_ptr<const ScenarioSources> sources, const LoweringOptions& lowering);

  const Scenario& scenario() const { return scenario_; }
  const ScenarioSources& sources() const { return *sources_; }
  const IterationResult& result() const { return result_; }
  double wall_time_s() const { return wall_time_s_; }
  const std::optional<Spread>& spread() const { return spread_; }
  const ReadFiles::ListPointer& read() const { return read_; }

  void sample(const SpreadOptions& options) { spread_ = sample_iterations(scenario_.job, options); }

  // Returns notes on the scenario. Thread-safe, as simulation() is.
  const std::vector<std::string>& notes() const;
  // Simulates the iteration again, with the same bits; later calls return the same object.
  std::shared_ptr<const Simulation> simulation() const;

  Sensitivity gains(double factor) const;  // gains with `factor` times as much of each resource

  nlohmann::ordered_json json() const;        // JSON of report/, without notes on the scenario
  nlohmann::ordered_json whole_json() const;  // json() with the notes and the spread

 private:
  Scenario scenario_;
  std::shared_ptr<const ScenarioSources> sources_;
  LoweringOptions lowering_;
  IterationResult result_;
  double wall_time_s_ = 0;
  std::optional<Spread> spread_;
  ReadFiles::ListPointer read_ = ReadFiles::of_this_thread();
  mutable std::mutex mutex_;  // guards the next two members
  mutable std::optional<std::vector<std::string>> notes_;
  mutable std::shared_ptr<const Simulation> simulation_;
};

using IterationClass = nanobind::class_<Iteration>;

void add_iteration(nanobind::module_& module);
// Adds the iteration's timeline, its output files, and the gains from more of a resource.
void add_iteration_files(IterationClass& type);

}  // namespace mirfak::python
