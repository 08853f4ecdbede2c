#include "import/log_import.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/cluster_knowledge.hpp"
#include "import/deepspeed_json.hpp"
#include "import/megatron_dialect.hpp"
#include "import/megatron_settings.hpp"
#include "import/number_words.hpp"
#include "import/option_table.hpp"
#include "import/torchtitan.hpp"
#include "launch/option_list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace mirfak {

namespace {

// The input of a reader of a program's settings.
struct LoggedSettings {
  std::vector<Setting> settings;
  Location where;
  std::span<const ImportFile> files;
  const ImportContext& context;
};

// Marks settings that are facts of the log, which no reader of options asks for.
constexpr std::string_view kFact = "$log:";

// Marks settings that stand at the program's default, as if nobody stated them.
constexpr std::string_view kAtDefault = "$default:";

// True for values that state nothing on a command line: an option that is off, or has no value.
bool states_nothing(const Value& value) {
  return value.kind == Value::Kind::null || (value.kind == Value::Kind::sequence && value.items.empty()) ||
         value.scalar == "False" || value.scalar == "None";
}

// Takes settings out of the list that a command line would not state: those at the program's default, except for those
// that decide a key of the scenario, and options that are off.
std::vector<Setting> take_out_defaults(std::vector<Setting>& settings, const ProgramFacts& facts,
                                       const OptionList& options) {
  const Value& defaults = facts.section("table_defaults");
  const Value* dialect = facts.section("dialect").find("options");
  const auto rest = std::stable_partition(settings.begin(), settings.end(), [&](const Setting& setting) {
    if (setting.name.starts_with(kFact)) return false;
    if (dialect->find(setting.name) == nullptr && states_nothing(setting.value)) return false;
    const Value* known = defaults.find(setting.name);
    if (known == nullptr || setting.value.kind != Value::Kind::scalar || known->scalar != setting.value.scalar)
      return true;
    const OptionEntry* entry = options.find(megatron_option_name(setting.name));
    return entry != nullptr && !entry->key.empty();
  });
  std::vector<Setting> out(std::make_move_iterator(rest), std::make_move_iterator(settings.end()));
  settings.erase(rest, settings.end());
  for (Setting& setting : out) {
    if (!setting.name.starts_with(kFact)) setting.name.insert(0, kAtDefault);
  }
  return out;
}

// Reads Megatron-LM's table of arguments, which has the names of variables and the values after all defaults.
ImportDraft read_megatron_table(LoggedSettings logged) {
  const ProgramFacts facts(logged.context.sources, "megatron-log");
  std::vector<Setting> defaults =
      take_out_defaults(logged.settings, facts, option_list(logged.context.sources.folders.hardware, "megatron"));
  std::vector<Setting> settings = in_megatron_words(std::move(logged.settings), facts);
  settings.insert(settings.end(), std::make_move_iterator(defaults.begin()), std::make_move_iterator(defaults.end()));
  ImportDraft draft(std::move(settings));
  leave_python(draft);
  for (const Setting* setting : draft.open()) {
    if (setting->name.starts_with(kAtDefault)) draft.leave(*setting, "the program's default, or off");
  }
  facts.judge_rest(draft);
  read_megatron_settings(draft, {"", logged.where}, logged.context);
  return draft;
}

// Marks settings that only describe in full what other settings name.
constexpr std::string_view kDescribed = "$described:";

// Returns a setting of the same text, as another option.
Setting as_option(const Setting& said, std::string_view name, std::string_view word) {
  Setting out = said;
  out.name = name;
  out.value = scalar_value(word, said.where);
  return out;
}

// States the way of recomputing as releases before 0.3.0 do: since then it is a class, of which the JSON has the fields
// and not the name.
void name_recomputation(std::vector<Setting>& settings) {
  std::optional<Setting> policy;
  const char* mode = "full";
  for (const Setting& setting : settings) {
    if (setting.name == "activation_checkpoint")
      settings.push_back(as_option(setting, "activation_checkpoint.mode", "none"));
    if (setting.name == "activation_checkpoint") return;
    if (!setting.name.starts_with("activation_checkpoint.")) continue;
    policy = setting;
    if (setting.name.ends_with(".force_recompute_mm_shapes_by_fqns")) mode = "selective";
    if (setting.name.ends_with(".memory_budget")) mode = "memory_budget";
  }
  if (!policy) return;
  settings.push_back(as_option(*policy, "activation_checkpoint.mode", mode));
  if (mode == std::string_view("selective"))
    settings.push_back(as_option(*policy, "activation_checkpoint.selective_ac_option", "op"));
}

// Gives the settings of release 0.3.0, whose model is a specification, the names of the releases before it.
void name_as_before(std::vector<Setting>& settings) {
  constexpr std::string_view spec = "model_spec.";
  const bool newer =
      std::any_of(settings.begin(), settings.end(), [&](const Setting& one) { return one.name.starts_with(spec); });
  if (!newer) return;
  for (Setting& setting : settings) {
    if (setting.name.starts_with("model_spec.model.")) {
      setting.name.insert(0, kDescribed);
    } else if (setting.name.starts_with(spec)) {
      setting.name.replace(0, spec.size(), "model.");
    }
  }
  name_recomputation(settings);
}

ImportDraft read_torchtitan_settings(LoggedSettings logged) {
  name_as_before(logged.settings);
  ImportDraft draft = import_torchtitan(std::move(logged.settings), logged.context);
  for (const Setting* setting : draft.open()) {
    if (setting->name.starts_with(kDescribed)) draft.leave(*setting, "the flavor's sizes");
  }
  return draft;
}

// Reads DeepSpeed's JSON; a model among the files is the run's.
ImportDraft read_deepspeed_settings(LoggedSettings logged) {
  if (std::optional<Setting> model = model_among(logged.files.subspan(1))) logged.settings.push_back(std::move(*model));
  ImportDraft draft(std::move(logged.settings));
  take_model(logged.files, draft);
  read_deepspeed(draft, logged.context);
  return draft;
}

struct SettingsReader {
  std::string_view name;  // LogFormat::reader
  ImportDraft (*read)(LoggedSettings logged);
};
constexpr std::array kReaders = {SettingsReader{"megatron", read_megatron_table},
                                 SettingsReader{"torchtitan", read_torchtitan_settings},
                                 SettingsReader{"deepspeed", read_deepspeed_settings}};

std::string plain_number(const std::string& word) {
  const std::optional<double> number = number_of(word);
  return number ? fmt::format("{:.15g}", *number) : word;
}

// Takes a fact as a key of the scenario. A key that the settings decide stays, and a difference is noted.
void take_fact(ImportDraft& draft, const LoggedFact& fact, bool whole) {
  const Setting* setting = draft.find(std::string(kFact) + fact.key);
  if (setting == nullptr) return;
  const std::string known = word_under(draft, fact.key);
  if (!whole || known.empty()) return draft.take(*setting, fact.key, fact.word);
  if (plain_number(known) == plain_number(fact.word)) return draft.use(*setting, "as the settings state it");
  draft.use(*setting, fmt::format("the settings state {}: {}, which counts", fact.key, known));
  draft.notes.push_back({fact.where, fmt::format("the log states {}: {} here, and its settings {}, which count",
                                                 fact.key, fact.word, known)});
}

bool is_of_machine(const LoggedFact& fact) { return fact.key == "gpus" || fact.key == "gpu"; }

const LoggedFact* fact_with(const LoggedStart& start, std::string_view key) {
  const auto found =
      std::find_if(start.facts.begin(), start.facts.end(), [&](const LoggedFact& fact) { return fact.key == key; });
  return found == start.facts.end() ? nullptr : &*found;
}

// Sets the machine as far as its GPUs decide it: nodes of one size.
void set_machine(LoggedRun& run, const ImportContext& context) {
  ImportedMachine& machine = run.draft.machine;
  machine.gpu = run.gpu;
  if (run.gpu.empty() || !run.gpus) return;
  const Catalog& catalog = context.sources.catalog;
  std::optional<std::int64_t> of_node;
  for (const std::string& type : fitting_types(catalog, read_cluster_knowledge(catalog.folder()), {run.gpu, {}})) {
    const std::int64_t gpus = catalog.node_kinds(FileReference(type)).front().spec.gpus;
    if (of_node && *of_node != gpus) return;
    of_node = gpus;
  }
  if (!of_node || *run.gpus % *of_node != 0) return;
  machine.nodes = *run.gpus / *of_node;
  machine.gpus_per_node = of_node;
  machine.said_by = fmt::format("{} GPUs {}", *run.gpus, run.gpu);
}

void note_other_gpus(LoggedRun& run, const ImportContext& context) {
  if (!run.gpus || !context.gpus || *run.gpus == *context.gpus) return;
  run.draft.notes.push_back(
      {run.gpus_where, fmt::format("the log is of {} GPUs, and --nodes of {}", *run.gpus, *context.gpus)});
}

LoggedRun run_of(const TrainingLog& log, const LoggedStart& start, std::span<const ImportFile> files,
                 const ImportContext& context) {
  ImportContext inside = context;
  const LoggedFact* gpus = fact_with(start, "gpus");
  const std::optional<std::int64_t> count = gpus == nullptr ? std::nullopt : whole_number_of(gpus->word);
  if (!inside.gpus) inside.gpus = count;
  const auto* const reader = std::find_if(kReaders.begin(), kReaders.end(),
                                          [&](const SettingsReader& one) { return one.name == log.format.reader; });
  const bool whole = reader != kReaders.end() && !start.settings.empty();
  std::vector<Setting> settings = whole ? start.settings : std::vector<Setting>{};
  for (const LoggedFact& fact : start.facts) {
    settings.push_back({std::string(kFact) + fact.key, scalar_value(fact.word, fact.where), fact.where, fact.text});
  }
  LoggedRun run{
      log.format.program,
      whole,
      start.parts,
      count,
      gpus == nullptr ? Location{} : gpus->where,
      "",
      {},
      inside.gpus,
      whole ? reader->read({std::move(settings), start.where, files, inside}) : ImportDraft(std::move(settings))};
  if (const LoggedFact* gpu = fact_with(start, "gpu")) {
    run.gpu = gpu->word;
    run.gpu_where = gpu->where;
  }
  for (const LoggedFact& fact : start.facts) {
    if (!is_of_machine(fact)) take_fact(run.draft, fact, whole);
    const Setting* setting = is_of_machine(fact) ? run.draft.find(std::string(kFact) + fact.key) : nullptr;
    if (setting != nullptr) run.draft.use(*setting, fact.key == "gpus" ? "GPUs of the job" : "the GPU's name");
  }
  set_machine(run, context);
  note_other_gpus(run, context);
  return run;
}

// True if two starts train the same: their scenarios are equal.
bool same_job(const LoggedRun& a, const LoggedRun& b) {
  return a.gpus == b.gpus && a.gpu == b.gpu && emit_flow_yaml(a.draft.scenario()) == emit_flow_yaml(b.draft.scenario());
}

// Returns the runs of a log: starts with the same settings are one run.
std::vector<LoggedRun> runs_of(const TrainingLog& log, std::span<const ImportFile> files, const ImportContext& context,
                               std::vector<std::string>& places) {
  std::vector<LoggedRun> out;
  for (const LoggedStart& start : log.starts) {
    LoggedRun run = run_of(log, start, files, context);
    const auto same = std::find_if(out.begin(), out.end(), [&](const LoggedRun& one) { return same_job(one, run); });
    if (same == out.end()) {
      out.push_back(std::move(run));
      places.push_back(start.where.text());
      continue;
    }
    same->parts.insert(same->parts.end(), run.parts.begin(), run.parts.end());
    same->draft.notes.push_back({start.where, "the run starts again here, with the same settings"});
  }
  return out;
}

ImportDraft read_log(std::span<const ImportFile> files, const ImportContext& context) {
  LoggedRun run = read_logged_run(files, context);
  const std::vector<std::string> open = keys_not_stated(run);
  for (const std::string& key : open) {
    run.draft.lack({files.front().name, 0, 0}, key, "the log does not state " + key);
  }
  if (!open.empty()) {
    run.draft.notes.push_back(
        {{files.front().name, 0, 0}, "what the log does not state, its launch script or a scenario says: --with FILE"});
  }
  return std::move(run.draft);
}

}  // namespace

