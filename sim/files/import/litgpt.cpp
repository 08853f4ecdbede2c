// Lightning-AI/litgpt 0.5.13: pretrain.py, finetune/full.py and finetune/lora.py (setup: their arguments are the keys),
// args.py (global_batch_size is divided over devices, and rounded down to whole microbatches), config.py (Config).
// Lightning Fabric: strategies/fsdp.py (units are layers), plugins/precision/fsdp.py ("true": all in that type).

#include "import/litgpt.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/deepspeed_json.hpp"
#include "import/number_words.hpp"
#include "import/option_reader.hpp"
#include "import/option_words.hpp"
#include "import/program_facts.hpp"
#include "import/yaml_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace mirfak {

namespace {

constexpr std::string_view kConfigOfModel = "model_config.";
constexpr std::string_view kConfigOfFile = "#model_config.";  // of a model_config.yaml
constexpr std::int64_t kMostDevicesOfNode = 1'048'576;

// The command that runs, as the facts have it.
struct LitCommand {
  std::string name;
  Location where;
  const Value* facts = nullptr;
};

// True if the command refuses a value of this key, which other commands have.
bool refuses(const LitCommand& command, const std::string& key) {
  const std::vector<Value>& patterns = command.facts->find("refuses")->items;
  return std::any_of(patterns.begin(), patterns.end(), [&](const Value& pattern) {
    const bool star = pattern.scalar.ends_with('*');
    const std::string_view begin = std::string_view(pattern.scalar).substr(0, pattern.scalar.size() - (star ? 1 : 0));
    return star ? key.starts_with(begin) : key == begin;
  });
}

class LitGptReader {
 public:
  LitGptReader(ImportDraft& draft, const ProgramFacts& facts, const ImportContext& context, LitCommand command)
      : facts_(facts),
        context_(context),
        command_(std::move(command)),
        options_(draft, option_list(context.sources.folders.hardware, "litgpt"), "litgpt") {
    options_.replace_defaults(*command_.facts->find("defaults"));
  }

  void read() {
    facts_.refuse_unknown(options_.draft(), "litgpt");
    refuse_keys_of_others();
    read_model();
    read_length();
    read_devices();
    read_precision();
    read_adapters();
    read_optimizer();
    read_batch();
    read_sharding();
    read_framework();
    facts_.judge_rest(options_.draft());
  }

 private:
  bool says(const char* key) const { return text_under(*command_.facts, key) == "true"; }

  // Adds an obstacle for a key that another command has, and this one refuses.
  void refuse_keys_of_others() {
    for (const Setting* setting : options_.draft().open()) {
      if (!refuses(command_, setting->name)) continue;
      options_.draft().suggest(*setting, "a key of another command");
      options_.draft().obstruct(setting->where, fmt::format("{}: {} refuses this key", setting->name, command_.name));
    }
  }

  // Reads the model: a Config that is stated, that of a checkpoint's model_config.yaml, or one by name.
  void read_model() {
    const Option name = options_.option(text_under(*command_.facts, "model"));
    if (const Setting* file = options_.draft().find("config.json")) {
      options_.draft().take(*file, "model", file->value);
      return options_.use(name, "its config.json is here");
    }
    const std::string word = name.is_none() ? "" : last_part(options_.word(name));
    Value config = stated_config();
    if (config.fields.empty()) config = config_of_name(word);
    if (config.fields.empty()) return lack_model(name, word);
    const Option tied = options_.option("train.tie_embeddings");
    if (options_.flag(tied)) set_field(config, "tie_embeddings", scalar_value("true", {}));
    options_.use(tied, "head and embedding are one parameter, or two");
    set_field(config, "model_type", scalar_value("litgpt", {}));
    Value model;
    set_field(model, "name", scalar_value(word.empty() ? "litgpt" : word, {}));
    set_field(model, "config", std::move(config));
    options_.put(name, "model", std::move(model), "as litgpt's config.py has it");
  }

  bool tunes() const { return text_under(*command_.facts, "model") == "checkpoint_dir"; }

