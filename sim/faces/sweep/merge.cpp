#include "sweep/merge.hpp"

#include "base/error.hpp"
#include "scenario/sweep_file.hpp"
#include "sweep/sweep_hdf5.hpp"

#include <fmt/format.h>

#include <set>
#include <string>

namespace mirfak {

namespace {

namespace fs = std::filesystem;

void check_same_sweep(const SweepHeading& first, const fs::path& first_file, const SweepHeading& other,
                      const fs::path& file) {
  if (first.same_sweep(other)) return;
  const char* what = first.definition != other.definition ? "it is of another sweep"
                     : first.program != other.program     ? "it was made by another version of mirfak"
                                                          : "it was made with other models or hardware profiles";
  fail_input({file.string()}, fmt::format("{} than '{}'", what, first_file.string()),
             "merge the shards of one sweep, all made with the same data and program");
}

// Returns the missing shards if all files are of one division.
std::string missing_shards(const std::set<std::pair<int, int>>& shards) {
  const int count = shards.begin()->second;
  std::string missing;
  for (int shard = 1; shard <= count; ++shard) {
    if (!shards.contains({shard, count})) missing += fmt::format("{}{}/{}", missing.empty() ? "" : ", ", shard, count);
  }
  return missing;
}

}  // namespace

SweepTable merge_sweeps(std::span<const fs::path> shards, const fs::path& out) {
  SweepTable all;
  std::set<std::pair<int, int>> given;
  std::vector<bool> taken;
  for (const fs::path& file : shards) {
    const SweepTable table = read_sweep_table(file);
    if (given.empty()) {
      all.heading = table.heading;
      taken.assign(table.heading.points, false);
      all.reserve(table.heading.points);
    }
    check_same_sweep(all.heading, shards.front(), table.heading, file);
    given.emplace(table.heading.shard, table.heading.shards);
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const std::uint32_t point = table.point(row);
      if (point >= taken.size() || taken[point]) {
        fail_input({file.string()}, fmt::format("point {} is in a file before it already", point),
                   "name each shard once");
      }
      taken[point] = true;
    }
    all.append(table);
  }
  if (all.rows() != all.heading.points) {
    const std::string missing = missing_shards(given);
    fail_input(
        {},
        fmt::format("{} of {} points are in none of the files", all.heading.points - all.rows(), all.heading.points),
        missing.empty() ? "" : fmt::format("name the files of the shards {} too", missing));
  }
  all.heading.shard = all.heading.shards = 1;
  all.axes = axis_tables(parse_sweep(Document::from_text(all.heading.definition, "/sweep")));
  write_sweep_table(out, all);
  return all;
}

}  // namespace mirfak
