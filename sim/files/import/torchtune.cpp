// pytorch/torchtune bd2a0fc7c: recipes/full_finetune_distributed.py and its neighbours, torchtune/config/_utils.py
// (changes by the command line), torchtune/training/_distributed.py (ParallelDims, shard_model),
// torchtune/models/*/_model_builders.py. The global batch is batch_size x gradient_accumulation_steps x data ranks.

#include "import/torchtune.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/deepspeed_json.hpp"
#include "import/interpolation.hpp"
#include "import/number_words.hpp"
#include "import/option_reader.hpp"
#include "import/preference_options.hpp"
#include "import/program_facts.hpp"
#include "import/yaml_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace mirfak {

namespace {

constexpr std::string_view kComponent = "._component_";

// The recipe that runs, as the facts have it.
struct TuneRecipe {
  std::string name;  // "": no command says it
  Location where;
  bool adapters = false;
  bool distributed = true;
  bool compares = false;  // answers, with a loss for that
};

std::string last_part(const std::string& path) { return path.substr(path.rfind('.') + 1); }

class TorchtuneReader {
 public:
  TorchtuneReader(ImportDraft& draft, const ProgramFacts& facts, const ImportContext& context, TuneRecipe recipe)
      : facts_(facts),
        context_(context),
        recipe_(std::move(recipe)),
        options_(draft, option_list(context.sources.folders.hardware, "torchtune"), "torchtune") {}

  void read() {
    read_model();
    read_lengths();
    options_.read_part("ranks");
    read_data();
    read_batch();
    read_precision();
    read_preferences();
    options_.read("optimizer._component_");
    read_recomputation();
    read_framework();
    facts_.judge_rest(options_.draft());
  }

 private:
  void read_model() {
    const Option builder = options_.option("model._component_");
    std::string name = builder.is_none() ? "" : last_part(options_.word(builder));
    const bool quantized = name.starts_with("qlora_");
    const bool adapters = quantized || name.starts_with("lora_");
    if (adapters) name.erase(0, name.find('_') + 1);
    if (recipe_.name.empty()) recipe_.adapters = adapters;
    if (adapters != recipe_.adapters) {
      options_.draft().obstruct(builder.value.where,
                                fmt::format("{} trains {}: its builder of the model does not fit", recipe_.name,
                                            recipe_.adapters ? "adapters" : "whole models"));
    }
    take_model(builder, name);
    if (!adapters) {
      options_.leave_part("targets", "no adapters");
      return options_.leave_part("adapters", "no adapters");
    }
    options_.read_part("adapters");
    if (quantized) options_.put(builder, "training.lora.base", "nf4-double", "the builder keeps the frozen weights so");
    read_targets();
  }

  void take_model(const Option& builder, const std::string& name) {
    if (const Setting* config = options_.draft().find("config.json")) {
      options_.draft().take(*config, "model", config->value);
      return options_.use(builder, "its config.json is here");
    }
    const Value* known = facts_.section("models").find(name);
    if (known == nullptr) {
      options_.doubt(builder, "no shape is known of it");
      const Location where = builder.setting == nullptr ? Location{} : builder.setting->where;
      return options_.draft().lack(
          where, "model",
          fmt::format("no shape is known of the builder {}: give its config.json as well, or --set model=NAME",
                      excerpt(name)));
    }
    const KnownModel model = known_model(*known, facts_.section("common"), name, context_.sources);
    layers_ = layers_of_model(model.model, context_.sources);
    options_.put(builder, "model", model.model, model.note);
  }

  void read_targets() {
    const Option attention = options_.option("model.lora_attn_modules");
    const Option mlp = options_.option("model.apply_lora_to_mlp");
    std::vector<std::string> layers;
    const auto add = [&](const std::string& layer) {
      if (std::find(layers.begin(), layers.end(), layer) == layers.end()) layers.push_back(layer);
    };
    for (const Value& item : attention.value.items) {
      const Value* layer = facts_.section("adapter_targets").find(item.scalar);
      if (layer == nullptr) options_.fail(attention, "q_proj, k_proj, v_proj or output_proj");
      add(layer->scalar);
    }
    if (options_.flag(mlp)) add("fc1"), add("fc2");
    const Location where = attention.setting == nullptr ? Location{} : attention.setting->where;
    options_.put(attention, "training.lora.targets", list_value(layers, where));
    options_.use(mlp, "in training.lora.targets");
  }