  static std::string last_part(std::string path) {
    while (path.ends_with('/')) path.pop_back();
    return path.substr(path.rfind('/') + 1);
  }

  Value stated_config() {
    Value out;
    for (const Setting* setting : options_.draft().open()) {
      const bool file = setting->name.starts_with(kConfigOfFile);
      if (!file && !setting->name.starts_with(kConfigOfModel)) continue;
      const std::string key = setting->name.substr((file ? kConfigOfFile : kConfigOfModel).size());
      const std::size_t dot = key.find('.');
      // Stands for a section, of which it matters alone that it is there.
      set_field(out, key.substr(0, dot), dot == std::string::npos ? setting->value : scalar_value("1", setting->where));
      options_.draft().use(*setting, "model");
    }
    return out;
  }

  Value config_of_name(const std::string& name) const {
    for (const Value& entry : facts_.section("models").items) {
      const std::vector<Value>& names = entry.find("names")->items;
      const bool found = std::any_of(names.begin(), names.end(), [&](const Value& one) { return one.scalar == name; });
      if (!found) continue;
      Value out;
      for (const Value::Field& field : entry.fields) {
        if (field.key != "names") set_field(out, field.key, field.value);
      }
      return out;
    }
    return {};
  }

  void lack_model(const Option& name, const std::string& word) {
    options_.doubt(name, "no shape is known of it");
    std::vector<std::string> names;
    for (const Value& entry : facts_.section("models").items) {
      for (const Value& one : entry.find("names")->items) names.push_back(one.scalar);
    }
    const std::string meant = did_you_mean(word, names, "");
    const std::string reason = word.empty() ? fmt::format("{} is not stated", name.name)
                                            : fmt::format("{} is no model of litgpt's config.py{}", excerpt(word),
                                                          meant.empty() ? "" : fmt::format(" ({})", meant));
    options_.draft().lack(name.setting == nullptr ? command_.where : name.setting->where, "model",
                          reason + ": give its model_config.yaml or config.json as well, or say --set model=NAME");
  }

  void read_length() {
    const Option length = options_.option("train.max_seq_length");
    if (!length.is_none()) {
      options_.put(length, "training.sequence_length", std::to_string(options_.count(length.name)),
                   tunes() ? "samples are taken to be that long" : "");
    } else if (tunes()) {
      options_.draft().lack(command_.where, "training.sequence_length",
                            "no train.max_seq_length: samples are as long as they are; say --set "
                            "training.sequence_length=NUMBER");
    }
  }

  // Reads nodes and their devices, which litgpt starts by itself.
  void read_devices() {
    const Option devices = options_.option("devices");
    const Option nodes = options_.option("num_nodes");
    nodes_ = options_.count(nodes.name);
    const std::string word = options_.word(devices);
    if (word != "auto" && word != "-1") {
      of_node_ = options_.integer(devices, 1, kMostDevicesOfNode);
    } else if (options_.draft().machine.gpus_per_node) {
      of_node_ = options_.draft().machine.gpus_per_node;
    } else if (context_.gpus && *context_.gpus % nodes_ == 0) {
      of_node_ = *context_.gpus / nodes_;
    }
    options_.use(nodes, "nodes");
    if (!of_node_) {
      options_.use(devices, "all GPUs of a node");
      return options_.draft().obstruct(command_.where, "devices: all GPUs of a node: give the nodes");
    }
    ImportedMachine& machine = options_.draft().machine;
    machine.nodes = nodes_;
    machine.gpus_per_node = of_node_;
    machine.exact = true;
    machine.said_by = fmt::format("devices: {}, num_nodes: {}", word, nodes_);
    data_ = nodes_ * *of_node_;
    options_.put(devices, "strategy.data", std::to_string(data_));
  }

  void read_precision() {
    options_.read("precision");
    const std::string word = options_.word(options_.option("precision"));
    mixed_ = word.ends_with("-mixed");
    half_ = word.ends_with("-true") && word != "32-true";
  }

