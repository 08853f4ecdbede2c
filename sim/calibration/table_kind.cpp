#include "calibration/table_kind.hpp"

#include "calibration/attention_table.hpp"
#include "calibration/collective_table.hpp"
#include "calibration/energy_table.hpp"
#include "calibration/gemm_table.hpp"
#include "calibration/memory_table.hpp"

#include <fmt/format.h>

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
      {"gemm", kGemmColumns, is_gemm_table, fit_gemm_tables},
      {"attention", kAttentionColumns, is_attention_table, fit_attention_tables},
      {"energy", kEnergyColumns, is_energy_table, fit_energy_tables},
      {"memory", kMemoryColumns, is_memory_table, fit_memory_tables},
      {"collective", kCollectiveColumns, is_collective_table, fit_collective_tables},
  };
  return kinds;
}

bool has_columns(const CsvTable& table, std::initializer_list<std::string_view> columns) {
  return std::all_of(columns.begin(), columns.end(),
                     [&](std::string_view name) { return table.find(name).has_value(); });
}

}  // namespace mirfak
