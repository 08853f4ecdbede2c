#pragma once

#include "calibration/table_kind.hpp"

namespace mirfak {

// Tables of what a GPU draws, as `mirfak-measure energy` writes them.
inline constexpr std::string_view kEnergyColumns = "kernel,clock_hz,clock_set,power_w";
inline constexpr std::string_view kEnergyOptional = "precision,flop,time_us,short_time_us";

bool is_energy_table(const CsvTable& table);

// The power of one kind of kernel, running without a pause.
struct MeasuredPower {
  std::string kernel;  // "idle": none; "waiting": kernels that only wait for others; else "gemm", "softmax", ...
  double clock_hz = 0;
  bool clock_set = false;  // to that; else the card chose
  double power_w = 0;
  Precision precision = Precision::bf16;
  double flop = 0;          // of one kernel; 0: no product, or the table does not say
  double time_s = 0;        // of one, running without a pause
  double short_time_s = 0;  // of one, a few in a row; 0: the table does not say
};

// The rows that `target` selects. Error(input) at the field of a fault.
std::vector<MeasuredPower> read_energy_table(const CsvTable& table, const CalibrationTarget& target);

// Of a GPU, from rows at clocks that the card chose: the figures idle_w (rows "idle") and blocked_w (rows "waiting"),
// the middle of them; sustained_share, the highest clock that kernels held that draw less than the limit; and the
// section long_run_power where products (rows with `flop`) took longer without a pause than `short_time_us` says: from
// the short time and the profile's fit follows how busy they are at the full clock, from the long one to which clock
// the limit lets them fall, and so which power threshold holds. All precisions that the profile names get it. Of rows
// at three clocks or more that were set, the section clock_power (ClockPower). What the tables lack keeps the profile's
// figures. Error(input) if that is everything.
std::vector<FittedSection> fit_energy_tables(std::span<const CsvTable> tables, const CalibrationTarget& target);

}  // namespace mirfak
