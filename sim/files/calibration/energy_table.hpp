#pragma once

#include "calibration/table_kind.hpp"

namespace mirfak {

// Columns of tables of a GPU's power draw, as `mirfak-measure energy` writes them.
inline constexpr std::string_view kEnergyColumns = "kernel,clock_hz,clock_set,power_w";
inline constexpr std::string_view kEnergyOptional = "precision,flop,time_us,short_time_us";

bool is_energy_table(const CsvTable& table);

// The power of one kind of kernel, running without a pause.
struct MeasuredPower {
  std::string kernel;  // "idle": none; "waiting": kernels that only wait for others; else "gemm", "softmax", ...
  double clock_hz = 0;
  bool clock_set = false;  // true: the clock was set; false: the card chose it
  double power_w = 0;
  Precision precision = Precision::bf16;
  double flop = 0;          // operations of one kernel; 0: no product, or not in the table
  double time_s = 0;        // time of one kernel, running without a pause
  double short_time_s = 0;  // time of one kernel, a few in a row; 0: not in the table
};

// Returns the rows that `target` selects. Error(input) at the field of a fault.
std::vector<MeasuredPower> read_energy_table(const CsvTable& table, const CalibrationTarget& target);

// Fits sections of a GPU. Rows at clocks that the card chose give the figures idle_w (rows "idle") and blocked_w (rows
// "waiting"), the middle of the rows; sustained_share, the highest clock of kernels that draw less than the limit; and
// the section long_run_power, if products (rows with `flop`) took longer without a pause than `short_time_us`: the
// short time and the profile's fit give the utilisation at the full clock, and the long time gives the clock that the
// limit allows, and thus the power threshold. All precisions that the profile names get this threshold. Rows at three
// or more clocks that were set give the section clock_power (ClockPower). Figures that the tables do not determine keep
// the profile's values. Error(input) if the tables determine no figure.
std::vector<FittedSection> fit_energy_tables(std::span<const CsvTable> tables, const CalibrationTarget& target);

}  // namespace mirfak
