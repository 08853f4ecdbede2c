#include "cli/import_options.hpp"

#include "base/input_file.hpp"
#include "capture/capture_file.hpp"
#include "import/chosen_nodes.hpp"
#include "import/import_formats.hpp"
#include "import/program_identity.hpp"

#include "comparison/logged_scenario.hpp"
#include "scenario/scenario.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

// Refuses a log without the nodes that it ran on, which no log states.
void refuse_log(const std::string& path, const ScenarioSources& sources) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return;
  const ImportFile file = read_import_file(path);
  if (is_scenario_file(file) || !is_training_log(file, sources.folders.hardware)) return;
  fail_input({path, 0, 0}, "this is a log, which does not state its nodes",
             "say --nodes TYPE:COUNT, or give what started the run: mirfak validate LOG --with FILE");
}

std::vector<std::string> notes_of(const ImportDraft& draft) {
  std::vector<std::string> out;
  for (const ImportObstacle& note : draft.notes)
    out.push_back((note.where.known() ? note.where.text() + ": " : "") + note.reason);
  return out;
}

StepSizes sizes_of(const Scenario& scenario) {
  const Job& job = scenario.job;
  return {static_cast<double>(job.training.global_batch), static_cast<double>(job.training.sequence_length),
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
    const std::vector<ImportObstacle>& obstacles = job.draft.obstacles();
    if (!obstacles.empty()) {
      std::vector<std::string> reasons;
      for (const ImportObstacle& obstacle : obstacles) reasons.push_back(obstacle.reason);
      fail_input(obstacles.front().where, fmt::format("{}", fmt::join(reasons, "; ")),
                 "mirfak import says what the log states");
    }
    MeasuredSteps measured = steps_of(run, sizes_of(run), log);
    std::vector<std::string> notes = notes_of(job.draft);
    return {std::move(run), job.scenario, std::move(measured), std::move(notes)};
  }
  const Document other = scenario_document(with, options, {}, sources);
  LoggedScenario scenario = completed_by(run, other, sources);
  MeasuredSteps measured = steps_of(run, sizes_of(parse_scenario(scenario.document, sources)), log);
  std::vector<std::string> notes = notes_of(run.draft);
  notes.insert(notes.end(), scenario.notes.begin(), scenario.notes.end());
  return {std::move(run), std::move(scenario.document), std::move(measured), std::move(notes)};
}

Document scenario_document(const std::string& path, const ImportOptions& options,
                           const std::vector<std::string>& overrides, const ScenarioSources& sources) {
  if (is_capture(path)) return capture_document(path, options, overrides);
  if (!options.given() && !is_import_file(path)) {
    refuse_log(path, sources);
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
  if (file.text.size() > kDocumentFile.most_bytes) return false;  // a log needs nodes, and then it is read as one
  return !is_scenario_file(file) && format_of(file) != nullptr;
}

}  // namespace mirfak