LoggedRun read_logged_run(std::span<const ImportFile> files, const ImportContext& context) {
  const TrainingLog log = read_training_log(files.front(), context.sources.folders.hardware);
  std::vector<std::string> places;
  std::vector<LoggedRun> runs = runs_of(log, files, context, places);
  const int wanted = context.run.value_or(runs.size() == 1 ? 1 : 0);
  if (wanted < 1 || wanted > static_cast<int>(runs.size())) {
    fail_input({files.front().name, 0, 0},
               fmt::format("the log has {} run{} of different settings, which begin at {}", runs.size(),
                           runs.size() == 1 ? "" : "s", fmt::join(places, ", ")),
               fmt::format("say which: --run 1{}", runs.size() == 1 ? "" : fmt::format(" to {}", runs.size())));
  }
  LoggedRun out = std::move(runs[static_cast<std::size_t>(wanted) - 1]);
  out.draft.notes.insert(out.draft.notes.end(), log.notes.begin(), log.notes.end());
  return out;
}

StepSizes sizes_of(const LoggedRun& run) {
  StepSizes out;
  const auto number = [&](std::string_view key) { return number_of(word_under(run.draft, key)); };
  out.sequences = number("training.global_batch");
  out.tokens = number("training.sequence_length");
  if (run.sized_for) out.gpus = static_cast<double>(*run.sized_for);
  return out;
}

