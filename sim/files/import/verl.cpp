// verl 0.9.1: the actor's engines (verl/workers/engine/fsdp and megatron) and sft_trainer.py. An update has
// ppo_mini_batch_size x rollout.n answers, supervised tuning train_batch_size samples; ranks that share no sequence
// have equal shares of them, in microbatches of so many sequences, or of as many whole ones as so many tokens hold.

#include "import/verl.hpp"

#include "base/text.hpp"
#include "import/deepspeed_json.hpp"
#include "import/hub_model.hpp"
#include "import/hugging_face.hpp"
#include "import/hydra_command.hpp"
#include "import/megatron_dialect.hpp"
#include "import/megatron_options.hpp"
#include "import/megatron_settings.hpp"
#include "import/number_words.hpp"
#include "import/option_reader.hpp"
#include "import/program_facts.hpp"
#include "import/whole_sequences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace mirfak {

namespace {

constexpr std::string_view kVerlFacts = "verl";

// The program that runs, as the facts have it.
struct VerlProgram {
  Location where;
  bool update = false;  // the actor's update, in place of supervised tuning
  bool fixed = false;   // microbatches have so many sequences unless a key says otherwise
  std::optional<std::int64_t> gpus = {};
};

// Sequences and tokens of an iteration, with the options that decide each.
struct VerlBatch {
  Option sequences_by, micro_by, length_by;
  std::int64_t sequences = 0;            // over all ranks
  std::optional<std::int64_t> of_micro;  // absent: the number of GPUs is not known
  std::int64_t length = 0;               // tokens of a sequence at most
  std::string micro_reason;
};

// Reads the sizes of an iteration. `model_ranks`: GPUs that share a sequence.
class VerlSizes {
 public:
  VerlSizes(OptionReader& options, const VerlProgram& program) : options_(options), program_(program) {}

  VerlBatch read(std::int64_t model_ranks, std::int64_t context) {
    VerlBatch out = program_.update ? of_update() : of_tuning();
    const std::optional<std::int64_t> gpus = program_.gpus;
    if (!gpus) {
      options_.draft().obstruct(program_.where,
                                "how many sequences a GPU has follows from their number: give the nodes");
      return out;
    }
    if (*gpus % model_ranks != 0 || out.sequences % (*gpus / model_ranks) != 0) {
      options_.fail(out.sequences_by, fmt::format("{} sequences in equal shares on {} GPUs, {} of which share one",
                                                  out.sequences, *gpus, model_ranks));
    }
    read_micro(out, out.sequences / (*gpus / model_ranks), *gpus / model_ranks, context);
    return out;
  }

 private:
  VerlBatch of_update() {
    VerlBatch out;
    out.sequences_by = options_.option("actor.ppo_mini_batch_size");
    out.sequences = options_.count("actor.ppo_mini_batch_size") * options_.count("rollout.n");
    out.length_by = options_.option("data.max_response_length");
    out.length = options_.count("data.max_prompt_length") + options_.count("data.max_response_length");
    return out;
  }

  VerlBatch of_tuning() {
    VerlBatch out;
    out.sequences_by = options_.option("data.train_batch_size");
    out.sequences = options_.count("data.train_batch_size");
    out.length_by = options_.option("data.max_length");
    out.length = options_.count("data.max_length");
    return out;
  }

  void read_micro(VerlBatch& out, std::int64_t share, std::int64_t data, std::int64_t context) {
    const Option dynamic = options_.option(program_.update ? "actor.use_dynamic_bsz" : "data.use_dynamic_bsz");
    const bool by_tokens = options_.flag(dynamic) && !(program_.fixed && dynamic.setting == nullptr);
    if (by_tokens) return read_tokens(out, share, context);
    out.micro_by =
        options_.option(program_.update ? "actor.ppo_micro_batch_size_per_gpu" : "data.micro_batch_size_per_gpu");
    const Option old = options_.option("actor.ppo_micro_batch_size");
    if (out.micro_by.is_none() && !old.is_none()) {
      out.micro_by = old;
      out.of_micro = std::max<std::int64_t>(1, options_.count(old.name) / data);
      out.micro_reason = fmt::format("over {} data ranks", data);
    } else if (out.micro_by.is_none()) {
      return options_.draft().lack(program_.where, "strategy.micro_batch",
                                   "verl needs actor.ppo_micro_batch_size_per_gpu without use_dynamic_bsz");
    } else {
      out.of_micro = options_.count(out.micro_by.name);
    }
    if (share % *out.of_micro != 0) {
      options_.fail(out.micro_by, fmt::format("a divisor of the {} sequences of a rank", share));
    }
  }

