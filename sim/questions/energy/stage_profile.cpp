#include "energy/stage_profile.hpp"

#include "base/csv.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace mirfak {

namespace {

constexpr int kMaxStages = 4096;
constexpr double kLongestPass = 3600;  // seconds
constexpr double kMaxEnergy = 1e9;     // joules
constexpr double kMaxMegahertz = 1e5;
constexpr double kShortestPass = 1e-9;  // seconds: a thousand picoseconds

Pass::Kind kind_at(const CsvTable& table, std::size_t row, std::size_t column) {
  static const std::vector<std::string> names = {"forward", "backward", "backward_input", "backward_weight"};
  const std::string& text = table.text(row, column);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (text == names[i]) return static_cast<Pass::Kind>(i);
  }
  table.fail(row, column, fmt::format("expected {}, found '{}'", join_or(names), excerpt(text)),
             did_you_mean(text, names, ""));
}

void check_complete(const StageProfile& profile) {
  if (profile.stages.empty()) fail_input({profile.name, 1, 1}, "the profile has no rows");
  for (std::size_t stage = 0; stage < profile.stages.size(); ++stage) {
    for (const Pass::Kind kind : {Pass::Kind::forward, Pass::Kind::backward}) {
      if (!profile.stages[stage][static_cast<std::size_t>(kind)].empty()) continue;
      fail_input({profile.name, 1, 1},
                 fmt::format("the profile has no row for the {} pass of stage {}",
                             kind == Pass::Kind::forward ? "forward" : "backward", stage),
                 fmt::format("stages are numbered from 0; the last one named is {}", profile.stages.size() - 1));
    }
  }
}

StageProfile read(const CsvTable& table) {
  const std::size_t stage_column = table.require("stage");
  const std::size_t kind_column = table.require("instruction");
  const std::size_t clock_column = table.require("frequency");
  const std::size_t time_column = table.require("time");
  const std::size_t energy_column = table.require("energy");
  StageProfile profile;
  profile.name = table.name();
  std::map<std::tuple<std::int64_t, Pass::Kind, double>, std::size_t> row_of;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::int64_t stage = table.integer(row, stage_column, 0, kMaxStages - 1);
    const Pass::Kind kind = kind_at(table, row, kind_column);
    const double megahertz = table.number(row, clock_column, 1, kMaxMegahertz);
    const auto [first, is_new] = row_of.try_emplace({stage, kind, megahertz}, row);
    if (!is_new) {
      table.fail(row, clock_column,
                 fmt::format("a second row for {} of stage {} at {} MHz", table.text(row, kind_column), stage,
                             table.text(row, clock_column)),
                 fmt::format("the first is in line {}", table.where(first->second, clock_column).line));
    }
    const double seconds = table.number(row, time_column, kShortestPass, kLongestPass);
    const double energy_j = table.number(row, energy_column, 0, kMaxEnergy);
    const auto needed = static_cast<std::size_t>(stage) + 1;
    if (profile.stages.size() < needed) profile.stages.resize(needed);
    profile.stages[needed - 1][static_cast<std::size_t>(kind)].push_back(
        {megahertz * kMegahertz, to_picoseconds(seconds), energy_j});
  }
  check_complete(profile);
  return profile;
}

}  // namespace

StageProfile read_stage_profile(const std::filesystem::path& path) { return read(CsvTable::from_file(path)); }

StageProfile read_stage_profile_text(std::string_view text, std::string name) {
  return read(CsvTable::from_text(text, std::move(name)));
}

}  // namespace mirfak