  void read_lengths() {
    const Option length = options_.option("tokenizer.max_seq_len");
    const Option packed = options_.option("dataset.packed");
    if (!length.is_none()) {
      options_.put(length, "training.sequence_length", std::to_string(options_.count(length.name)),
                   "samples are taken to be that long");
    } else {
      options_.draft().lack(length.setting == nullptr ? recipe_.where : length.setting->where,
                            "training.sequence_length",
                            "no tokenizer.max_seq_len: samples are as long as they are; say --set "
                            "training.sequence_length=NUMBER");
    }
    options_.read(packed.name);
  }

  std::int64_t count_of(const char* name) { return options_.count(name); }

  void read_data() {
    const Option shard = options_.option("data_parallel_shard_dim");
    const Option replicate = options_.option("data_parallel_replicate_dim");
    const std::int64_t others =
        count_of("tensor_parallel_dim") * count_of("context_parallel_dim") * count_of("data_parallel_replicate_dim");
    const std::int64_t said = count_of("data_parallel_shard_dim");
    if (said == 0) options_.fail(shard, "-1 or a whole number from 1");
    std::optional<std::int64_t> shards;
    if (said > 0) shards = said;
    if (said < 0 && !recipe_.distributed) shards = 1;
    if (said < 0 && !shards && context_.gpus && *context_.gpus % others == 0) shards = *context_.gpus / others;
    const std::int64_t replicas = count_of("data_parallel_replicate_dim");
    if (shards) data_ = *shards * replicas;
    if (data_) options_.put(shard, "strategy.data", std::to_string(*data_));
    if (!data_) options_.use(shard, "strategy.data is what is left of the GPUs");
    const bool sharded = recipe_.distributed && (!shards || *shards * count_of("context_parallel_dim") > 1);
    options_.use(replicate, replicas > 1 ? "copies of what is sharded" : "one copy of what is sharded");
    if (sharded) return read_sharding(shard, replicate, shards);
    options_.leave_part("sharding", "nothing is sharded");
    options_.put(replicate, "strategy.zero", "0", "one device has all of it");
    if (replicas > 1) {
      options_.draft().obstruct(replicate.value.where,
                                "data_parallel_replicate_dim: the recipe joins no replicas that are not sharded");
    }
  }

  void read_sharding(const Option& shard, const Option& replicate, std::optional<std::int64_t> shards) {
    options_.read_part("sharding");
    if (count_of("data_parallel_replicate_dim") == 1) return;
    if (shards) {
      options_.put(shard, "strategy.zero_group", std::to_string(*shards * count_of("context_parallel_dim")));
    } else {
      options_.doubt(replicate, "the size of a sharding group follows from the number of GPUs: give the nodes");
    }
  }

  void read_batch() {
    const Option micro = options_.option("batch_size");
    const Option steps = options_.option("gradient_accumulation_steps");
    if (micro.is_none()) return options_.draft().lack(recipe_.where, "training.global_batch", "batch_size is not said");
    options_.read(micro.name);
    options_.use(steps, "microbatches of a GPU in a step");
    if (!data_) {
      return options_.draft().obstruct(micro.setting->where,
                                       "the global batch is that of a GPU times the data ranks: give the nodes");
    }
    const std::int64_t sequences = options_.count(micro.name);
    const std::int64_t parts = options_.count(steps.name);
    options_.put(micro, "training.global_batch", std::to_string(sequences * parts * *data_),
                 fmt::format("{} in each of {} steps on {} data ranks", sequences, parts, *data_));
  }

