#include "calibration/gemm_table.hpp"

#include <fmt/format.h>

#include <array>

namespace mirfak {

namespace {

struct SizeColumns {
  std::string_view m;
  std::string_view n;
  std::string_view k;
  std::string_view batch;
};
constexpr SizeColumns kPlain = {"m", "n", "k", "b"};
constexpr SizeColumns kNeuSight = {"M", "K", "N", "B"};  // a linear layer [M, N] x [N, K]

// A column of times or rates.
struct TimeColumn {
  std::string_view name;
  double seconds;  // seconds of one unit of the column; 0: the column is a rate in TFLOP/s
};
constexpr std::array<TimeColumn, 4> kTimeColumns = {
    {{"latency_us", 1e-6}, {"time_ms", 1e-3}, {"Latency", 1e-3}, {"tflops", 0}}};

const SizeColumns* size_columns(const CsvTable& table) {
  for (const SizeColumns* columns : {&kPlain, &kNeuSight}) {
    if (has_columns(table, {columns->m, columns->n, columns->k})) return columns;
  }
  return nullptr;
}

const TimeColumn* time_column(const CsvTable& table) {
  for (const TimeColumn& column : kTimeColumns) {
    if (table.find(column.name)) return &column;
  }
  return nullptr;
}

}  // namespace

bool is_gemm_table(const CsvTable& table) { return size_columns(table) != nullptr && time_column(table) != nullptr; }

std::vector<MeasuredGemm> read_gemm_table(const CsvTable& table, const CalibrationTarget& target) {
  const SizeColumns& sizes = *size_columns(table);
  const std::size_t m = table.require(sizes.m);
  const std::size_t n = table.require(sizes.n);
  const std::size_t k = table.require(sizes.k);
  std::optional<std::size_t> batch = table.find(sizes.batch);
  if (!batch) batch = table.find(&sizes == &kPlain ? kNeuSight.batch : kPlain.batch);
  const TimeColumn& unit = *time_column(table);
  const std::size_t time = table.require(unit.name);
  const GpuSpec gpu = target.gpu_spec();
  const Precision precision = target.precision.value_or(Precision::bf16);
  const double peak = highest_flops(gpu, precision);
  const std::string limit = fmt::format("{}'s peak of {:.4g} TFLOP/s in {}", gpu.name, peak / 1e12, name_of(precision));
  std::vector<MeasuredGemm> out;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (!target.selects(table, row)) continue;
    const auto size = [&](std::size_t column) { return static_cast<double>(table.integer(row, column, 1, 1 << 30)); };
    MeasuredGemm gemm{{batch ? size(*batch) : 1, size(m), size(n), size(k)}, table.number(row, time, 1e-6, 1e9)};
    gemm.seconds = unit.seconds > 0 ? gemm.seconds * unit.seconds : gemm.shape.flop() / (gemm.seconds * 1e12);
    target.check_possible(table, row, time, gemm.seconds, gemm.shape.flop() / peak, limit);
    out.push_back(gemm);
  }
  return out;
}

}  // namespace mirfak
