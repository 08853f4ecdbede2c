#include "calibration/calibrated_tables.hpp"

#include "base/error.hpp"
#include "base/staged_file.hpp"
#include "base/text.hpp"
#include "calibration/calibration.hpp"
#include "calibration/collective_table.hpp"
#include "calibration/machine_profile.hpp"
#include "calibration/profile_text.hpp"
#include "calibration/profile_update.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <system_error>
#include <utility>

namespace mirfak {

namespace {

std::vector<CsvTable> tables_of(std::span<const std::filesystem::path> files) {
  if (files.empty()) fail_input({}, "no tables", "give the CSV files of measured kernels or collectives");
  std::vector<CsvTable> out;
  for (const std::filesystem::path& file : files) out.push_back(CsvTable::from_file(file));
  return out;
}

void check_machine(const MachineToCalibrate& machine) {
  if (machine.name.empty() || machine.folder.empty()) {
    fail_input({}, "--machine needs --name and --out", "name the node type, and the folder for its profiles");
  }
  if (machine.name.find('/') != std::string::npos) {
    fail_input({}, fmt::format("--name {}: expected a name, not a path", excerpt(machine.name)));
  }
}

void make_folder(const MachineToCalibrate& machine) {
  std::error_code failed;
  std::filesystem::create_directories(machine.folder, failed);
  if (failed) fail_to_write(profiles_of(machine).front(), failed.value());
  for (const std::filesystem::path& path : profiles_of(machine)) check_writable(path);
}

// Fits start from profiles made from the tables alone, which lie next to the final profiles while the fit runs.
std::vector<FittedSection> fitted_machine(const MachineToCalibrate& machine, std::vector<CsvTable> tables,
                                          const CalibrationTarget& of) {
  const MachineProfiles profiles = machine_profiles(CsvTable::from_file(machine.description), tables, machine.name);
  make_folder(machine);
  const auto paths = profiles_of({machine.description, machine.name, std::filesystem::absolute(machine.folder)});
  std::deque<StagedFile> files;
  for (const std::filesystem::path& path : paths) files.emplace_back(path);
  const StagedFile& core = files[0];
  const StagedFile& link = files[1];
  const StagedFile& node = files[2];
  core.write(profiles.core);
  link.write(profiles.link);
  CalibrationTarget target{of.catalog,      core.path().string(), link.path().string(),
                           Precision::fp32, of.filters,           of.source};
  target.own_peaks = true;

  const auto collectives = std::stable_partition(tables.begin(), tables.end(),
                                                 [](const CsvTable& table) { return !is_collective_table(table); });
  std::vector<FittedSection> of_link = calibrate({collectives, tables.end()}, target);
  tables.erase(collectives, tables.end());
  std::vector<FittedSection> all = calibrate(std::move(tables), target);
  core.write(with_sections(profiles.core, all));
  link.write(with_sections(profiles.link, of_link));
  check_profile(core, ProfileKind::gpu, of.catalog);
  check_profile(link, ProfileKind::link, of.catalog);
  node.write(profiles.node);
  commit_all(files);
  for (FittedSection& section : of_link) all.push_back(std::move(section));
  return all;
}

}  // namespace

std::array<std::filesystem::path, 3> profiles_of(const MachineToCalibrate& machine) {
  return {machine.folder / (machine.name + "-core.yaml"), machine.folder / (machine.name + "-link.yaml"),
          machine.folder / (machine.name + ".yaml")};
}

CalibratedTables calibrate_tables(std::span<const std::filesystem::path> tables, const CalibrationTarget& target,
                                  const std::filesystem::path& out) {
  if (target.score_only && !out.empty()) fail_input({}, "--score writes nothing: give either --score or --out");
  std::vector<CsvTable> read = tables_of(tables);
  std::vector<UnreadColumn> unread = unread_columns(read, target.filters);
  std::vector<FittedSection> sections = calibrate(std::move(read), target);
  if (!out.empty()) update_profile(out, sections, target);
  return {std::move(sections), std::move(unread)};
}

CalibratedTables calibrate_machine(const MachineToCalibrate& machine, std::span<const std::filesystem::path> tables,
                                   const CalibrationTarget& target) {
  check_machine(machine);
  std::vector<CsvTable> read = tables_of(tables);
  std::vector<UnreadColumn> unread = unread_columns(read, target.filters);
  return {fitted_machine(machine, std::move(read), target), std::move(unread)};
}

}  // namespace mirfak