  void read_adapters() {
    if (!says("adapters")) return;
    options_.read_part("adapters");
    std::vector<std::string> layers;
    const auto add = [&](const char* option, const char* layer) {
      const Option stated = options_.option(option);
      options_.use(stated, "training.lora.targets");
      const bool there = std::find(layers.begin(), layers.end(), layer) != layers.end();
      if (options_.flag(stated) && !there) layers.emplace_back(layer);
    };
    for (const char* option : {"lora_query", "lora_key", "lora_value"}) add(option, "qkv");
    add("lora_projection", "proj");
    for (const char* layer : {"fc1", "fc2"}) add("lora_mlp", layer);
    if (layers.empty()) {
      options_.draft().obstruct(command_.where, "no layer has adapters: litgpt would train nothing");
    }
    options_.put(options_.option("lora_query"), "training.lora.targets", list_value(layers, command_.where),
                 "litgpt's words lora_query, lora_key, lora_value, lora_projection and lora_mlp");
    read_quantization();
  }

  void read_quantization() {
    const Option bits = options_.option("quantize");
    if (bits.is_none()) {
      if (mixed_) {
        options_.draft().notes.push_back(
            {command_.where,
             "precision -mixed keeps frozen weights, or their shards, in fp32, which takes "
             "2 bytes of each more than predicted, and casts them for products"});
      }
      return options_.leave(bits, "frozen weights are not quantized");
    }
    options_.read(bits.name);
    if (data_ > 1) {
      options_.draft().obstruct(bits.setting->where, "quantize: litgpt quantizes on one device alone (devices: 1)");
    }
    if (mixed_) {
      options_.draft().obstruct(bits.setting->where, "quantize: litgpt takes it with precision bf16-true, not -mixed");
    }
    options_.draft().notes.push_back(
        {bits.setting->where, "the optimizer's state may move to the host (PagedAdamW), which no prediction has"});
  }

  void read_optimizer() {
    const bool by_class = options_.option("optimizer.class_path").setting != nullptr;
    options_.read(by_class ? "optimizer.class_path" : "optimizer");
    if (!half_ || options_.said("training.optimizer") != "adam") return;
    const Option type = options_.option("precision");
    options_.put(type, "training.first_moment", options_.said("training.precision"),
                 "the optimizer keeps its state in the type of the parameters");
    options_.put(type, "training.second_moment", options_.said("training.precision"));
  }

  void read_batch() {
    const Option global = options_.option("train.global_batch_size");
    const Option micro = options_.option("train.micro_batch_size");
    options_.read(micro.name);
    const std::int64_t sequences = options_.count(micro.name);
    const std::int64_t batch = options_.count(global.name);
    const std::int64_t parts = batch / data_ / sequences;
    if (parts == 0) {
      options_.use(global, "training.global_batch");
      return options_.draft().obstruct(
          global.setting == nullptr ? command_.where : global.setting->where,
          fmt::format("train.global_batch_size: {} sequences are no microbatch of {} on each of {} devices", batch,
                      sequences, data_));
    }
    const std::int64_t whole = parts * sequences * data_;
    options_.put(global, "training.global_batch", std::to_string(whole),
                 whole == batch ? "" : fmt::format("whole microbatches of {} on {} devices", sequences, data_));
  }

  // Reads what Fabric does on several devices: FSDP with layers as units.
  void read_sharding() {
    const Option devices = options_.option("devices");
    const bool by_node = nodes_ > 1 && says("node_shards");
    if (by_node && of_node_ == 1) {
      options_.put(devices, "strategy.zero", "0", "HYBRID_SHARD: a node has a whole copy");
      options_.put(devices, "strategy.overlap_grad_reduce", "true", "FSDP reduces during backward passes");
    } else {
      options_.put(devices, "strategy.zero", data_ > 1 ? "3" : "0", data_ > 1 ? "FSDP" : "one device has all of it");
    }
    if (by_node && of_node_.value_or(1) > 1) {
      options_.put(devices, "strategy.zero_group", std::to_string(*of_node_), "HYBRID_SHARD: a node has a whole copy");
    }
    options_.put(devices, "strategy.recompute", data_ > 1 ? text_under(*command_.facts, "recompute") : "none",
                 "by the command, on several devices");
  }

