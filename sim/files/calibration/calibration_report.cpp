#include "calibration/calibration_report.hpp"

#include "base/json_parts.hpp"
#include "base/section.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

void add_part(Table& table, const std::string& name, const std::string& part, const ErrorStatistics& errors) {
  if (errors.count == 0) return;
  table.add(
      {name, part, errors.count, in_percent(errors.median_ape), in_percent(errors.mape), in_percent(errors.p90_ape)});
}

std::string unread_text(const std::vector<UnreadColumn>& columns) {
  std::string out;
  for (const UnreadColumn& column : columns) {
    out += fmt::format("{}: the column '{}' is not read{}\n", column.where.text(), excerpt(column.name),
                       column.nearest.empty() ? "" : fmt::format("; it is like '{}'", column.nearest));
  }
  return out.empty() ? out : "\n" + out;
}

}  // namespace

std::string calibration_text(const CalibratedTables& tables) {
  std::string out;
  for (const FittedSection& section : tables.sections) {
    Table constants("|>");
    for (const FittedConstant& constant : section.constants) {
      constants.add({constant.name, fmt::format("{:.4g}", constant.value)});
    }
    Table errors("samples | part | >count | >median | >mean | >p90");
    for (const FitScore& score : section.scores) {
      add_part(errors, score.name, "fitted", score.fitted);
      add_part(errors, score.name, "held out", score.held_out);
    }
    out += fmt::format("{}{}\n  {}\n\n{}\n{}", out.empty() ? "" : "\n", section.name(), section.source,
                       constants.text(), errors.text());
    if (is_doubtful(section)) {
      out += fmt::format("WARNING: off by {} in the median: these constants do not describe the tables\n",
                         format_percent(section.median_error()));
    }
  }
  return out + unread_text(tables.unread);
}

Json calibration_json(const CalibratedTables& tables) {
  Json out = Json::array();
  for (const FittedSection& section : tables.sections) {
    Json constants = Json::object();
    for (const FittedConstant& constant : section.constants) constants[constant.name] = constant.value;
    Json scores = Json::array();
    for (const FitScore& score : section.scores) {
      scores.push_back({{"name", score.name},
                        {"fitted", statistics_json(score.fitted)},
                        {"held_out", statistics_json(score.held_out)}});
    }
    out.push_back({{"name", section.name()},
                   {"constants", std::move(constants)},
                   {"source", section.source},
                   {"doubtful", is_doubtful(section)},
                   {"scores", std::move(scores)}});
  }
  Json unread = Json::array();
  for (const UnreadColumn& column : tables.unread) {
    unread.push_back({{"place", column.where.text()}, {"name", column.name}});
  }
  return {{"sections", std::move(out)}, {"unread_columns", std::move(unread)}};
}

}  // namespace mirfak
