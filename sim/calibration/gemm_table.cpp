#include "calibration/gemm_table.hpp"

#include "calibration/parameter_fit.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace mirfak {

namespace {

constexpr double kTrainingRows = 1024;  // products of training have at least as many rows (tokens)

// A column of times, and what one of it is: the seconds of a unit, or a rate.
struct TimeColumn {
  std::string_view name;
  double seconds;  // of a unit; 0: TFLOP/s
};
constexpr std::array<TimeColumn, 4> kTimeColumns = {
    {{"latency_us", 1e-6}, {"time_ms", 1e-3}, {"Latency", 1e-3}, {"tflops", 0}}};

std::optional<std::size_t> size_column(const CsvTable& table, std::string_view lower, std::string_view upper) {
  const std::optional<std::size_t> found = table.find(lower);
  return found ? found : table.find(upper);
}

const TimeColumn* time_column(const CsvTable& table) {
  for (const TimeColumn& column : kTimeColumns) {
    if (table.find(column.name)) return &column;
  }
  return nullptr;
}

double flop(const GemmShape& shape) { return 2 * shape.batch * shape.m * shape.n * shape.k; }

FitScore score_of(std::string name, const ParameterFit& fit, const std::vector<MeasuredGemm>& samples, double rows) {
  const auto part = [&](const std::vector<PredictedPair>& pairs, const std::vector<std::size_t>& indices) {
    std::vector<PredictedPair> chosen;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (samples[indices[i]].shape.m >= rows) chosen.push_back(pairs[i]);
    }
    return error_statistics(chosen);
  };
  return {std::move(name), part(fit.fitted, fit.fitted_samples), part(fit.held_out, fit.held_out_samples)};
}

}  // namespace

bool is_gemm_table(const CsvTable& table) {
  return size_column(table, "m", "M") && size_column(table, "n", "N") && size_column(table, "k", "K") &&
         time_column(table) != nullptr;
}

std::vector<MeasuredGemm> read_gemm_table(const CsvTable& table, const CalibrationTarget& target) {
  const std::size_t m = *size_column(table, "m", "M");
  const std::size_t n = *size_column(table, "n", "N");
  const std::size_t k = *size_column(table, "k", "K");
  const std::optional<std::size_t> batch = size_column(table, "b", "B");
  const TimeColumn& unit = *time_column(table);
  const std::size_t time = table.require(unit.name);
  std::vector<MeasuredGemm> out;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (!target.selects(table, row)) continue;
    const auto size = [&](std::size_t column) { return static_cast<double>(table.integer(row, column, 1, 1 << 30)); };
    MeasuredGemm gemm{{batch ? size(*batch) : 1, size(m), size(n), size(k)}, table.number(row, time, 1e-6, 1e9)};
    gemm.seconds = unit.seconds > 0 ? gemm.seconds * unit.seconds : flop(gemm.shape) / (gemm.seconds * 1e12);
    out.push_back(gemm);
  }
  return out;
}

std::vector<FittedSection> fit_gemm_tables(std::span<const CsvTable> tables, const CalibrationTarget& target) {
  const GpuSpec gpu = target.gpu_spec();
  const Precision precision = target.precision.value_or(Precision::bf16);
  std::vector<MeasuredGemm> samples;
  for (const CsvTable& table : tables) {
    for (const MeasuredGemm& sample : read_gemm_table(table, target)) samples.push_back(sample);
  }
  FitProblem problem;
  for (const MeasuredGemm& sample : samples) {
    problem.measured.push_back(sample.seconds);
    problem.keys.push_back(
        fmt::format("b={} m={} n={} k={}", sample.shape.batch, sample.shape.m, sample.shape.n, sample.shape.k));
  }
  problem.unknowns = {{"overhead_s", 4e-6, 0, 20e-6},
                      {"compute_efficiency", 0.7, 0.01, 1},
                      {"memory_efficiency", 0.8, 0.1, 1.5},
                      {"exponent", 2, 1, 10}};
  const double peak = gpu.peak_flops.at(precision).value;
  const double width = bytes_per_element(precision);
  problem.predict = [&](std::span<const double> values, std::span<const std::size_t> indices,
                        std::span<double> predicted) {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const GemmShape& s = samples[indices[i]].shape;
      const double compute = flop(s) / (peak * values[1]);
      const double memory =
          s.batch * width * (s.m * s.k + s.k * s.n + s.m * s.n) / (gpu.memory_bandwidth.value * values[2]);
      predicted[i] = values[0] + std::pow(std::pow(compute, values[3]) + std::pow(memory, values[3]), 1 / values[3]);
    }
  };
  const ParameterFit fit = fit_parameters(problem);

  FittedSection section;
  section.path = {"gemm", name_of(precision)};
  section.source_key = "gemm_" + name_of(precision);
  section.source = fmt::format("fit of {} of {} measured products", fit.fitted.size(), samples.size());
  for (std::size_t i = 0; i < fit.values.size(); ++i) {
    section.constants.push_back({problem.unknowns[i].name, fit.values[i]});
  }
  section.scores.push_back(score_of("all", fit, samples, 0));
  section.scores.push_back(score_of(fmt::format("m >= {:g}", kTrainingRows), fit, samples, kTrainingRows));
  return {section};
}

}  // namespace mirfak
