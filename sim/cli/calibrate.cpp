#include "base/error.hpp"
#include "base/staged_file.hpp"
#include "base/text.hpp"
#include "calibration/calibration.hpp"
#include "calibration/collective_table.hpp"
#include "calibration/machine_profile.hpp"
#include "calibration/profile_text.hpp"
#include "calibration/profile_update.hpp"
#include "calibration/table_columns.hpp"
#include "cli/calibrate_runs.hpp"
#include "cli/calibrate_trace.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/json_output.hpp"
#include "cli/options.hpp"
#include "model/attention_kernels.hpp"
#include "report/calibration_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

namespace mirfak {

namespace {

namespace po = boost::program_options;

struct CalibrateOptions {
  std::vector<std::string> files;
  std::string gpu;
  std::string link;
  std::string precision;
  std::string attention;
  std::vector<std::string> only;
  std::string out;
  std::string source;
  bool score = false;
  std::string format;
  std::string data;
  std::string machine;
  std::string name;
  std::string trace;
  std::string scenario;
  std::string framework;
  std::string runs;
  std::string map;
};

// The profiles of a core, a link and a node in the folder of --out.
std::array<std::filesystem::path, 3> paths_of_machine(const std::filesystem::path& folder, const std::string& name) {
  return {folder / (name + "-core.yaml"), folder / (name + "-link.yaml"), folder / (name + ".yaml")};
}

CommandSyntax syntax_for(CalibrateOptions& options) {
  CommandSyntax syntax(
      "mirfak calibrate TABLE.csv... | --trace TRACE | --runs RUNS.csv [OPTION]...",
      "Fits the constants of the cost models to tables of measured kernels or collectives; a third of the shapes is "
      "held\n"
      "out and scored. --machine makes a node type of the processor that mirfak-measure timed. --trace tells what a "
      "profiler\n"
      "recorded; with --scenario it corrects a node type, as --runs does by iterations that you measured.");
  syntax.operands = &options.files;
  syntax.instead_of_operands = {&options.trace, &options.runs};
  auto add = syntax.options.add_options();
  add("gpu", po::value(&options.gpu)->value_name("NAME"), "what the kernels ran on");
  add("link", po::value(&options.link)->value_name("NAME"), "what the collectives ran over");
  add("precision", po::value(&options.precision)->value_name("NAME"),
      "precision of the rows, where the table does not say");
  add("attention", po::value(&options.attention)->default_value("trtllm")->value_name("NAME"),
      "kernels that tables of attention timed; cudnn: mirfak-measure's");
  add("only", po::value(&options.only)->value_name("COLUMN=VALUE"), "leave out all other rows; may be repeated");
  syntax.add_file(FileRole::as_added, "out", options.out, "PROFILE.yaml",
                  "profile to put them into; a new one is a copy of --gpu's or --link's");
  syntax.add_file(FileRole::input, "machine", options.machine, "MACHINE.csv",
                  "make profiles of the machine described here");
  add("name", po::value(&options.name)->value_name("NAME"), "what to call these profiles");
  add("trace", po::value(&options.trace)->value_name("TRACE"),
      "of PyTorch's profiler or Nsight Systems; or a folder of ranks");
  syntax.add_file(FileRole::input, "scenario", options.scenario, "SCENARIO.yaml",
                  "what was recorded: correct its node type; --out is the profile");
  syntax.add_file(FileRole::output, "framework", options.framework, "FRAMEWORK.yaml",
                  "framework file for the host's recorded issue times");
  syntax.add_file(FileRole::input, "runs", options.runs, "RUNS.csv",
                  "correct a node type by these measured runs; --out is its profile");
  syntax.add_file(FileRole::input, "map", options.map, "MAP.yaml", "how to read them, as in `mirfak validate`");
  add("source", po::value(&options.source)->value_name("TEXT"), "where the tables are from, for the profile");
  add("score", po::bool_switch(&options.score), "fit nothing: score the constants that the profile has");
  add("format", po::value(&options.format)->default_value("text")->value_name("text|json"), "what to print");
  add("data", data_folder_option(options.data), "holds models/ and hw_profiles/");
  syntax.more_files = [&](std::vector<FileArgument>& files) {
    std::error_code unknown;
    if (!options.trace.empty() && !std::filesystem::is_directory(options.trace, unknown)) {
      files.push_back({FileRole::input, "--trace", options.trace});
    }
    if (options.out.empty()) return;
    if (!options.runs.empty() || !options.trace.empty())
      return files.push_back({FileRole::output, "--out", options.out});
    if (options.machine.empty()) return files.push_back({FileRole::update, "--out", options.out});
    for (const std::filesystem::path& path : paths_of_machine(options.out, options.name)) {
      files.push_back({FileRole::later_output, "--out", path});
    }
  };
  return syntax;
}

RowFilter filter_of(const std::string& text) {
  const std::size_t sign = text.find('=');
  if (sign == std::string::npos || sign == 0) {
    fail_input({}, fmt::format("--only {}: expected COLUMN=VALUE", excerpt(text)));
  }
  return {text.substr(0, sign), text.substr(sign + 1)};
}

std::string unread_text(const std::vector<UnreadColumn>& columns) {
  std::string out;
  for (const UnreadColumn& column : columns) {
    out += fmt::format("{}: the column '{}' is not read{}\n", column.where.text(), excerpt(column.name),
                       column.nearest.empty() ? "" : fmt::format("; it is like '{}'", column.nearest));
  }
  return out.empty() ? out : "\n" + out;
}

std::string printed(const std::vector<FittedSection>& sections, const std::vector<UnreadColumn>& unread,
                    OutputFormat format) {
  if (format == OutputFormat::text) return calibration_text(sections) + unread_text(unread);
  nlohmann::ordered_json out = calibration_json(sections);
  out["unread_columns"] = nlohmann::ordered_json::array();
  for (const UnreadColumn& column : unread) {
    out["unread_columns"].push_back({{"place", column.where.text()}, {"name", column.name}});
  }
  return printed_json(std::move(out));
}

void check_machine_options(const CalibrateOptions& options) {
  if (options.name.empty() || options.out.empty()) {
    fail_input({}, "--machine needs --name and --out", "name the node type, and the folder for its profiles");
  }
  if (!options.gpu.empty() || !options.link.empty() || options.score) {
    fail_input({}, "--machine makes profiles: it takes neither --gpu nor --link nor --score");
  }
  if (options.name.find('/') != std::string::npos) {
    fail_input({}, fmt::format("--name {}: expected a name, not a path", excerpt(options.name)));
  }
}

// Fits start from profiles made of the tables alone, which lie beside the final ones while the fit runs.
std::vector<FittedSection> calibrate_machine(const CalibrateOptions& options, std::vector<CsvTable> tables,
                                             const Catalog& catalog) {
  check_machine_options(options);
  MachineProfiles profiles = machine_profiles(CsvTable::from_file(options.machine), tables, options.name);
  const auto paths = paths_of_machine(std::filesystem::absolute(options.out), options.name);
  std::error_code failed;
  std::filesystem::create_directories(options.out, failed);
  if (failed) fail_to_write(paths.front(), failed.value());
  for (const std::filesystem::path& path : paths) check_writable(path);
  StagedFile core(paths[0]);
  StagedFile link(paths[1]);
  StagedFile node(paths[2]);
  core.write(profiles.core);
  link.write(profiles.link);
  CalibrationTarget target{catalog, core.path().string(), link.path().string(), Precision::fp32, {}, options.source};
  target.own_peaks = true;
  for (const std::string& text : options.only) target.filters.push_back(filter_of(text));

  const auto collectives = std::stable_partition(tables.begin(), tables.end(),
                                                 [](const CsvTable& table) { return !is_collective_table(table); });
  std::vector<FittedSection> of_link = calibrate({collectives, tables.end()}, target);
  tables.erase(collectives, tables.end());
  std::vector<FittedSection> all = calibrate(std::move(tables), target);
  core.write(with_sections(profiles.core, all));
  link.write(with_sections(profiles.link, of_link));
  check_profile(core, ProfileKind::gpu, catalog);
  check_profile(link, ProfileKind::link, catalog);
  node.write(profiles.node);
  for (StagedFile* file : {&core, &link, &node}) file->commit();
  for (FittedSection& section : of_link) all.push_back(std::move(section));
  return all;
}

// What only tables are calibrated with, and other ways of calibrating.
void refuse_others(const CalibrateOptions& options, const std::string& way) {
  if (!options.files.empty()) {
    fail_input({}, fmt::format("{} and tables are not calibrated together", way),
               fmt::format("give either {} or TABLE.csv...", way));
  }
  const std::array<std::pair<const char*, bool>, 10> others = {{{"--trace", !options.trace.empty()},
                                                                {"--runs", !options.runs.empty()},
                                                                {"--gpu", !options.gpu.empty()},
                                                                {"--link", !options.link.empty()},
                                                                {"--precision", !options.precision.empty()},
                                                                {"--only", !options.only.empty()},
                                                                {"--out", !options.out.empty()},
                                                                {"--machine", !options.machine.empty()},
                                                                {"--name", !options.name.empty()},
                                                                {"--source", !options.source.empty()}}};
  const std::vector<std::string_view> with_runs = {"--out", "--only", "--source"};
  for (const auto& [name, given] : others) {
    const bool wanted = way == name || (way == "--trace" && std::string_view("--out") == name) ||
                        (way == "--runs" && std::find(with_runs.begin(), with_runs.end(), name) != with_runs.end());
    if (given && !wanted) fail_input({}, fmt::format("{} does not take {}", way, name));
  }
  if (options.score) fail_input({}, fmt::format("{} does not take --score", way));
}

}  // namespace

CommandOutput run_calibrate(std::span<const std::string> arguments, const Surroundings& /*surroundings*/) {
  CalibrateOptions options;
  if (const auto help = read_arguments(syntax_for(options), arguments)) return {*help, {}};
  const OutputFormat format = format_choice(options.format);
  if (!options.trace.empty()) {
    refuse_others(options, "--trace");
    return calibrate_by_trace({options.trace, options.scenario, options.out, options.framework, options.data}, format);
  }
  if (!options.scenario.empty() || !options.framework.empty()) {
    fail_input({}, "--scenario and --framework belong to a recording: give --trace");
  }
  if (!options.runs.empty()) {
    refuse_others(options, "--runs");
    std::vector<RowFilter> filters;
    for (const std::string& text : options.only) filters.push_back(filter_of(text));
    return correct_by_runs({options.runs, options.map, options.out, options.source, options.data, filters}, format);
  }
  if (!options.map.empty()) fail_input({}, "--map says how --runs are read: give both");
  const Catalog catalog(data_folders(options.data).hardware);
  CalibrationTarget target{catalog, options.gpu, options.link, {}, {}, options.source, options.score};
  if (!options.precision.empty()) {
    target.precision = static_cast<Precision>(choice("--precision", options.precision, precision_names()));
  }
  const std::vector<std::string>& kernels = attention_kernel_names();
  target.attention = kernels[choice("--attention", options.attention, kernels)];
  for (const std::string& text : options.only) target.filters.push_back(filter_of(text));

  if (options.score && !options.out.empty()) fail_input({}, "--score writes nothing: leave out --out");

  std::vector<CsvTable> tables;
  for (const std::string& file : options.files) tables.push_back(CsvTable::from_file(file));
  const std::vector<UnreadColumn> unread = unread_columns(tables, target.filters);
  const bool of_machine = !options.machine.empty();
  const std::vector<FittedSection> sections =
      of_machine ? calibrate_machine(options, std::move(tables), catalog) : calibrate(std::move(tables), target);
  if (!of_machine && !options.out.empty()) update_profile(options.out, sections, target);
  return {printed(sections, unread, format), {}};
}

}  // namespace mirfak
