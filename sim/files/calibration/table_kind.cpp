#include "calibration/table_kind.hpp"

#include "base/units.hpp"
#include "calibration/attention_table.hpp"
#include "calibration/collective_table.hpp"
#include "calibration/energy_table.hpp"
#include "calibration/gemm_table.hpp"
#include "calibration/memory_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

namespace mirfak {

GpuSpec CalibrationTarget::gpu_spec() const {
  if (gpu.empty()) fail_input({}, "these tables are of a GPU: say which", "add --gpu NAME");
  return catalog.gpu(gpu);
}

LinkSpec CalibrationTarget::link_spec() const {
  if (link.empty()) fail_input({}, "these tables are of a link: say which", "add --link NAME");
  return catalog.link(link);
}

std::string CalibrationTarget::source_of(std::string_view fit, std::span<const CsvTable> tables) const {
  if (!source.empty()) return fmt::format("{}, {}", fit, source);
  std::string names;
  for (const CsvTable& table : tables) names += ", " + std::filesystem::path(table.name()).filename().string();
  return std::string(fit) + names;
}

bool CalibrationTarget::selects(const CsvTable& table, std::size_t row) const {
  return std::all_of(filters.begin(), filters.end(), [&](const RowFilter& filter) {
    return table.text(row, table.require(filter.column)) == filter.value;
  });
}

void CalibrationTarget::check_possible(const CsvTable& table, std::size_t row, std::size_t column, double seconds,
                                       double least_s, std::string_view what) const {
  constexpr double kRounding = 0.01;  // rounding of a time with two digits
  if (own_peaks || seconds >= least_s * (1 - kRounding)) return;
  table.fail(row, column,
             fmt::format("{} is {:.3g} times as fast as {} allows", format_seconds(seconds), least_s / seconds, what),
             "check --gpu or --link, --precision, and the units of the columns");
}

double highest_flops(const GpuSpec& gpu, Precision precision) {
  return gpu.peak_flops.at(precision).value * std::max(1.0, gpu.clock_max_hz.value / gpu.clock_peak_hz.value);
}

std::string FittedSection::name() const { return path.empty() ? source_key : fmt::format("{}", fmt::join(path, ".")); }

double FittedSection::median_error() const {
  return std::max(scores.back().fitted.median_ape, scores.back().held_out.median_ape);
}

bool is_doubtful(const FittedSection& section) {
  constexpr double kMaxMedianError = 0.5;
  return section.median_error() > kMaxMedianError;
}

FitScore score_where(std::string name, const ParameterFit& fit, const std::function<bool(std::size_t)>& counts) {
  const auto part = [&](const std::vector<PredictedPair>& pairs, const std::vector<std::size_t>& samples) {
    std::vector<PredictedPair> chosen;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (counts(samples[i])) chosen.push_back(pairs[i]);
    }
    return error_statistics(chosen);
  };
  return {std::move(name), part(fit.fitted, fit.fitted_samples), part(fit.held_out, fit.held_out_samples)};
}

const std::vector<TableKind>& table_kinds() {
  static const std::vector<TableKind> kinds = {
      {"gemm", kGemmColumns, "b,B", ProfileKind::gpu, is_gemm_table, fit_gemm_tables},
      {"attention", kAttentionColumns, "value_dim,window,causal,pass", ProfileKind::gpu, is_attention_table,
       fit_attention_tables},
      {"energy", kEnergyColumns, kEnergyOptional, ProfileKind::gpu, is_energy_table, fit_energy_tables},
      {"memory", kMemoryColumns, "", ProfileKind::gpu, is_memory_table, fit_memory_tables},
      {"collective", kCollectiveColumns, "nccl_version", ProfileKind::link, is_collective_table, fit_collective_tables},
  };
  return kinds;
}

bool has_columns(const CsvTable& table, std::initializer_list<std::string_view> columns) {
  return std::all_of(columns.begin(), columns.end(),
                     [&](std::string_view name) { return table.find(name).has_value(); });
}

}  // namespace mirfak