  // Whole sequences of the greatest length that the tokens hold, in equal microbatches.
  void read_tokens(VerlBatch& out, std::int64_t share, std::int64_t context) {
    out.micro_by = options_.option(program_.update ? "actor.ppo_max_token_len_per_gpu" : "data.max_token_len_per_gpu");
    const std::int64_t tokens = options_.count(out.micro_by.name) * context;
    if (tokens < out.length) {
      options_.fail(out.micro_by, fmt::format("at least the {} tokens of a sequence", out.length));
    }
    out.of_micro = whole_sequences(share, tokens, out.length);
    out.micro_reason =
        fmt::format("sequences of {} tokens that {} tokens hold, in equal microbatches", out.length, tokens);
  }

  OptionReader& options_;
  const VerlProgram& program_;
};

// Uses the options that say how an iteration is divided.
void use_sizes(OptionReader& options, const VerlProgram& program) {
  for (const char* name :
       {"rollout.n", "data.max_prompt_length", "actor.use_dynamic_bsz", "data.use_dynamic_bsz",
        "actor.ppo_micro_batch_size_per_gpu", "actor.ppo_micro_batch_size", "data.micro_batch_size_per_gpu",
        "actor.ppo_max_token_len_per_gpu", "data.max_token_len_per_gpu", "trainer.nnodes", "trainer.n_gpus_per_node"}) {
    const Option option = options.option(name);
    if (option.setting != nullptr) options.use(option, "sizes of an iteration");
  }
  const Option prompts = options.option("data.train_batch_size");
  if (program.update && prompts.setting != nullptr)
    options.leave(prompts, "prompts of a step, of which updates are parts");
}

void use_engine(OptionReader& options, const std::string& reason) {
  for (const char* name : {"actor.strategy", "engine.strategy", "engine", "optim", "model_engine", "config_name"}) {
    const Option option = options.option(name);
    if (option.setting != nullptr) options.use(option, reason);
  }
}

void note_iteration(ImportDraft& draft, const VerlProgram& program, const VerlBatch& batch) {
  if (program.update) {
    draft.notes.push_back(
        {program.where,
         fmt::format("an iteration is one update of the actor, by {} answers: generating them, log-probabilities, "
                     "rewards and a critic are left out",
                     batch.sequences)});
  }
  draft.notes.push_back(
      {batch.length_by.setting == nullptr ? program.where : batch.length_by.setting->where,
       fmt::format("sequences are taken to be as long as they may be, {} tokens: say their mean by --set "
                   "training.sequence_length=NUMBER",
                   batch.length)});
}

// The actor under PyTorch's FSDP.
class VerlOnFsdp {
 public:
  VerlOnFsdp(ImportDraft& draft, const ProgramFacts& facts, const ImportContext& context, const VerlProgram& program)
      : facts_(facts),
        context_(context),
        program_(program),
        options_(draft, option_list(context.sources.folders.hardware, kVerlFacts), "verl") {}

  void read() {
    read_hub_model(options_, "model.path", context_);
    options_.read_part("fsdp");
    read_batch();
    read_groups();
    read_adapters();
    read_framework();
    use_engine(options_, "the engine is PyTorch's FSDP");
    facts_.judge_rest(options_.draft());
  }

 private:
  void read_batch() {
    const std::int64_t context = options_.count("engine.ulysses_sequence_parallel_size");
    if (context > 1) {
      options_.put(options_.option("engine.ulysses_sequence_parallel_size"), "strategy.context_communication", "a2a",
                   "heads are divided inside attention");
    }
    const VerlBatch batch = VerlSizes(options_, program_).read(context, context);
    use_sizes(options_, program_);
    options_.put(batch.sequences_by, "training.global_batch", std::to_string(batch.sequences));
    options_.put(batch.length_by, "training.sequence_length", std::to_string(batch.length));
    if (batch.of_micro) {
      options_.put(batch.micro_by, "strategy.micro_batch", std::to_string(*batch.of_micro), batch.micro_reason);
    }
    note_iteration(options_.draft(), program_, batch);
  }