  void read_framework() {
    Value framework = *facts_.section("frameworks").find(text_under(*command_.facts, "framework"));
    const Option clip = options_.option("train.max_norm");
    const bool clipped = !clip.is_none();
    options_.use(clip, "the step reads gradients for their norm, and scales them");
    const bool fp16 = options_.said("training.precision") == "fp16";
    const char* state = !half_ ? "full" : fp16 ? "half_fp16" : "half";
    framework = with_habits(std::move(framework), *facts_.section("states").find(state));
    if (mixed_ && data_ == 1) framework = with_habits(std::move(framework), *facts_.section("states").find("alone"));
    const Value* steps = facts_.section("steps").find(state);
    framework = with_habits(std::move(framework), *steps->find(clipped ? "clipped" : "plain"));
    options_.put(options_.option("precision"), "training.framework", std::move(framework));
  }

  const ProgramFacts& facts_;
  const ImportContext& context_;
  LitCommand command_;
  OptionReader options_;
  std::int64_t nodes_ = 1;
  std::optional<std::int64_t> of_node_;
  std::int64_t data_ = 1;
  bool mixed_ = false;  // weights in fp32, products in 16 bits
  bool half_ = false;   // all in 16 bits
};

// True for a model_config.yaml, which litgpt writes beside the weights of a checkpoint.
bool is_model_config(const ImportFile& file) {
  const std::optional<Value> root = mapping_mentioning(file, {"n_layer"});
  return root && root->find("n_layer") != nullptr && root->find("n_embd") != nullptr;
}

void add_model_of_files(std::vector<Setting>& settings, std::span<const ImportFile> files) {
  for (const ImportFile& file : files) {
    if (!is_model_config(file)) continue;
    const Value root = parse_foreign_yaml(file.text, file.name);
    for (const Value::Field& field : root.fields) {
      const Location where = field.value.key_where.known() ? field.value.key_where : field.value.where;
      settings.push_back({std::string(kConfigOfFile) + field.key, field.value, where, field.key});
    }
    return;
  }
  if (std::optional<Setting> model = model_among(files)) settings.push_back(std::move(*model));
}

// Returns the command by its name; Error(input) for one that trains nothing that mirfak describes.
LitCommand command_named(const std::string& name, const Location& where, const ProgramFacts& facts) {
  const Value& commands = facts.section("commands");
  const Value* known = commands.find(name);
  if (known == nullptr) {
    std::vector<std::string> names;
    for (const Value::Field& field : commands.fields) names.push_back(field.key);
    fail_input(where, fmt::format("litgpt {}: not a command that mirfak reads", excerpt(name)),
               did_you_mean(name, names, "expected " + join_or(names)));
  }
  const std::string refused = text_under(*known, "refused");
  if (!refused.empty()) fail_input(where, fmt::format("litgpt {}: {}", name, refused));
  return {name, where, known};
}

// Returns the command that a file alone is of, by keys that only one has.
std::string command_of_file(const std::vector<Setting>& settings) {
  const auto has = [&](std::string_view begin) {
    return std::any_of(settings.begin(), settings.end(),
                       [&](const Setting& setting) { return setting.name.starts_with(begin); });
  };
  if (has("lora_")) return "finetune_lora";
  return has("checkpoint_dir") ? "finetune_full" : "pretrain";
}

ImportDraft import_litgpt(std::vector<Setting> settings, LitCommand command, const ProgramFacts& facts,
                          const ImportedMachine& machine, const ImportContext& context) {
  // A key of another command that states no value is as if it were not there.
  std::erase_if(settings, [&](const Setting& setting) {
    return setting.value.kind == Value::Kind::null && refuses(command, setting.name);
  });
  fill_nulls(settings, option_list(context.sources.folders.hardware, "litgpt"));
  ImportDraft draft(std::move(settings));
  draft.machine = machine;
  LitGptReader(draft, facts, context, std::move(command)).read();
  return draft;
}

// The words of a command: `litgpt COMMAND [MODEL] OPTIONS`, or `python litgpt/pretrain.py OPTIONS`.
struct LitWords {
  LitCommand command;
  std::span<const ArgumentWord> options;
  const ArgumentWord* model = nullptr;
};

LitWords words_of_command(const LaunchCommand& command, const ProgramFacts& facts) {
  LitWords out;
  std::span<const ArgumentWord> words = command.arguments;
  std::string name = base_name(command.program);
  Location where = command.program_where;
  if (name.ends_with(".py")) {
    name.erase(name.size() - 3);
    if (name != "pretrain") name = "finetune_" + name;
  } else {
    if (words.empty()) fail_input(where, "litgpt: expected a command after it");
    name = words.front().text;
    where = words.front().where;
    words = words.subspan(1);
  }
  out.command = command_named(name, where, facts);
  const bool named = !words.empty() && !words.front().text.starts_with('-') &&
                     (!words.front().text.empty() || !words.front().missing.empty());
  if (named) {
    out.model = &words.front();
    words = words.subspan(1);
  }
  out.options = words;
  return out;
}

}  // namespace

