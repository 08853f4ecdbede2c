#pragma once

#include "base/error.hpp"
#include "validation/run_reading.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace mirfak {

// The measurements of one row, and the facts on it in scores and reports.
struct MeasuredRun {
  Location where;    // place of the row
  std::string tier;  // A: complete, B: something inferred, C: something missing; empty: not graded
  std::string source, model, gpu, precision;  // the table's words
  std::string sizes;                          // sizes of the layout above 1: "tp8 pp4 mb2"
  std::string group;  // column `group`: rows with the same word differ in their layout alone; empty: none
  std::optional<std::int64_t> gpus, global_batch;

  std::optional<double> seconds;          // measured seconds of one iteration
  std::optional<double> allocated_bytes;  // peak of the framework's allocator, without contexts
  std::optional<double> gpu_power_w;      // mean power of all GPUs together over an iteration
  std::optional<double> machine_power_w;  // the same of GPUs, hosts and network
  bool allocated_by_last_stage = false;   // the peak is of a GPU of the last pipeline stage; else of the fullest stage
  std::string chose;                      // constants that this run itself determined; empty: none
  // Outcome of the run; neither is set if the row states no outcome, no seconds and no power.
  bool out_of_memory = false;  // the run did not fit: nothing else was measured
  bool ran = false;            // the run fitted, with or without seconds

  bool states_power() const { return gpu_power_w || machine_power_w; }
};

// Returns a row's measurements. Error(input) at the cell of a measurement that is no positive number.
MeasuredRun measured_run(const RunReading& reading);

}  // namespace mirfak
