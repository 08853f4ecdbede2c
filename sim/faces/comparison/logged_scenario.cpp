#include "comparison/logged_scenario.hpp"

#include "base/key_path.hpp"
#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/cluster_knowledge.hpp"
#include "import/option_table.hpp"
#include "scenario/scenario.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace mirfak {

namespace {

constexpr std::array<std::string_view, 2> kSections = {"training.", "strategy."};

// Returns the keys that a log decides: those that it states, and for a log with all settings also those that it leaves
// at the program's defaults.
std::vector<std::string> decided_keys(const LoggedRun& run) {
  std::vector<std::string> out;
  for (const auto& entry : run.draft.origins()) {
    const std::string& key = entry.first;
    const bool stated = !entry.second.starts_with("assumed");
    const bool section =
        std::any_of(kSections.begin(), kSections.end(), [&](std::string_view name) { return key.starts_with(name); });
    const bool framework = run.whole && key == "training.framework";
    if (section && !framework && (stated || (run.whole && key.starts_with("strategy.")))) out.push_back(key);
  }
  return out;
}

std::string contradiction(const LoggedRun& run, const std::string& key, const std::string& of_log,
                          const std::string& of_other, const Document& other) {
  Location where{other.name(), 0, 0};
  value_under(other.root(), key, &where);
  const auto origin = run.draft.origins().find(key);
  const std::string said = origin == run.draft.origins().end() ? "the log" : excerpt(origin->second, 120);
  return fmt::format("{}: {} is {} by the log, which counts, and {} at {}", said, key, of_log,
                     of_other.empty() ? "not stated" : of_other, where.text());
}

// A size of a model, by which two descriptions of a model are told apart.
struct ModelSize {
  const char* key;
  std::int64_t (*of)(const ModelSpec& model);
};
constexpr std::array kModelSizes = {
    ModelSize{"model.layers", [](const ModelSpec& model) -> std::int64_t { return model.layers; }},
    ModelSize{"model.hidden", [](const ModelSpec& model) -> std::int64_t { return model.hidden; }},
    ModelSize{"model.heads", [](const ModelSpec& model) -> std::int64_t { return model.heads; }},
    ModelSize{"model.kv_heads", [](const ModelSpec& model) -> std::int64_t { return model.kv_heads; }},
    ModelSize{"model.ffn", [](const ModelSpec& model) -> std::int64_t { return model.ffn; }},
    ModelSize{"model.vocab", [](const ModelSpec& model) -> std::int64_t { return model.vocab; }},
    ModelSize{"model.experts.count", [](const ModelSpec& model) -> std::int64_t { return model.mixture.experts; }},
};

// Takes the log's model if its sizes are others than those of `other`. With equal sizes the file's model stays, which
// may state more.
void take_model(const LoggedRun& run, const Document& other, const Scenario& before, const ScenarioSources& sources,
                LoggedScenario& out) {
  const Value* model = run.draft.scenario().find("model");
  if (model == nullptr) return;
  Document with_model = other;
  with_model.assign(KeyPath("model", model->where), *model, model->where);
  const ModelSpec logged = parse_scenario(with_model, sources).job.model;
  bool differs = false;
  for (const ModelSize& size : kModelSizes) {
    const std::int64_t of_log = size.of(logged);
    const std::int64_t of_other = size.of(before.job.model);
    if (of_log == of_other) continue;
    differs = true;
    const bool named = run.draft.origins().contains("model");
    out.notes.push_back(
        contradiction(run, named ? "model" : size.key, std::to_string(of_log), std::to_string(of_other), other));
  }
  if (differs) out.document = std::move(with_model);
}

void note_gpus(const LoggedRun& run, const Scenario& scenario, const ScenarioSources& sources,
               std::vector<std::string>& notes) {
  const Cluster& cluster = scenario.job.cluster;
  const auto gpus = static_cast<std::int64_t>(cluster.gpus());
  if (run.gpus && *run.gpus != gpus) {
    notes.push_back(fmt::format("{}: the log is of {} GPUs, and {} has {}: the prediction is of another run",
                                run.gpus_where.text(), *run.gpus, scenario.name, gpus));
  }
  if (run.gpu.empty()) return;
  const ClusterKnowledge knowledge = read_cluster_knowledge(sources.catalog.folder());
  const std::vector<std::string> types = fitting_types(sources.catalog, knowledge, {run.gpu, {}});
  for (const auto& group : cluster.groups()) {
    const std::string& gpu = group.hardware.gpu.name;
    const bool same = std::any_of(types.begin(), types.end(), [&](const std::string& type) {
      return sources.catalog.node(FileReference(type)).gpu.name == gpu;
    });
    if (same) continue;
    notes.push_back(fmt::format("{}: the log is of GPUs {}, and {} has {}, which count", run.gpu_where.text(), run.gpu,
                                scenario.name, gpu));
  }
}

// Notes kernels and habits of the program that differ: the file may state more of them than options do.
void note_framework(const LoggedRun& run, const Document& other, const Value& completed,
                    std::vector<std::string>& notes) {
  const std::string of_log = word_under(run.draft.scenario(), "training.framework");
  const std::string of_other = word_under(completed, "training.framework");
  if (!run.whole || of_log.empty() || of_log == of_other) return;
  Location where{other.name(), 0, 0};
  value_under(other.root(), "training.framework", &where);
  notes.push_back(fmt::format("training.framework is {} by the log's settings, and {} at {}, which counts", of_log,
                              of_other, where.text()));
}

// Reads the completed scenario. An error of a scenario that contradicts its log names the contradictions.
Scenario parse_completed(const LoggedScenario& logged, const ScenarioSources& sources) {
  try {
    return parse_scenario(logged.document, sources);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal || logged.notes.empty()) throw;
    throw Error(error.kind(), error.where(), error.message(),
                fmt::format("the log contradicts the other file: {}", fmt::join(logged.notes, "; ")));
  }
}

}  // namespace

LoggedScenario completed_by(const LoggedRun& run, const Document& other, const ScenarioSources& sources) {
  const Scenario before = parse_scenario(other, sources);
  LoggedScenario out{other, {}};
  note_gpus(run, before, sources, out.notes);
  take_model(run, other, before, sources, out);
  const std::vector<std::string> keys = decided_keys(run);
  for (const std::string& key : keys) {
    const Value* value = value_under(run.draft.scenario(), key);
    if (value == nullptr || word_under(before.completed, key) == emit_flow_yaml(*value)) continue;
    out.document.assign(KeyPath(key, value->where), *value, value->where);
  }
  note_framework(run, other, before.completed, out.notes);
  const Scenario after = parse_completed(out, sources);
  for (const std::string& key : keys) {
    const std::string a = word_under(before.completed, key);
    const std::string b = word_under(after.completed, key);
    if (a != b) out.notes.push_back(contradiction(run, key, b, a, other));
  }
  return out;
}

}  // namespace mirfak