  void read_groups() {
    const Option size = options_.option("engine.fsdp_size");
    const std::int64_t shards = options_.count(size.name);
    if (shards == 0) options_.fail(size, "-1 or a whole number from 1");
    if (shards < 0 || (program_.gpus && shards >= *program_.gpus)) {
      return options_.use(size, "all GPUs share one sharded copy");
    }
    options_.put(size, "strategy.zero_group", std::to_string(shards));
  }

  void read_adapters() {
    const Option rank = options_.option("model.lora_rank");
    const Option targets = options_.option("model.target_modules");
    if (options_.count(rank.name) == 0) {
      options_.leave(rank, "no adapters");
      return options_.leave(targets, "no adapters");
    }
    options_.put(rank, "training.lora.rank", std::to_string(options_.count(rank.name)));
    read_hub_targets(options_, targets, ProgramFacts(context_.sources, "hugging-face"));
  }

  void read_framework() {
    const Option liger = options_.option("model.use_liger");
    const Option type = options_.option("engine.model_dtype");
    const std::string word = options_.word(type, options_.entry(type.name).takes);
    Value framework = with_habits(facts_.section("framework"), facts_.section("habits"));
    if (options_.flag(liger)) framework = with_habits(std::move(framework), facts_.section("liger"));
    options_.use(liger, "training.framework");
    if (word.starts_with("bf")) {
      framework = with_habits(std::move(framework), facts_.section("half_weights"));
      for (const char* key : {"training.first_moment", "training.second_moment"}) {
        options_.put(type, key, "bf16", "the optimizer keeps its state in the type of the parameters");
      }
    }
    options_.put(type, "training.framework", std::move(framework), "PyTorch's FSDP around Transformers' modules");
  }

  const ProgramFacts& facts_;
  const ImportContext& context_;
  const VerlProgram& program_;
  OptionReader options_;
};

// Names the option that decides a size of the iteration as Megatron-LM's, with the size as its value.
void name_size(std::vector<Setting>& settings, const char* name, std::int64_t number, const std::string& by) {
  const bool said = last_of(settings, by) != nullptr;
  if (!said) settings.push_back({by, {}, {}, fmt::format("verl's default of {}", by)});
  for (Setting& setting : settings) {
    if (setting.name != by) continue;
    setting.name = name;
    setting.value = scalar_value(std::to_string(number), setting.where);
  }
}

// Names the sections of Megatron Core's engine as its options, after the engine's own values.
std::vector<Setting> megatron_words(std::vector<Setting> settings, const ProgramFacts& facts) {
  std::vector<Setting> out;
  for (const Value::Field& one : facts.section("defaults").fields) {
    out.push_back({one.key, one.value, {}, fmt::format("verl's own {}: {}", one.key, word_of(one.value))});
    out.back().value.where = out.back().value.key_where = {};
  }
  for (Setting& setting : settings) {
    for (const std::string_view section : {"engine.override_transformer_config.", "engine.override_ddp_config.",
                                           "optim.override_optimizer_config.", "engine.", "optim."}) {
      if (!setting.name.starts_with(section) || facts.judges(setting.name)) continue;
      setting.name.erase(0, section.size());
      break;
    }
    out.push_back(std::move(setting));
  }
  return in_megatron_words(std::move(out), facts);
}

void hold_adapters_back(OptionReader& options) {
  const Option rank = options.option("model.lora_rank");
  if (rank.setting == nullptr) return;
  if (options.count(rank.name) == 0) return options.leave(rank, "no adapters");
  options.use(rank, "adapters");
  options.draft().obstruct(rank.setting->where, "adapters on Megatron Core's engine, which are not read here");
}

ImportDraft import_verl_on_megatron(std::vector<Setting> settings, const ProgramFacts& facts,
                                    const ImportContext& context, const VerlProgram& program) {
  ImportDraft sizes(settings);
  OptionReader options(sizes, option_list(context.sources.folders.hardware, kVerlFacts), "verl");
  const std::int64_t ranks_of_context = options.count("engine.context_parallel_size");
  const VerlBatch batch = VerlSizes(options, program)
                              .read(ranks_of_context * options.count("engine.tensor_model_parallel_size") *
                                        options.count("engine.pipeline_model_parallel_size"),
                                    ranks_of_context);
  name_size(settings, "global_batch_size", batch.sequences, batch.sequences_by.name);
  name_size(settings, "seq_length", batch.length, batch.length_by.name);
  if (batch.of_micro) name_size(settings, "micro_batch_size", *batch.of_micro, batch.micro_by.name);
  ImportDraft draft(megatron_words(std::move(settings), facts));
  leave_python(draft);
  OptionReader words(draft, option_list(context.sources.folders.hardware, kVerlFacts), "verl");
  read_hub_model(words, "model.path", context);
  MegatronRun run{"pretrain_gpt.py", program.where};
  const Value* model = draft.scenario().find("model");
  if (model == nullptr) {
    fail_input(program.where, "model.path: the sizes of the model are not known, and layers are divided by them",
               "give its config.json as well");
  }
  run.model = *model;
  use_sizes(words, program);
  use_engine(words, "the engine is Megatron Core");
  read_megatron_settings(draft, run, context);
  for (const ImportObstacle& lack : sizes.obstacles()) draft.obstruct(lack.where, lack.reason);
  hold_adapters_back(words);
  note_iteration(draft, program, batch);
  facts.judge_rest(draft);
  return draft;
}

// True if a word of these settings, the last that is said, names Megatron Core's engine.
bool is_on_megatron(const std::vector<Setting>& settings) {
  for (const char* name : {"actor.strategy", "engine.strategy", "model_engine", "engine", "config_name"}) {
    const Setting* said = last_of(settings, name);
    if (said != nullptr && said->value.kind == Value::Kind::scalar) {
      return said->value.scalar.find("megatron") != std::string::npos;
    }
  }
  return false;
}

void refuse_other_engines(const std::vector<Setting>& settings, const Value& others) {
  for (const char* name : {"actor.strategy", "engine.strategy", "model_engine", "engine"}) {
    const Setting* said = last_of(settings, name);
    const std::string word = said == nullptr ? "" : word_of(said->value);
    if (std::any_of(others.items.begin(), others.items.end(), [&](const Value& one) { return one.scalar == word; })) {
      fail_input(said->where, fmt::format("{}: an engine of verl that is not read here", excerpt(word)),
                 "describe the training as a scenario: mirfak init writes one to begin with");
    }
  }
}

// Takes the machine that trainer.nnodes and trainer.n_gpus_per_node say, as Ray starts a process on each GPU. What
// depends on values that are not known is not stated.
void take_machine(ImportedMachine& machine, const std::vector<Setting>& settings, const OptionList& list) {
  ImportDraft draft(settings);
  OptionReader options(draft, list, "verl");
  const Option nodes = options.option("trainer.nnodes");
  const Option gpus = options.option("trainer.n_gpus_per_node");
  const auto known = [](const Option& option) { return option.setting == nullptr || option.setting->missing.empty(); };
  if (known(nodes)) machine.nodes = options.count(nodes.name);
  if (known(gpus)) machine.gpus_per_node = options.count(gpus.name);
  machine.said_by = (nodes.setting == nullptr ? "one node by default" : nodes.setting->text) + ", " +
                    (gpus.setting == nullptr ? "8 GPUs of a node by default" : gpus.setting->text);
}

}  // namespace

