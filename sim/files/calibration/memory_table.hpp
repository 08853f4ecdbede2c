#pragma once

#include "calibration/table_kind.hpp"
#include "graph/operator_graph.hpp"

namespace mirfak {

// Columns of tables of memory-bound kernels, as `mirfak-measure kernels` writes them.
inline constexpr std::string_view kMemoryColumns = "kernel,bytes,time_us";

bool is_memory_table(const CsvTable& table);

// A kernel that moved `bytes` through memory.
struct MeasuredMemoryKernel {
  OperatorKind kind{};
  double bytes = 0;
  double seconds = 0;
};
struct MemoryTable {
  std::vector<MeasuredMemoryKernel> kernels;
  std::vector<double> launches_s;  // rows of the kernel "launch": the period of kernels that do nothing
};

// Returns the rows that `target` selects; `launch_host` and `launch_graph` are left out. Error(input) at the field of a
// fault, such as the name of an unknown kernel.
MemoryTable read_memory_table(const CsvTable& table, const CalibrationTarget& target);

// Fits the figures memory_bandwidth_efficiency and kernel_launch_s of a GPU, and the section memory_kernels
// (KernelModel). Kinds of kernels that the tables lack keep the profile's figures; a cached_speedup of 1 is kept as
// well.
std::vector<FittedSection> fit_memory_tables(std::span<const CsvTable> tables, const CalibrationTarget& target);

}  // namespace mirfak