MeasuredSteps steps_of(const LoggedRun& run, const StepSizes& sizes, const std::string& file) {
  std::vector<std::string> missing;
  const std::optional<MeasuredSteps> steps = measured_steps(run.parts, sizes, missing);
  if (steps) return *steps;
  if (missing.empty()) fail_input({file, 0, 0}, "the log states its settings, and no time of a step");
  fail_input({file, 0, 0},
             fmt::format("the log states rates, which become seconds with {}: it states none of these",
                         fmt::join(missing, ", ")),
             "give what started the run: --with SCRIPT, or a scenario");
}

std::vector<std::string> keys_not_stated(const LoggedRun& run) {
  if (run.whole) return {};
  std::vector<std::string> out;
  for (const std::string_view key :
       {"model", "training.global_batch", "training.sequence_length", "training.precision", "training.framework",
        "strategy.tensor", "strategy.pipeline", "strategy.context", "strategy.micro_batch"}) {
    if (value_under(run.draft.scenario(), key) == nullptr) out.emplace_back(key);
  }
  return out;
}

// import_job() recognises logs by the lines of logs.yaml.
const ImportFormat kTrainingLog = {"training-log",
                                   "what a training program prints while it runs: settings, and times of steps",
                                   recognises_nothing, read_log};

}  // namespace mirfak
