#pragma once

#include "base/error.hpp"
#include "validation/run_reading.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace mirfak {

// What was measured of one row, and what scores and reports say of it beside.
struct MeasuredRun {
  Location where;    // of the row
  std::string tier;  // A: complete, B: something inferred, C: something missing; empty: not graded
  std::string source, model, gpu, precision;  // as the table writes them
  std::string sizes;                          // of the layout: "tp8 pp4 mb2", those above 1
  std::optional<std::int64_t> gpus, global_batch;

  std::optional<double> seconds;          // measured, of one iteration
  std::optional<double> allocated_bytes;  // peak of the framework's allocator: without contexts
  bool allocated_by_last_stage = false;   // it is of a GPU of the last pipeline stage; else of the fullest
  std::string chose;                      // the constants that this very run chose; empty: none
  // What became of it; neither: the row does not say, and its seconds do.
  bool out_of_memory = false;  // it did not fit: nothing else was measured
  bool ran = false;            // it fitted, with or without seconds
};

// Error(input) at the cell of a measurement that is no positive number.
MeasuredRun measured_run(const RunReading& reading);

}  // namespace mirfak
