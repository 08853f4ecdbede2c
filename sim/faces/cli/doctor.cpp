// Checks of the installation. Each check does the real work, and writes only in a folder of its own.

#include "base/error.hpp"
#include "base/origin.hpp"
#include "base/parallel.hpp"
#include "base/section.hpp"
#include "base/units.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/json_output.hpp"
#include "cli/options.hpp"
#include "cluster/catalog.hpp"
#include "model/model_loader.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"
#include "strategy/framework_catalog.hpp"
#include "trace/trace_file.hpp"
#include "trace/trace_hdf5.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

namespace mirfak {

namespace {

namespace fs = std::filesystem;

enum class Health {
  works,
  found,    // a program that was not started
  missing,  // not there; the finding says what works without it
  fails
};
constexpr std::string_view kHealthNames[] = {"works", "found", "not there", "fails"};

struct Finding {
  std::string what;
  Health health = Health::works;
  std::string says;  // one line
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Runs a check. A check that throws has failed.
Finding checked(std::string what, const std::function<std::string()>& check) {
  try {
    std::string says = check();
    return {std::move(what), Health::works, std::move(says)};
  } catch (const std::exception& error) {
    return {std::move(what), Health::fails, first_line(error.what())};
  }
}

// Looks for a program on the path.
Finding program(const std::string& name, const std::string& purpose) {
  const char* path = std::getenv("PATH");
  std::string folders = path != nullptr ? path : "";
  folders += ':';
  for (std::size_t begin = 0, end = 0; (end = folders.find(':', begin)) != std::string::npos; begin = end + 1) {
    const fs::path file = fs::path(folders.substr(begin, end - begin)) / name;
    if (::access(file.c_str(), X_OK) == 0 && !fs::is_directory(file)) return {name, Health::found, purpose};
  }
  return {name, Health::missing, purpose};
}

std::string read_models(const DataFolders& folders) {
  const std::vector<std::string> names = model_names(folders.models);
  for (const std::string& name : names) load_model(name, folders.models, {});
  return fmt::format("{} models", names.size());
}

std::string read_hardware(const DataFolders& folders) {
  const Catalog catalog(folders.hardware);
  for (const std::string& name : catalog.names(ProfileKind::gpu)) catalog.gpu(name);
  for (const std::string& name : catalog.names(ProfileKind::link)) catalog.link(name);
  for (const std::string& name : catalog.names(ProfileKind::node)) catalog.node_kinds(name);
  for (const std::string& name : catalog.names(ProfileKind::price)) catalog.prices(name);
  return fmt::format("{} GPUs, {} links, {} nodes, {} lists of prices", catalog.names(ProfileKind::gpu).size(),
                     catalog.names(ProfileKind::link).size(), catalog.names(ProfileKind::node).size(),
                     catalog.names(ProfileKind::price).size());
}

std::string read_frameworks(const DataFolders& folders) {
  const FrameworkCatalog catalog(folders.hardware);
  const std::vector<std::string>& names = catalog.names();
  for (const std::string& name : names) catalog.framework(name);
  return fmt::format("{} frameworks", names.size());
}

// Returns the smallest job that uses most of the data: the first node type of the catalogue, and a model of its own.
Scenario small_scenario(const DataFolders& folders) {
  const std::string text =
      "model: {name: small, layers: 4, hidden: 1024, heads: 16, vocab: 32000, max_sequence: 1024}\n"
      "cluster: {nodes: [{type: " +
      Catalog(folders.hardware).names(ProfileKind::node).front() +
      ", count: 2}]}\ntraining: {global_batch: 64}\nstrategy: {pipeline: 2, micro_batch: 2}\n";
  return parse_scenario(Document::from_text(text, "a small scenario"), folders);
}

std::string simulate_small(const DataFolders& folders) {
  const Simulation simulation = simulate(small_scenario(folders).job);
  return fmt::format("{} tasks, {} predicted", simulation.program.size(),
                     format_seconds(simulation.result.iteration_time_s));
}

// A folder that exists as long as the object.
class WorkFolder {
 public:
  WorkFolder() {
    std::string pattern = (fs::temp_directory_path() / "mirfak-doctor-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      fail_internal("cannot make a folder in " + fs::temp_directory_path().string());
    path_ = pattern;
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string write_trace_and_read_it(const DataFolders& folders) {
  const WorkFolder folder;
  const Scenario scenario = small_scenario(folders);
  const Simulation simulation = simulate(scenario.job);
  const fs::path file = folder.path() / "trace.h5";
  write_trace(file, scenario, simulation);
  const TraceFile trace = read_trace(file);
  if (trace.size() != simulation.program.size()) fail_internal("a trace reads back with other tasks");
  return fmt::format("written to {} and read back: {} tasks", folder.path().parent_path().string(), trace.size());
}

std::string threads() {
  const std::size_t count = std::max(1U, std::thread::hardware_concurrency());
  std::vector<int> ran(64);
  parallel_for(ran.size(), [&](std::size_t i) { ran[i] = 1; });
  if (std::count(ran.begin(), ran.end(), 1) != 64) fail_internal("a parallel loop left something out");
  return fmt::format("{}", count);
}

std::vector<Finding> examine(const fs::path& data) {
  std::vector<Finding> out;
  out.push_back(checked("data folder", [&] {
    data_folders(data);
    return data.string();
  }));
  if (out.back().health == Health::works) {
    const DataFolders folders = data_folders(data);
    out.push_back(checked("models", [&] { return read_models(folders); }));
    out.push_back(checked("hardware", [&] { return read_hardware(folders); }));
    out.push_back(checked("frameworks", [&] { return read_frameworks(folders); }));
    out.push_back(checked("a simulation", [&] { return simulate_small(folders); }));
    out.push_back(checked("a trace (HDF5)", [&] { return write_trace_and_read_it(folders); }));
  }
  out.push_back(checked("processors", threads));
  out.push_back(program("dot", "Graphviz draws networks and shardings for it (--svg)"));
  out.push_back(program("mirfak-measure", "runs programs on real machines, to compare with predictions"));
  out.push_back(program("mpirun", "starts mirfak-measure on several ranks"));
  out.push_back(program("nvidia-smi", "a GPU to measure on"));
  out.push_back(program("python3", "notebooks"));
  return out;
}

Table table_of(const std::vector<Finding>& findings) {
  Table table(":what | :health | :says");
  for (const Finding& finding : findings) {
    table.add({finding.what, kHealthNames[static_cast<std::size_t>(finding.health)], finding.says});
  }
  return table;
}

}  // namespace

CommandOutput run_doctor(std::span<const std::string> arguments, const Surroundings& /*surroundings*/) {
  std::string format;
  std::string data;
  CommandSyntax syntax(
      "mirfak doctor [OPTION]...",
      "Says what is installed and works: reads all models and profiles, simulates a small job, writes a\n"
      "trace and reads it back, and looks for the programs that some commands start.");
  auto add = syntax.options.add_options();
  namespace po = boost::program_options;
  add("format", po::value(&format)->default_value("text")->value_name("text|json"), "what to print");
  add("data", data_folder_option(data), "holds models/ and hw_profiles/");
  if (const auto help = read_arguments(syntax, arguments)) return {*help, {}};
  const bool json = format_choice(format) == OutputFormat::json;
  const std::vector<Finding> findings = examine(data);
  CommandOutput out;
  out.text =
      json ? printed_json({{"checks", table_of(findings).json()}}) : origin_text() + "\n\n" + table_of(findings).text();
  const auto failed = std::find_if(findings.begin(), findings.end(),
                                   [](const Finding& finding) { return finding.health == Health::fails; });
  if (failed == findings.end()) return out;
  out.complaint = fmt::format("{}: {}", failed->what, failed->says);
  out.status = kStatusInternal;
  return out;
}

}  // namespace mirfak
