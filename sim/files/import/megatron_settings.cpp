// Names, defaults and requirements: NVIDIA/Megatron-LM core_v0.19.0, megatron/training/arguments.py (and the classes
// that it makes arguments of), older names of the releases since 2.0, and those of Megatron-DeepSpeed.

#include "import/megatron_settings.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/argument_words.hpp"
#include "import/megatron_reading.hpp"
#include "import/number_words.hpp"
#include "model/model_loader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace mirfak {

namespace {

bool mentions(const std::string& text, std::string_view word) { return text.find(word) != std::string::npos; }

// Returns the program by the script's name, else by options that only one program has.
MegatronProgram program_of(MegatronReading& reading) {
  MegatronOptions& options = reading.options;
  const std::string& script = reading.run.program;
  if (mentions(script, "t5")) return MegatronProgram::t5;
  if (mentions(script, "bert")) return MegatronProgram::bert;
  if (options.said({"hybrid-layer-pattern", "hybrid-override-pattern"}) != nullptr) return MegatronProgram::hybrid;
  if (mentions(script, "gpt")) return MegatronProgram::gpt;
  if (options.said({"encoder-seq-length"}) != nullptr && options.said({"decoder-seq-length"}) != nullptr) {
    return MegatronProgram::t5;
  }
  const Setting* data = options.said({"data-path"});
  const bool named = data != nullptr && mentions(word_of(data->value), "bert");
  return named ? MegatronProgram::bert : MegatronProgram::gpt;
}

// Leaves options that revoke themselves, then judges the others by the program's facts.
void judge_the_rest(MegatronReading& reading) {
  ImportDraft& draft = reading.draft;
  for (const Setting* setting : draft.open()) {
    if (!setting->name.starts_with("--") || draft.latest(setting->name) != setting) continue;
    if (!says_no(setting->value)) continue;
    draft.leave(*setting, "as if it were not said");
  }
  reading.facts.judge_rest(draft, "--");
}

void require_known(MegatronReading& reading) {
  const std::vector<std::string>& missing = reading.options.missing();
  if (missing.empty()) return;
  Location where = reading.run.where;
  std::string option;
  for (const ImportLine& line : reading.draft.lines()) {
    if (!option.empty() || !mentions(line.reason, "its value is not known")) continue;
    where = line.where;
    option = line.text;
  }
  fail_input(
      where,
      fmt::format("{}: the layout depends on values that are not known: {}", excerpt(option), fmt::join(missing, ", ")),
      way_to_state(missing));
}

// Reads what a capacity of experts leaves out and pads, which is no size of the model.
void read_capacity(MegatronReading& reading) {
  if (reading.experts == 0) return;
  reading.options.read("moe-expert-capacity-factor");
  reading.options.read("moe-pad-expert-input-to-capacity");
}

// Reads a model whose sizes are not among the options.
void read_named_model(MegatronReading& reading, const ImportContext& context) {
  const ModelSpec model = imported_model(reading.run.model, reading.run.where, context.sources);
  if (!reading.run.model_reason.empty()) reading.draft.assume("model", reading.run.model, reading.run.model_reason);
  reading.layers = model.layers;
  reading.hidden = model.hidden;
  reading.heads = model.heads;
  reading.experts = model.mixture.experts;
  read_capacity(reading);
  const std::optional<std::int64_t> length = reading.options.count({"seq-length", "encoder-seq-length"});
  reading.sequence = length.value_or(model.max_sequence);
  if (!length) return;
  reading.options.read("seq-length");
}

}  // namespace

std::string megatron_option_name(std::string_view name) {
  while (name.starts_with('-')) name.remove_prefix(1);
  std::string out = "--" + std::string(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

std::int64_t MegatronReading::count(std::string_view name) { return whole_number_of(options.read(name)).value_or(0); }

std::int64_t MegatronReading::count(std::string_view name, std::int64_t fallback, const std::string& why) {
  return whole_number_of(options.read(name, std::to_string(fallback), why)).value_or(0);
}

std::int64_t MegatronReading::number_under(std::string_view key) const {
  return whole_number_of(word_under(draft, key)).value_or(0);
}

std::optional<std::int64_t> MegatronReading::replicas() const {
  if (!gpus || *gpus % (tensor * pipeline) != 0) return std::nullopt;
  return *gpus / (tensor * pipeline);
}

void read_megatron_settings(ImportDraft& draft, const MegatronRun& run, const ImportContext& context) {
  const ProgramFacts facts(context.sources, "megatron");
  const OptionList& list = option_list(context.sources.folders.hardware, "megatron");
  MegatronOptions options(draft, list);
  MegatronReading reading{draft, options, run, facts, context.gpus};
  if (!reading.gpus) reading.gpus = draft.machine.gpus();
  reading.program = program_of(reading);
  const Setting* deepspeed = reading.options.flag({"deepspeed"});
  reading.deepspeed = deepspeed != nullptr;
  read_megatron_parallelism(reading);
  const bool named = run.model.kind != Value::Kind::null;
  if (named) read_named_model(reading, context);
  if (!named) read_megatron_model(reading);
  read_megatron_pipeline(reading);
  read_megatron_strategy(reading);
  read_megatron_training(reading);
  read_megatron_framework(reading);
  hold_back(draft, "--", facts.section("held_back"));
  check_megatron_requirements(reading);
  require_known(reading);
  judge_the_rest(reading);
}

}  // namespace mirfak