ImportDraft import_verl_command(const LaunchCommand& command, std::vector<Setting> others,
                                std::span<const ImportFile> files, const ImportContext& context) {
  const ProgramFacts facts(context.sources, kVerlFacts);
  const HydraCommand words = hydra_command(command.arguments);
  std::vector<Setting> settings = words.options;
  for (Setting& setting : changed_settings(words, words.file(files), context)) settings.push_back(std::move(setting));
  facts.rename(settings);
  const Value* tuning = facts.section("tuning").find(command.program);
  VerlProgram program{command.program_where};
  program.update = tuning == nullptr;
  program.fixed = tuning != nullptr && text_under(*tuning, "fixed") == "true";
  ImportedMachine machine = command.machine;
  if (program.update || !machine.gpus()) {
    take_machine(machine, settings, option_list(context.sources.folders.hardware, kVerlFacts));
  }
  program.gpus = machine.gpus() ? machine.gpus() : context.gpus;
  refuse_other_engines(settings, facts.section("other_engines"));
  if (std::optional<Setting> model = model_among(files)) settings.push_back(std::move(*model));
  for (Setting& setting : others) settings.push_back(std::move(setting));
  ImportContext inside = context;
  inside.gpus = program.gpus;
  if (is_on_megatron(settings)) {
    ImportDraft draft = import_verl_on_megatron(std::move(settings), facts, inside, program);
    draft.machine = machine;
    return draft;
  }
  ImportDraft draft(std::move(settings));
  VerlOnFsdp(draft, facts, inside, program).read();
  draft.machine = machine;
  return draft;
}

}  // namespace mirfak
