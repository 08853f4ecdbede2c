#include "measure/measured_table.hpp"

#include "base/csv.hpp"
#include "base/error.hpp"
#include "base/staged_file.hpp"
#include "trace/hdf5_file.hpp"

#include <fmt/format.h>

#include <fstream>
#include <system_error>

namespace mirfak::measure {

namespace {

namespace fs = std::filesystem;

std::string machine_csv(const MeasuredTables& measured) {
  std::string out = fmt::format("key,value\nbackend,{}\nprocesses,{}\n", measured.backend, measured.processes);
  for (const auto& [key, value] : measured.machine.entries()) out += fmt::format("{},{}\n", key, csv_field(value));
  return out;
}

void write_hdf5(const fs::path& path, const MeasuredTables& measured) {
  StagedFile staged(path);
  Hdf5File file = Hdf5File::create(staged.path());
  file.write_attribute("/", "filetype", std::string_view("mirfak measurements"));
  file.write_attribute("/", "schema_version", std::int64_t{1});
  write_origin(file);
  file.write_attribute("/", "backend", std::string_view(measured.backend));
  file.write_attribute("/", "processes", std::int64_t{measured.processes});
  for (const auto& [key, value] : measured.machine.entries()) {
    file.write_attribute("/", key.c_str(), std::string_view(value));
  }
  for (const auto& [name, table] : measured.tables) {
    file.add_group("/" + name);
    for (const auto& [column, values] : table.columns()) {
      const std::string dataset = "/" + name + "/" + column;
      if (const auto* texts = std::get_if<std::vector<std::string>>(&values)) {
        file.write(dataset, *texts);
        continue;
      }
      Hdf5Column<double> numbers(file, dataset);
      for (const double value : std::get<std::vector<double>>(values)) numbers.append(value);
      numbers.finish();
    }
  }
  file.write_out();
  staged.commit();
}

}  // namespace

void MeasuredTable::add_row(const std::vector<std::variant<std::string, double>>& row) {
  if (row.size() != columns_.size()) fail_internal("a row of a table has not as many fields as the table has columns");
  for (std::size_t i = 0; i < row.size(); ++i) {
    std::visit(
        [&](auto& values) {
          using Value = typename std::remove_reference_t<decltype(values)>::value_type;
          values.push_back(std::get<Value>(row[i]));
        },
        columns_[i].second);
  }
  ++rows_;
}

std::string MeasuredTable::csv() const {
  std::string out;
  for (std::size_t i = 0; i < columns_.size(); ++i) out += (i == 0 ? "" : ",") + columns_[i].first;
  out += '\n';
  for (std::size_t row = 0; row < rows_; ++row) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) out += ',';
      if (const auto* texts = std::get_if<std::vector<std::string>>(&columns_[i].second)) {
        out += csv_field((*texts)[row]);
      } else {
        out += fmt::format("{:.7g}", std::get<std::vector<double>>(columns_[i].second)[row]);
      }
    }
    out += '\n';
  }
  return out;
}

void write_tables(const fs::path& folder, const std::string& name, const MeasuredTables& measured) {
  check_folder(folder);
  for (const auto& [table, values] : measured.tables) write_text_file(folder / (table + ".csv"), values.csv());
  write_text_file(folder / "machine.csv", machine_csv(measured));
  write_hdf5(folder / (name + ".h5"), measured);
}

void check_folder(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  const StagedFile probe(folder / "machine.csv");
  const std::ofstream out(probe.path());
  if (failed || !out) {
    fail_input({folder.string(), 0, 0}, "cannot be written to", "choose a folder that you may write to");
  }
}

}  // namespace mirfak::measure