bool is_litgpt_file(const ImportFile& file) {
  const std::optional<Value> root = mapping_mentioning(file, {"global_batch_size", "micro_batch_size", "logger_name"});
  return root && mapping_under(*root, "train") != nullptr && !has_key_of(*root, {"trainer", "model"}) &&
         has_key_of(*root, {"checkpoint_dir", "model_name", "model_config", "lora_r"});
}

ImportDraft import_litgpt_command(const LaunchCommand& command, std::vector<Setting> others,
                                  std::span<const ImportFile> files, const ImportContext& context) {
  const ProgramFacts facts(context.sources, "litgpt");
  LitWords words = words_of_command(command, facts);
  const bool tuning = words.command.name != "pretrain";
  std::vector<Setting> stated = settings_of_python(words.options);
  std::vector<Setting> settings;
  std::vector<ImportFile> beside(files.begin(), files.end());
  if (const Setting* config = last_of(stated, "config")) {
    const ImportFile& file = required_file(files, config->value.scalar, config->where);
    settings = settings_of(parse_foreign_yaml(file.text, file.name));
    std::erase_if(beside, [&](const ImportFile& one) { return one.name == file.name; });
    std::erase_if(stated, [](const Setting& setting) { return setting.name == "config"; });
  }
  if (words.model != nullptr) {
    settings.push_back({tuning ? "checkpoint_dir" : "model_name", scalar_value(words.model->text, words.model->where),
                        words.model->where, words.model->text, words.model->missing});
  }
  for (Setting& setting : stated) settings.push_back(std::move(setting));
  for (Setting& setting : others) settings.push_back(std::move(setting));
  add_model_of_files(settings, beside);
  return import_litgpt(std::move(settings), std::move(words.command), facts, command.machine, context);
}

static ImportDraft read_litgpt_file(std::span<const ImportFile> files, const ImportContext& context) {
  const ProgramFacts facts(context.sources, "litgpt");
  const Location where{files.front().name, 1, 1};
  std::vector<Setting> settings = settings_of(parse_foreign_yaml(files.front().text, files.front().name));
  const std::string name = command_of_file(settings);
  add_model_of_files(settings, files.subspan(1));
  ImportDraft draft = import_litgpt(std::move(settings), command_named(name, where, facts), facts, {}, context);
  draft.notes.push_back({where, fmt::format("no command says what runs: litgpt {} is taken", name)});
  return draft;
}

const ImportFormat kLitGpt = {"litgpt-yaml", "litgpt's YAML: model_name or checkpoint_dir, precision, train, ...",
                              is_litgpt_file, read_litgpt_file};

}  // namespace mirfak
