// Texts repeat: most lines of two resolved scenarios of a sweep are equal, and so are many reasons. Each text stands
// once in a table, and rows hold its code: about 40 codes per row, which deflate to a few bytes.

#include "sweep/sweep_hdf5.hpp"

#include "base/error.hpp"
#include "base/staged_file.hpp"
#include "trace/hdf5_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace mirfak {

namespace {

constexpr std::int64_t kSchemaVersion = 1;
constexpr std::string_view kFileType = "mirfak sweep";

std::vector<std::uint32_t> codes_of_lines(std::string_view text, NameTable& lines) {
  std::vector<std::uint32_t> codes;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    codes.push_back(lines.code(text.substr(0, end)));
    text.remove_prefix(end);
  }
  return codes;
}

// Splits a resolved scenario into sections, which begin with the lines of these keys.
ResolvedSections sections_of(std::string_view text) {
  const std::size_t training = std::min(text.rfind("\ntraining:\n") + 1, text.size());
  const std::size_t strategy = std::min(text.rfind("\nstrategy:\n") + 1, text.size());
  return {text.substr(0, training), text.substr(training, strategy - training), text.substr(strategy)};
}

class SweepWriter {
 public:
  SweepWriter(Hdf5File& file, const SweepTable& table) : file_(file), table_(table), order_(table.rows()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(),
              [&](std::size_t a, std::size_t b) { return table.point(a) < table.point(b); });
  }

  void write() {
    for (const char* group : {"/names", "/axes", "/points", "/scenario"}) file_.add_group(group);
    write_heading();
    for (const AxisTable& axis : table_.axes) write_axis(axis);
    write_points();
    write_figures();
    write_scenarios();
  }

 private:
  template <typename T, typename ValueOf>
  void column(const std::string& name, const ValueOf& value_of) {
    Hdf5Column<T> out(file_, name);
    for (const std::size_t row : order_) out.append(value_of(row));
    out.finish();
  }

  void write_heading() {
    const SweepHeading& heading = table_.heading;
    file_.write_attribute("/", "filetype", kFileType);
    file_.write_attribute("/", "schema_version", kSchemaVersion);
    file_.write_attribute("/", "program_version", std::string_view(heading.program));
    file_.write_attribute("/", "data_hash", std::string_view(heading.data));
    file_.write_attribute("/", "points", static_cast<std::int64_t>(heading.points));
    file_.write_attribute("/", "shard", std::int64_t{heading.shard});
    file_.write_attribute("/", "shards", std::int64_t{heading.shards});
    file_.write("/sweep", heading.definition);
  }

  void write_axis(const AxisTable& axis) {
    const std::string name = "/axes/" + axis.key;
    const auto index = [&](std::size_t row) { return axis.index_at(table_.point(row)); };
    switch (axis.type) {
      case AxisType::integer:
        return column<std::int64_t>(name, [&](std::size_t row) { return axis.integers[index(row)]; });
      case AxisType::number:
        return column<double>(name, [&](std::size_t row) { return axis.numbers[index(row)]; });
      case AxisType::boolean:
        return column<Hdf5Bool>(name,
                                [&](std::size_t row) { return static_cast<Hdf5Bool>(axis.booleans[index(row)]); });
      case AxisType::text:
        file_.write("/names/" + axis.key, axis.texts);
        return column<std::uint32_t>(name, [&](std::size_t row) { return static_cast<std::uint32_t>(index(row)); });
    }
  }

  void write_points() {
    std::vector<std::string> statuses;
    for (std::size_t i = 0; i < kPointStatuses; ++i) statuses.emplace_back(name_of(static_cast<PointStatus>(i)));
    file_.write("/names/status", statuses);
    column<std::uint32_t>("/points/point", [&](std::size_t row) { return table_.point(row); });
    column<std::uint8_t>("/points/status",
                         [&](std::size_t row) { return static_cast<std::uint8_t>(table_.status(row)); });
    NameTable reasons;
    reasons.code("");
    column<std::uint32_t>("/points/reason", [&](std::size_t row) { return reasons.code(table_.reason(row)); });
    file_.write("/names/reason", reasons.names());
  }

  void write_figures() {
    const std::vector<std::string>& keys = point_figure_keys();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      column<double>("/points/" + keys[i], [&](std::size_t row) { return table_.figures(row)[i]; });
    }
  }

  void write_scenarios() {
    NameTable lines;
    Hdf5Column<std::uint32_t> codes(file_, "/scenario/line");
    Hdf5Column<std::int64_t> begin(file_, "/scenario/begin");
    std::int64_t written = 0;
    begin.append(0);
    std::vector<std::vector<std::uint32_t>> sections(table_.texts().size());  // codes of the lines of each section
    for (const std::size_t row : order_) {
      for (const std::uint32_t section : table_.resolved(row)) {
        const std::string_view text = table_.texts()[section];
        if (sections[section].empty()) sections[section] = codes_of_lines(text, lines);
        for (const std::uint32_t line : sections[section]) codes.append(line);
        written += static_cast<std::int64_t>(sections[section].size());
      }
      begin.append(written);
    }
    codes.finish();
    begin.finish();
    file_.write("/names/line", lines.names());
  }

  Hdf5File& file_;
  const SweepTable& table_;
  std::vector<std::size_t> order_;
};