  void read_precision() {
    const Option type = options_.option("dtype");
    const Option narrow = options_.option("enable_fp8_training");
    options_.read(type.name);
    half_ = options_.word(type) != "fp32";
    const bool eight = options_.flag(narrow);
    if (eight) options_.use(narrow, "training.precision");
    if (eight) options_.read("fp8_recipe_name");
    if (!eight) options_.leave_part("eight bits", "no products in 8 bits");
    const Option optimizer = options_.option("optimizer._component_");
    const auto& kept = facts_.section("moments_as_parameters").items;
    const bool as_parameters = !optimizer.is_none() && std::any_of(kept.begin(), kept.end(), [&](const Value& one) {
      return one.scalar == options_.word(optimizer);
    });
    if (!half_ || !as_parameters) return;
    options_.put(type, "training.first_moment", "bf16", "the optimizer keeps its state in the type of the parameters");
    options_.put(type, "training.second_moment", "bf16");
  }

  // Reads recomputation: of all layers by enable_activation_checkpointing, of some by ac_mode, and with both of none.
  void read_recomputation() {
    const Option all = options_.option("enable_activation_checkpointing");
    const Option mode = options_.option("ac_mode");
    const Option every = options_.option("ac_option");
    const bool whole = options_.flag(all);
    if (mode.is_none()) {
      options_.put(all, "strategy.recompute", whole ? "full" : "none");
      if (every.setting != nullptr) options_.leave(every, "only with ac_mode");
      return;
    }
    options_.word(mode, options_.entry(mode.name).takes);
    if (whole) {
      options_.put(all, "strategy.recompute", "none", "with ac_mode, which the recipe then does not use either");
      return options_.use(mode, "not used beside enable_activation_checkpointing");
    }
    options_.use(all, "ac_mode says which layers");
    if (options_.word(mode) == "selective" && !every.is_none()) return read_every_nth(mode, every);
    options_.put(mode, "strategy.recompute", options_.word(mode) == "none" ? "none" : "full");
    if (every.setting != nullptr) options_.leave(every, "only with ac_mode: selective");
  }

