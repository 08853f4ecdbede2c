#include "sweep/sweep_page.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

Json axis_json(const AxisTable& axis, std::size_t index) {
  switch (axis.type) {
    case AxisType::integer:
      return axis.integers[index];
    case AxisType::number:
      return axis.numbers[index];
    case AxisType::boolean:
      return axis.booleans[index] != 0;
    case AxisType::text:
      break;
  }
  return axis.texts[index];
}

Json columns_json(const SweepTable& table) {
  Json out = Json::array();
  for (const AxisTable& axis : table.axes) out.push_back({{"key", axis.key}, {"axis", true}});
  out.push_back({{"key", "status"}});
  for (const std::string& key : point_figure_keys()) out.push_back({{"key", key}});
  out.push_back({{"key", "reason"}});
  return out;
}

Json row_json_of(const SweepTable& table, std::size_t row) {
  Json out = Json::array();
  for (const AxisTable& axis : table.axes) out.push_back(axis_json(axis, axis.index_at(table.point(row))));
  out.push_back(name_of(table.status(row)));
  const std::span<const double> figures = table.figures(row);
  for (std::size_t i = 0; i < point_figure_keys().size(); ++i) {
    const bool known = i < figures.size() && std::isfinite(figures[i]);
    out.push_back(known ? Json(figures[i]) : Json());
  }
  const std::string_view reason = table.reason(row);
  out.push_back(reason.empty() ? Json() : Json(reason));
  return out;
}

}  // namespace

nlohmann::ordered_json sweep_page_data(const SweepTable& table, const nlohmann::ordered_json& result) {
  std::vector<std::size_t> rows(table.rows());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) { return table.point(a) < table.point(b); });
  const std::size_t every = std::max<std::size_t>(1, (rows.size() + kMostPagePoints - 1) / kMostPagePoints);
  Json out = {{"kind", "sweep"}, {"title", "Points of a sweep"}, {"result", result}, {"columns", columns_json(table)}};
  Json& shown = out["rows"] = Json::array();
  for (std::size_t i = 0; i < rows.size(); i += every) shown.push_back(row_json_of(table, rows[i]));
  if (every > 1) {
    out["left_out"] = fmt::format("{} of {} points are shown, every {}th; the table (HDF5) has all", shown.size(),
                                  rows.size(), every);
  }
  return out;
}

}  // namespace mirfak