SweepHeading heading_of(const Hdf5File& file) {
  SweepHeading heading;
  heading.definition = file.read_text("/sweep");
  heading.data = file.read_text("/", "data_hash");
  heading.program = file.read_text("/", "program_version");
  const auto count = [&](const char* name, double most) {
    const double value = file.read_number("/", name);
    if (!(value >= 0 && value <= most)) fail_internal(fmt::format("its number of {} is {}", name, value));
    return value;
  };
  heading.points = static_cast<std::uint64_t>(count("points", 1e15));
  heading.shard = static_cast<int>(count("shard", 1e9));
  heading.shards = static_cast<int>(count("shards", 1e9));
  return heading;
}

void read_rows(const Hdf5File& file, SweepTable& table) {
  const std::vector<std::string> reasons = file.read_texts("/names/reason");
  const std::vector<std::string> lines = file.read_texts("/names/line");
  const auto points = file.read_column<std::uint32_t>("/points/point");
  const auto statuses = file.read_column<std::uint8_t>("/points/status");
  const auto reason = file.read_column<std::uint32_t>("/points/reason");
  const auto codes = file.read_column<std::uint32_t>("/scenario/line");
  const auto begin = file.read_column<std::int64_t>("/scenario/begin");
  std::vector<std::vector<double>> columns;
  for (const std::string& key : point_figure_keys()) columns.push_back(file.read_column<double>("/points/" + key));
  const auto fits = [&](std::size_t length) { return length == points.size(); };
  bool complete = fits(statuses.size()) && fits(reason.size()) && begin.size() == points.size() + 1;
  for (const std::vector<double>& column : columns) complete = complete && fits(column.size());
  for (const std::uint32_t code : reason) complete = complete && code < reasons.size();
  for (const std::uint32_t code : codes) complete = complete && code < lines.size();
  complete = complete && std::is_sorted(begin.begin(), begin.end()) && begin.front() >= 0 &&
             begin.back() <= static_cast<std::int64_t>(codes.size());
  if (!complete) fail_internal("its columns do not belong together");
  table.reserve(points.size());
  std::vector<double> figures(columns.size());
  std::string text;
  for (std::size_t row = 0; row < points.size(); ++row) {
    for (std::size_t i = 0; i < columns.size(); ++i) figures[i] = columns[i].at(row);
    text.clear();
    for (auto i = static_cast<std::size_t>(begin.at(row)); i < static_cast<std::size_t>(begin.at(row + 1)); ++i) {
      text += lines.at(codes.at(i));
    }
    table.append(points[row], static_cast<PointStatus>(statuses.at(row) % kPointStatuses), reasons.at(reason.at(row)),
                 figures, sections_of(text));
  }
}

}  // namespace

void write_sweep_table(const std::filesystem::path& path, const SweepTable& table) {
  StagedFile staged(path);
  Hdf5File file = Hdf5File::create(staged.path());
  SweepWriter(file, table).write();
  file.write_out();
  staged.commit();
}

SweepTable read_sweep_table(const std::filesystem::path& path) {
  const Location where{path.string()};
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) fail_input(where, "there is no such file");
  try {
    const Hdf5File file = Hdf5File::open(path);
    if (file.read_text("/", "filetype") != kFileType) fail_internal("another kind of file");
    if (file.read_number("/", "schema_version") != kSchemaVersion) fail_internal("another version of the schema");
    SweepTable table;
    table.heading = heading_of(file);
    read_rows(file, table);
    return table;
  } catch (const Error& error) {
    fail_input(where, "this is not a table of mirfak sweep: " + error.message());
  }
}

}  // namespace mirfak