  void read_every_nth(const Option& mode, const Option& every) {
    const std::int64_t n = options_.integer(every, 0, 10'000);
    if (n > 1 && !layers_) {
      options_.use(mode, "see ac_option");
      return options_.doubt(every, "the number of these layers depends on the model, which is not known");
    }
    const std::int64_t layers = n > 1 ? *layers_ / n : 0;
    options_.put(mode, "strategy.recompute", n > 1 && layers == 0 ? "none" : "full");
    options_.use(every, "how many layers are computed again");
    if (layers > 0) options_.put(every, "strategy.recompute_layers", std::to_string(layers), "every so many-th");
  }

  // Returns whether a part is compiled: by `compile`, or one of its keys.
  bool compiles(std::string_view part) {
    const Option whole = options_.option("compile");
    const Option of_part = options_.option(fmt::format("compile.{}", part));
    if (of_part.setting != nullptr) return options_.flag(of_part);
    const bool parts =
        options_.draft().find("compile.model") != nullptr || options_.draft().find("compile.loss") != nullptr;
    return parts || (!whole.is_none() && options_.flag(whole));
  }

  void read_preferences() {
    const Value& section = facts_.section("preferences");
    const Value* const kind = preference_kind(options_, section, recipe_.name);
    if (kind != nullptr) return mirfak::read_preferences(options_, section, *kind, context_.sources);
    if (!recipe_.compares) return;
    options_.draft().obstruct(recipe_.where,
                              fmt::format("{} compares answers: its loss does not, or is not known", recipe_.name));
  }

  void read_loss(Value& framework) {
    const Option loss = options_.option("loss._component_");
    if (loss.is_none()) return;
    const Value* known = facts_.section("losses").find(options_.word(loss));
    if (known == nullptr) {
      options_.doubt(loss, "a loss that mirfak does not know");
      return options_.draft().obstruct(loss.setting->where,
                                       fmt::format("{}: a loss that mirfak does not know: describe "
                                                   "the job as a scenario",
                                                   excerpt(options_.word(loss))));
    }
    options_.use(loss, "training.framework");
    framework = with_habits(std::move(framework), *known);
  }

  void read_framework() {
    const bool compiled = compiles("model");
    Value framework = scalar_value(facts_.section("frameworks").find(compiled ? "compiled" : "eager")->scalar, {});
    read_loss(framework);
    const Option clip = options_.option("clip_grad_norm");
    const Value* traffic = facts_.section("steps").find(half_ ? "half" : "full");
    framework = with_habits(std::move(framework), *traffic->find(clip.is_none() ? "plain" : "clipped"));
    options_.use(clip, "the step reads gradients for their norm, and scales them");
    const Option units = options_.option("custom_sharded_layers");
    if (!units.is_none()) {
      options_.use(units, "embedding and head are units of their own");
      framework = with_habit(std::move(framework), "sharding", "root_unit", scalar_value("false", {}));
    }
    options_.put(options_.option("compile"), "training.framework", std::move(framework),
                 compiled ? "layers are compiled" : "PyTorch's own kernels");
    for (const char* part : {"model", "loss", "optimizer_step", "scale_grads"}) {
      const Option of_part = options_.option(fmt::format("compile.{}", part));
      if (of_part.setting != nullptr) options_.use(of_part, "training.framework");
    }
  }

  const ProgramFacts& facts_;
  const ImportContext& context_;
  TuneRecipe recipe_;
  OptionReader options_;
  std::optional<std::int64_t> layers_;
  std::optional<std::int64_t> data_;  // data ranks, if the number of GPUs is known
  bool half_ = true;                  // parameters are kept in 16 bits
};

Value root_of_tune_file(const ImportFile& file, const ImportContext& context) {
  Value root = parse_yaml(file.text, file.name);
  fill_interpolations(root, context.environment);
  return root;
}

ImportDraft import_torchtune(std::vector<Setting> settings, std::span<const ImportFile> files,
                             const ImportContext& context, TuneRecipe recipe) {
  const ProgramFacts facts(context.sources, "torchtune");
  for (Setting& setting : settings) {
    if (setting.missing.empty()) setting.missing = missing_names(setting.value);
  }
  if (std::optional<Setting> model = model_among(files)) settings.push_back(std::move(*model));
  ImportDraft draft(std::move(settings));
  TorchtuneReader(draft, facts, context, std::move(recipe)).read();
  return draft;
}

// Removes the settings of a key, ~key: those of its mapping, too.
void remove_key(std::vector<Setting>& settings, const ArgumentWord& word) {
  const std::string key = word.text.substr(1, word.text.find('=') - 1);
  const auto gone = std::erase_if(
      settings, [&](const Setting& setting) { return setting.name == key || setting.name.starts_with(key + "."); });
  if (gone == 0) fail_input(word.where, fmt::format("{}: the configuration has no such key", excerpt(word.text)));
}

// Adds what key=value says; a key that a component has stands for the component.
void add_change(std::vector<Setting>& settings, const ArgumentWord& word) {
  Setting setting = setting_of_change(word);
  if (last_of(settings, setting.name + std::string(kComponent)) != nullptr) setting.name += kComponent;
  settings.push_back(std::move(setting));
}

// The words of a command: options of torchrun, the recipe, --config FILE, and changes of the file.
struct TuneWords {
  std::span<const ArgumentWord> launcher;
  const ArgumentWord* recipe = nullptr;
  const ArgumentWord* config = nullptr;
  std::vector<const ArgumentWord*> changes;
};

TuneWords words_of_command(const LaunchCommand& command, const Value& recipes) {
  TuneWords out;
  const std::vector<ArgumentWord>& words = command.arguments;
  std::size_t next = 0;
  const auto is_recipe = [&](const std::string& text) {
    const std::string name = base_name(text);
    return recipes.find(name.ends_with(".py") ? name.substr(0, name.size() - 3) : name) != nullptr ||
           name.ends_with(".py");
  };
  if (command.starts_itself()) {
    while (next < words.size() && !is_recipe(words[next].text)) ++next;
    out.launcher = std::span(words).first(next);
    if (next < words.size()) out.recipe = &words[next++];
  }
  for (; next < words.size(); ++next) {
    const std::string& text = words[next].text;
    if (text == "--config" && next + 1 < words.size()) {
      out.config = &words[++next];
    } else if (!text.empty()) {
      out.changes.push_back(&words[next]);
    }
  }
  return out;
}

TuneRecipe recipe_of(const LaunchCommand& command, const TuneWords& words, const Value& recipes) {
  const Location where = words.recipe == nullptr ? command.program_where : words.recipe->where;
  std::string name = base_name(words.recipe == nullptr ? command.program : words.recipe->text);
  if (name.ends_with(".py")) name.erase(name.size() - 3);
  const Value* known = recipes.find(name);
  if (known == nullptr) {
    fail_input(where, fmt::format("{}: not a recipe of torchtune's that mirfak knows", excerpt(name)),
               "describe the training as a scenario: mirfak init writes one to begin with");
  }
  const std::string refused = text_under(*known, "refused");
  if (!refused.empty()) fail_input(where, fmt::format("{}, a recipe of torchtune: {}", name, refused));
  const auto is = [&](std::string_view key) { return text_under(*known, key) == "true"; };
  return {name, where, is("adapters"), is("distributed"), is("compares")};
}

}  // namespace

bool is_torchtune_file(const ImportFile& file) {
  const std::optional<Value> root = mapping_mentioning(file, {"_component_"});
  if (!root) return false;
  const auto built = [&](std::string_view key) {
    const Value* part = mapping_under(*root, key);
    return part != nullptr && part->find("_component_") != nullptr;
  };
  return built("model") && (built("tokenizer") || built("optimizer") || built("checkpointer") || built("loss"));
}

ImportDraft import_torchtune_command(const LaunchCommand& command, std::vector<Setting> others,
                                     std::span<const ImportFile> files, const ImportContext& context) {
  const Value& recipes = ProgramFacts(context.sources, "torchtune").section("recipes");
  const TuneWords words = words_of_command(command, recipes);
  TuneRecipe recipe = recipe_of(command, words, recipes);
  if (words.config == nullptr) fail_input(recipe.where, "a recipe of torchtune needs --config FILE");
  const ImportFile* file = file_named(files, words.config->text);
  if (file == nullptr) {
    fail_input(words.config->where,
               fmt::format("{}: a configuration of torchtune that is not among the files", excerpt(words.config->text)),
               "give it, too: tune cp writes those that torchtune brings");
  }
  std::vector<Setting> settings = settings_of(root_of_tune_file(*file, context));
  for (const ArgumentWord* word : words.changes) {
    word->text.starts_with('~') ? remove_key(settings, *word) : add_change(settings, *word);
  }
  for (Setting& setting : others) settings.push_back(std::move(setting));
  LaunchCommand launch = command;
  if (command.starts_itself()) launch = machine_of(words.launcher, std::move(launch));
  if (!recipe.distributed) {
    launch.machine.nodes = launch.machine.gpus_per_node = 1;
    launch.machine.exact = true;
    launch.machine.said_by = recipe.name + ", which runs on one device";
  }
  ImportContext inside = context;
  if (!inside.gpus) inside.gpus = launch.machine.gpus();
  std::vector<ImportFile> beside;
  for (const ImportFile& one : files) {
    if (one.name != file->name) beside.push_back(one);
  }
  ImportDraft draft = import_torchtune(std::move(settings), beside, inside, std::move(recipe));
  draft.machine = launch.machine;
  return draft;
}

static ImportDraft read_torchtune_file(std::span<const ImportFile> files, const ImportContext& context) {
  const Location where{files.front().name, 1, 1};
  ImportDraft draft = import_torchtune(settings_of(root_of_tune_file(files.front(), context)), files.subspan(1),
                                       context, {"", where, false, true});
  draft.notes.push_back({where, "no command says which recipe runs: a distributed one is taken"});
  return draft;
}

const ImportFormat kTorchtune = {"torchtune-yaml",
                                 "torchtune's YAML of a recipe: model and tokenizer with _component_, ...",
                                 is_torchtune_file, read_torchtune_file};

}  // namespace mirfak
