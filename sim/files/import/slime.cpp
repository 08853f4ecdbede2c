// THUDM/slime 624b824a8: slime/utils/arguments.py, slime/backends/megatron_utils/arguments.py and data.py. Samples are
// not padded, so --seq-length says nothing of them; microbatches are of --micro-batch-size samples, or of as many as
// --max-tokens-per-gpu hold on the ranks that share one.

#include "import/slime.hpp"

#include "base/text.hpp"
#include "import/argument_words.hpp"
#include "import/megatron_options.hpp"
#include "import/megatron_settings.hpp"
#include "import/number_words.hpp"
#include "import/program_facts.hpp"
#include "import/whole_sequences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace mirfak {

namespace {

// The options of a command by their names; those that decide a size are renamed to Megatron-LM's.
class SlimeSettings {
 public:
  SlimeSettings(std::vector<Setting>& settings, Location where) : settings_(settings), where_(std::move(where)) {}

  // Returns the number that an option states; nullopt: it is not stated.
  std::optional<std::int64_t> number(const char* name) const {
    const Setting* setting = last_of(settings_, name);
    if (setting == nullptr) return std::nullopt;
    if (!setting->missing.empty()) {
      fail_input(setting->where,
                 fmt::format("{}: its value depends on {}, which is not known", name, join_or(setting->missing)),
                 way_to_state(setting->missing));
    }
    const std::optional<std::int64_t> value = whole_number_of(word_of(setting->value));
    constexpr std::int64_t kMost = std::int64_t{1} << 30;
    if (!value || *value < 1 || *value > kMost) {
      fail_input(setting->where, fmt::format("{}: expected a whole number from 1 to {}, found '{}'", name, kMost,
                                             excerpt(word_of(setting->value))));
    }
    return value;
  }

  bool has(const char* name) const { return last_of(settings_, name) != nullptr; }

  // States a size under Megatron-LM's name, at the place of the option that decides it.
  void state(const char* name, std::int64_t value, const char* by) {
    std::erase_if(settings_, [&](const Setting& setting) { return setting.name == name && setting.name != by; });
    for (Setting& setting : settings_) {
      if (setting.name != by) continue;
      setting.name = name;
      setting.value = scalar_value(std::to_string(value), setting.where);
    }
  }

  void add_default(const char* name, Value value, const char* text) {
    if (!has(name)) settings_.push_back({name, std::move(value), {}, text});
  }

  const Location& where() const { return where_; }

 private:
  std::vector<Setting>& settings_;
  Location where_;
};

void take_batch(SlimeSettings& settings) {
  const auto prompts = settings.number("--rollout-batch-size");
  const auto answers = settings.number("--n-samples-per-prompt").value_or(1);
  const auto steps = settings.number("--num-steps-per-rollout");
  if (steps && prompts) settings.state("--global-batch-size", *prompts * answers / *steps, "--num-steps-per-rollout");
  if (!settings.has("--global-batch-size")) {
    fail_input(settings.where(),
               "slime needs --global-batch-size, or --num-steps-per-rollout beside --rollout-batch-size");
  }
}

// Takes the longest samples for the length; returns it, nullopt if nothing bounds them.
std::optional<std::int64_t> take_length(SlimeSettings& settings) {
  const auto context = settings.number("--rollout-max-context-len");
  const auto answer = settings.number("--rollout-max-response-len");
  const auto prompt = settings.number("--rollout-max-prompt-len").value_or(0);
  if (!context && !answer) return settings.number("--seq-length");
  const std::int64_t length = context ? *context : *answer + prompt;
  settings.state("--seq-length", length, context ? "--rollout-max-context-len" : "--rollout-max-response-len");
  return length;
}

void take_microbatch(SlimeSettings& settings, std::int64_t gpus, std::int64_t length) {
  if (!settings.has("--use-dynamic-batch-size")) return;
  const auto tokens = settings.number("--max-tokens-per-gpu");
  if (!tokens) fail_input(settings.where(), "--use-dynamic-batch-size needs --max-tokens-per-gpu");
  const std::int64_t context = settings.number("--context-parallel-size").value_or(1);
  const std::int64_t ranks = context * settings.number("--tensor-model-parallel-size").value_or(1) *
                             settings.number("--pipeline-model-parallel-size").value_or(1);
  const std::int64_t batch = *settings.number("--global-batch-size");
  if (gpus % ranks != 0 || batch % (gpus / ranks) != 0) {
    fail_input(settings.where(),
               fmt::format("{} samples have no equal shares on {} GPUs, {} of which share one", batch, gpus, ranks));
  }
  // A sample that is longer than the tokens is a microbatch of its own.
  settings.state("--micro-batch-size",
                 whole_sequences(batch / (gpus / ranks), std::max(*tokens * context, length), length),
                 "--max-tokens-per-gpu");
}

ImportedMachine machine_of_actor(const SlimeSettings& settings) {
  ImportedMachine out;
  out.nodes = settings.number("--actor-num-nodes").value_or(1);
  out.gpus_per_node = settings.number("--actor-num-gpus-per-node").value_or(8);
  out.said_by = "--actor-num-nodes and --actor-num-gpus-per-node";
  return out;
}

}  // namespace

ImportDraft import_slime_command(const LaunchCommand& command, std::vector<Setting> others,
                                 const ImportContext& context) {
  const ProgramFacts facts(context.sources, "slime");
  std::vector<Setting> settings = settings_of_arguments(command.arguments);
  SlimeSettings own(settings, command.program_where);
  const ImportedMachine machine = machine_of_actor(own);
  take_batch(own);
  const std::optional<std::int64_t> length = take_length(own);
  if (length) take_microbatch(own, *machine.gpus(), *length);
  own.add_default("--use-distributed-optimizer", {}, "slime always shards the optimizer");
  if (!own.has("--fp16")) own.add_default("--bf16", {}, "slime's default");
  if (const Setting* checkpoint = last_of(settings, "--hf-checkpoint"); !own.has("--tokenizer-model")) {
    if (checkpoint != nullptr) settings.push_back({"--tokenizer-model", checkpoint->value, {}, checkpoint->text});
  }
  for (Setting& setting : others) settings.push_back(std::move(setting));
  ImportDraft draft(std::move(settings));
  draft.machine = machine;
  ImportContext inside = context;
  inside.gpus = machine.gpus();
  read_megatron_settings(draft, {"pretrain_gpt.py", command.program_where}, inside);
  facts.judge_rest(draft, "--");
  if (!length) {
    draft.lack(command.program_where, "training.sequence_length",
               "nothing says how long samples are: say --set training.sequence_length=NUMBER");
  }
  draft.notes.push_back({command.program_where,
                         "an iteration is one update of the actor: generating its samples, log-probabilities, rewards "
                         "and a critic are left out"});
  draft.notes.push_back({command.program_where,
                         "samples are taken to be as long as they may be: say their mean by --set "
                         "training.sequence_length=NUMBER"});
  return draft;
}

}  // namespace mirfak
