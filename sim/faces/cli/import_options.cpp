#include "cli/import_options.hpp"

#include "capture/capture_file.hpp"
#include "import/chosen_nodes.hpp"
#include "import/import_formats.hpp"
#include "import/program_identity.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

namespace mirfak {

namespace po = boost::program_options;

void ImportOptions::add_to(CommandSyntax& syntax) {
  auto add = syntax.options.add_options();
  add("nodes", po::value(&nodes)->value_name("TYPE:COUNT"), "nodes of the job, such as hgx-h100:64; may be repeated");
  add("env", po::value(&environment)->value_name("NAME=VALUE"), "a variable of the files; may be repeated");
  add("arg", po::value(&parameters)->value_name("WORD"), "the next of a script's parameters $1, $2, ...");
  add("launch", po::value(&launch)->value_name("N"), "read the N-th program that a script starts");
  syntax.add_files(FileRole::input, "cluster", cluster, "FILE", "output of sinfo, scontrol, nvidia-smi topo -m");
  add("from", po::value(&format)->value_name("FORMAT"), "the file's format, if it is not recognised");
}

bool ImportOptions::given() const {
  return !nodes.empty() || !environment.empty() || !parameters.empty() || launch != 0 || !format.empty() ||
         !cluster.empty();
}

namespace {

// Refuses settings of another program as such, instead of as a scenario with unknown keys.
void refuse_foreign_file(const std::string& path, const ScenarioSources& sources) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return;
  const ImportFile file = read_import_file(path);
  if (!is_scenario_file(file)) refuse_foreign_settings(file, sources);
}

// Returns the scenario of a capture on --nodes.
Document capture_document(const std::string& path, const ImportOptions& options,
                          const std::vector<std::string>& overrides) {
  const std::pair<bool, const char*> others[] = {
      {!options.environment.empty(), "--env"}, {!options.parameters.empty(), "--arg"},
      {options.launch != 0, "--launch"},       {!options.format.empty(), "--from"},
      {!options.cluster.empty(), "--cluster"},
  };
  for (const auto& [given, name] : others) {
    if (given) fail_input({}, fmt::format("{} is of launch files, and {} is a capture", name, path), "leave it out");
  }
  Document document = Document::from_text(capture_scenario(path, options.nodes), "--nodes");
  for (const std::string& assignment : overrides) document.override_value(assignment);
  return document;
}

}  // namespace

Document scenario_document(const std::string& path, const ImportOptions& options,
                           const std::vector<std::string>& overrides, const ScenarioSources& sources) {
  if (is_capture(path)) return capture_document(path, options, overrides);
  if (!options.given() && !is_import_file(path)) {
    refuse_foreign_file(path, sources);
    Document document = Document::from_file(path);
    for (const std::string& assignment : overrides) document.override_value(assignment);
    return document;
  }
  const ImportedJob job = import_files(std::vector{path}, options, sources);
  if (!job.draft.obstacles().empty()) {
    const ImportObstacle& first = job.draft.obstacles().front();
    fail_input(first.where, first.reason,
               "mirfak import says what was read; --out writes it as a scenario to complete");
  }
  Document document = job.scenario;
  for (const std::string& assignment : overrides) document.override_value(assignment);
  return document;
}

bool is_import_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored) || is_capture(path)) return false;
  const ImportFile file = read_import_file(path);
  return !is_scenario_file(file) && format_of(file) != nullptr;
}

}  // namespace mirfak
