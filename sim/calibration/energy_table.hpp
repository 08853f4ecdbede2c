#pragma once

#include "calibration/table_kind.hpp"

namespace mirfak {

// Tables of what a GPU draws, as `mirfak-measure energy` writes them.
inline constexpr std::string_view kEnergyColumns = "kernel,clock_hz,clock_set,power_w";

bool is_energy_table(const CsvTable& table);

// The power of one kind of kernel, running without a pause.
struct MeasuredPower {
  std::string kernel;  // "idle": none; "waiting": kernels that only wait for others; else "gemm", "softmax", ...
  double clock_hz = 0;
  bool clock_set = false;  // to that; else the card chose
  double power_w = 0;
};

// The rows that `target` selects. Error(input) at the field of a fault.
std::vector<MeasuredPower> read_energy_table(const CsvTable& table, const CalibrationTarget& target);

// Of a GPU: the figures idle_w (rows "idle") and blocked_w (rows "waiting"), the middle of those at clocks that the
// card chose; and the section clock_power (ClockPower) where working kernels ran at three clocks or more that were set.
// What the tables lack keeps the profile's figures. Error(input) if that is everything.
std::vector<FittedSection> fit_energy_tables(std::span<const CsvTable> tables, const CalibrationTarget& target);

}  // namespace mirfak
