#include "cli/import_options.hpp"

#include "base/input_file.hpp"
#include "capture/capture_file.hpp"
#include "import/chosen_nodes.hpp"
#include "import/import_formats.hpp"
#include "import/program_facts.hpp"
#include "import/program_identity.hpp"

#include "comparison/logged_scenario.hpp"
#include "scenario/scenario.hpp"

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

std::vector<std::string> notes_of(const ImportDraft& draft) {
  std::vector<std::string> out;
  for (const ImportObstacle& note : draft.notes)
    out.push_back((note.where.known() ? note.where.text() + ": " : "") + note.reason);
  return out;
}

StepSizes sizes_of(const Scenario& scenario) {
  const Job& job = scenario.job;
  return {static_cast<double>(job.training.global_batch), job.training.tokens_of(1),
          static_cast<double>(job.cluster.gpus())};
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

bool is_log(const std::string& path, const ScenarioSources& sources) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored) || is_capture(path)) return false;
  return is_training_log(read_import_file(path), sources.folders.hardware);
}

// True for files that describe a job by themselves: scenarios and captures. A log may print a scenario's keys.
bool is_whole(const std::string& path, const ScenarioSources& sources) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  if (is_capture(path)) return true;
  const ImportFile file = read_import_file(path);
  return is_scenario_file(file) && !is_training_log(file, sources.folders.hardware);
}

// Refuses several files of which one describes a job by itself: several files are parts of one training.
void refuse_whole_files(std::span<const std::string> paths, const ScenarioSources& sources) {
  for (const std::string& path : paths) {
    if (!is_whole(path, sources)) continue;
    fail_input({path, 0, 0}, "it describes a job by itself, and several files are parts of one training's description",
               "give it alone; mirfak diff says where two jobs differ, mirfak compare makes a table of several");
  }
}

// Refuses a scenario beside options that complete launch files.
void refuse_options_of_scenarios(const std::string& path, const ScenarioSources& sources) {
  if (!is_whole(path, sources)) return;
  fail_input({path, 0, 0},
             "--nodes, --env, --arg, --launch, --cluster and --from are for launch files, and this is a scenario",
             "change its keys with --set, such as --set 'cluster.nodes=[{type: hgx-h100, count: 8}]'");
}

// Returns the scenario of a log, completed by the file that started the run.
Document logged_document(std::span<const std::string> paths, const ImportOptions& options,
                         const std::vector<std::string>& overrides, const ScenarioSources& sources) {
  Document document = logged_job({paths.front()}, options, paths.back(), sources).scenario;
  for (const std::string& assignment : overrides) document.override_value(assignment);
  return document;
}

}  // namespace

void add_log_options(CommandSyntax& syntax, std::string& with, int& run) {
  syntax.add_file(FileRole::input, "with", with, "FILE",
                  "of a log: what the run was started with, a script or a scenario, for what the log leaves open");
  syntax.options.add_options()("run", po::value(&run)->value_name("N"), "of a log: read the N-th of several runs");
}

LoggedJob logged_job(const std::vector<std::string>& paths, const ImportOptions& options, const std::string& with,
                     const ScenarioSources& sources) {
  LoggedRun run = logged_run(paths, options, sources);
  const std::string& log = paths.front();
  if (with.empty()) {
    const ImportedJob job = import_files(paths, options, sources);
    Document scenario = stated_scenario(job, {});
    MeasuredSteps measured = steps_of(run, sizes_of(run), log);
    std::vector<std::string> notes = notes_of(job.draft);
    return {std::move(run), std::move(scenario), std::move(measured), std::move(notes)};
  }
  const Document other = scenario_document(with, options, {}, sources);
  LoggedScenario scenario = completed_by(run, other, sources);
  MeasuredSteps measured = steps_of(run, sizes_of(parse_scenario(scenario.document, sources)), log);
  std::vector<std::string> notes = notes_of(run.draft);
  notes.insert(notes.end(), scenario.notes.begin(), scenario.notes.end());
  return {std::move(run), std::move(scenario.document), std::move(measured), std::move(notes)};
}

Document scenario_document(std::span<const std::string> paths, const ImportOptions& options,
                           const std::vector<std::string>& overrides, const ScenarioSources& sources) {
  const std::string& path = paths.front();
  if (paths.size() == 2 && is_log(path, sources)) return logged_document(paths, options, overrides, sources);
  if (paths.size() > 1) refuse_whole_files(paths, sources);
  if (is_capture(path)) return capture_document(path, options, overrides);
  if (paths.size() == 1 && !options.given() && !is_import_file(path, sources)) {
    refuse_foreign_file(path, sources);
    Document document = Document::from_file(path);
    for (const std::string& assignment : overrides) document.override_value(assignment);
    return document;
  }
  refuse_options_of_scenarios(path, sources);
  return stated_scenario(import_files(paths, options, sources), overrides);
}

Document scenario_document(const std::string& path, const ImportOptions& options,
                           const std::vector<std::string>& overrides, const ScenarioSources& sources) {
  return scenario_document(std::span(&path, 1), options, overrides, sources);
}

bool is_import_file(const std::string& path, const ScenarioSources& sources) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored) || is_capture(path)) return false;
  const ImportFile file = read_import_file(path);
  if (is_training_log(file, sources.folders.hardware)) return true;
  if (file.text.size() > kDocumentFile.most_bytes || is_scenario_file(file)) return false;
  return is_model_file(file.text, file.name) || format_of(file) != nullptr;
}

}  // namespace mirfak
