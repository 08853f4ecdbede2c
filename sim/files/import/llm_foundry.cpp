// mosaicml/llm-foundry 0.22.0: llmfoundry/utils/config_utils.py (TrainConfig, update_batch_size_info) and
// models/mpt/configuration_mpt.py. A step's sequences are divided over all GPUs, and run in microbatches of
// device_train_microbatch_size.

#include "import/llm_foundry.hpp"

#include "base/text.hpp"
#include "import/deepspeed_json.hpp"
#include "import/hub_model.hpp"
#include "import/hugging_face.hpp"
#include "import/hydra_command.hpp"
#include "import/number_words.hpp"
#include "import/option_reader.hpp"
#include "import/program_facts.hpp"
#include "import/yaml_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace mirfak {

namespace {

constexpr std::string_view kFoundry = "llm-foundry";

class FoundryReader {
 public:
  FoundryReader(ImportDraft& draft, const ProgramFacts& facts, const ImportContext& context, Location where)
      : facts_(facts),
        context_(context),
        where_(std::move(where)),
        options_(draft, option_list(context.sources.folders.hardware, kFoundry), "llm-foundry") {}

  void read() {
    options_.read("precision");
    read_model();
    read_adapters();
    options_.read("optimizer.name");
    read_sharding();
    options_.read("max_seq_len");
    read_batch();
    options_.put(options_.option("model.name"), "training.framework", facts_.section("framework").scalar);
    facts_.judge_rest(options_.draft());
  }

 private:
  void read_model() {
    const Option kind = options_.option("model.name");
    const std::string word = options_.word(kind, options_.entry(kind.name).takes);
    if (word == "hf_causal_lm") return read_hub_model(options_, "model.pretrained_model_name_or_path", context_);
    if (word != "mpt_causal_lm") {
      return options_.draft().obstruct(kind.value.where, fmt::format("{}: a model that is not read here", word));
    }
    Value entry;
    for (const Value::Field& size : facts_.section("sizes").fields) {
      const Option option = options_.option(size.key);
      set_field(entry, size.value.scalar, scalar_value(std::to_string(options_.count(option.name)), {}));
      options_.use(option, fmt::format("model.{}", size.value.scalar));
    }
    read_mlp(entry);
    read_attention(entry);
    read_rest(entry);
    options_.put(options_.option("model.d_model"), "model", known_model(entry, {}, kFoundry, context_.sources).model);
  }

  void read_mlp(Value& entry) {
    const Option ratio = options_.option("model.expansion_ratio");
    const Option width = options_.option("model.ffn_config.ffn_hidden_size");
    const Option kind = options_.option("model.ffn_config.ffn_type");
    const Option function = options_.option("model.ffn_config.ffn_act_fn.name");
    const std::string type = options_.word(kind, options_.entry(kind.name).takes);
    const std::string act = options_.word(function, options_.entry(function.name).takes);
    const double hidden = static_cast<double>(options_.count("model.d_model"));
    const double ffn = width.is_none() ? options_.number(ratio, 0.001, 1000) * hidden
                                       : static_cast<double>(options_.count(width.name));
    set_field(entry, "ffn", scalar_value(fmt::format("{:.0f}", ffn), {}));
    options_.use(width.is_none() ? ratio : width, "model.ffn");
    if (!width.is_none()) options_.leave(ratio, "ffn_hidden_size says the width");
    const bool gated = type == "mptglu";
    if (!gated && type != "mptmlp") {
      options_.draft().obstruct(kind.value.where, fmt::format("{}: an MLP that is not read here", type));
    }
    if ((gated && act == "relu") || (!gated && act == "silu")) {
      options_.draft().obstruct(function.value.where, fmt::format("{}: {}, which mirfak lacks", type, act));
    }
    const std::string word = !gated ? act : act == "silu" ? "swiglu" : "geglu";
    set_field(entry, "activation", scalar_value(word, {}));
    options_.use(kind, "model.activation");
    options_.use(function, "model.activation");
  }

  void read_attention(Value& entry) {
    const Option type = options_.option("model.attn_config.attn_type");
    const Option groups = options_.option("model.attn_config.kv_n_heads");
    const std::string word = options_.word(type, options_.entry(type.name).takes);
    if (word == "multiquery_attention") set_field(entry, "kv_heads", scalar_value("1", {}));
    if (word == "grouped_query_attention") {
      if (groups.is_none()) options_.fail(type, "model.attn_config.kv_n_heads beside grouped_query_attention");
      set_field(entry, "kv_heads", scalar_value(std::to_string(options_.count(groups.name)), {}));
    }
    options_.use(type, "model.kv_heads");
    options_.use(groups, "model.kv_heads");
    const Option window = options_.option("model.attn_config.sliding_window_size");
    const std::int64_t tokens = options_.count(window.name);
    if (tokens > 0) {
      Value value;
      set_field(value, "tokens", scalar_value(std::to_string(tokens), {}));
      set_field(entry, "sliding_window", std::move(value));
    }
    options_.use(window, tokens > 0 ? "model.sliding_window" : "no window");
    if (const Option width = options_.option("model.head_dim"); !width.is_none()) {
      set_field(entry, "head_dim", scalar_value(std::to_string(options_.count(width.name)), {}));
      options_.use(width, "model.head_dim");
    }
  }

  void put_flag(Value& entry, const char* name, const char* key, bool negated = false) {
    const Option option = options_.option(name);
    set_field(entry, key, scalar_value(options_.flag(option) != negated ? "true" : "false", {}));
    options_.use(option, fmt::format("model.{}", key));
  }

  void read_rest(Value& entry) {
    const bool alibi = options_.flag("model.attn_config.alibi");
    const bool rope = options_.flag("model.attn_config.rope");
    const bool learned = options_.flag("model.learned_pos_emb");
    const char* position = alibi ? "alibi" : rope ? "rotary" : learned ? "learned" : "none";
    set_field(entry, "position", scalar_value(position, {}));
    for (const char* name : {"model.attn_config.alibi", "model.attn_config.rope", "model.learned_pos_emb"}) {
      options_.use(options_.option(name), "model.position");
    }
    put_flag(entry, "model.no_bias", "linear_bias", true);
    put_flag(entry, "model.tie_word_embeddings", "tied_embeddings");
    put_flag(entry, "model.attn_config.qk_ln", "qk_norm");
    const Option bias = options_.option("model.attention_bias");
    if (!bias.is_none()) put_flag(entry, "model.attention_bias", "qkv_bias");
    const Option dropout = options_.option("model.resid_pdrop");
    set_field(entry, "dropout", scalar_value(fmt::format("{}", options_.number(dropout, 0, 1)), {}));
    options_.use(dropout, "model.dropout");
  }

  void read_adapters() {
    const std::vector<const Setting*> open = options_.draft().open();
    const bool adapters = std::any_of(open.begin(), open.end(),
                                      [](const Setting* one) { return one->name.starts_with("model.peft_config."); });
    const Option targets = options_.option("model.peft_config.target_modules");
    if (!adapters) {
      options_.leave_part("adapters", "no adapters");
      return options_.leave(targets, "no adapters");
    }
    options_.read_part("adapters");
    read_hub_targets(options_, targets, ProgramFacts(context_.sources, "hugging-face"));
  }

  // Reads FSDP's settings; without any, DistributedDataParallel runs.
  void read_sharding() {
    const std::vector<const Setting*> open = options_.draft().open();
    const Option whole = options_.option("fsdp_config");
    const bool sharded =
        std::any_of(open.begin(), open.end(), [](const Setting* one) { return one->name.starts_with("fsdp_config."); });
    const Option mixed = options_.option("fsdp_config.mixed_precision");
    options_.use(whole, sharded ? "its keys stand below" : "no FSDP");
    if (!sharded) {
      options_.put(whole, "strategy.zero", "0", "each GPU holds all of it");
      options_.put(whole, "strategy.overlap_grad_reduce", "true", "DistributedDataParallel always does");
      options_.leave_part("sharding", "no FSDP");
      return options_.leave(mixed, "no FSDP");
    }
    options_.read_part("sharding");
    const Option strategy = options_.option("fsdp_config.sharding_strategy");
    if (options_.word(strategy) == "HYBRID_SHARD") {
      options_.draft().obstruct(strategy.value.where,
                                "HYBRID_SHARD: say strategy.zero_group, how many GPUs share a copy");
    }
    const std::string type = options_.said("training.precision");
    const std::string word = options_.word(mixed, options_.entry(mixed.name).takes);
    if (word == "FULL") {
      options_.draft().obstruct(mixed.value.where,
                                "FULL: parameters are gathered in fp32, which mirfak does not describe");
    }
    if (word == "PURE" && (type == "bf16" || type == "fp16")) {
      return options_.put(mixed, "training.gradient_precision", type);
    }
    options_.use(mixed, "gradients are reduced in fp32");
    if (type != "fp32") options_.put(mixed, "training.gradient_precision", "fp32");
  }

  void read_batch() {
    const Option of_device = options_.option("device_train_batch_size");
    const Option batch = options_.option("global_train_batch_size");
    if (batch.is_none() && !of_device.is_none() && context_.gpus) {
      options_.put(of_device, "training.global_batch", std::to_string(options_.count(of_device.name) * *context_.gpus),
                   fmt::format("on each of {} GPUs", *context_.gpus));
    } else {
      options_.read(batch.name);
      if (of_device.setting != nullptr) options_.leave(of_device, "global_train_batch_size says it");
    }
    if (batch.is_none() && (of_device.is_none() || !context_.gpus)) {
      options_.draft().lack(where_, "training.global_batch", "neither global_train_batch_size nor the GPUs are said");
    }
    const Option micro = options_.option("device_train_microbatch_size");
    if (options_.word(micro) != "auto") {
      return options_.put(micro, "strategy.micro_batch", std::to_string(options_.integer(micro, 1, 1'048'576)));
    }
    options_.use(micro, "the largest that fits");
    options_.draft().lack(micro.setting == nullptr ? where_ : micro.setting->where, "strategy.micro_batch",
                          "device_train_microbatch_size: auto takes the largest that fits: say --set "
                          "strategy.micro_batch=NUMBER, or search");
  }

  const ProgramFacts& facts_;
  const ImportContext& context_;
  Location where_;
  OptionReader options_;
};

ImportDraft import_foundry(std::vector<Setting> settings, std::span<const ImportFile> files, const Location& where,
                           const ImportContext& context) {
  const ProgramFacts facts(context.sources, kFoundry);
  facts.rename(settings);
  if (std::optional<Setting> model = model_among(files)) settings.push_back(std::move(*model));
  ImportDraft draft(std::move(settings));
  FoundryReader(draft, facts, context, where).read();
  return draft;
}

bool is_yaml(const std::string& text) { return text.ends_with(".yaml") || text.ends_with(".yml"); }

// Takes -n and --world_size of composer's own options; without them all GPUs of one node run.
void take_machine(ImportedMachine& machine, std::span<const ArgumentWord> words) {
  std::optional<std::int64_t> all;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i].text;
    const std::optional<std::int64_t> number = whole_number_of(words[i + 1].text);
    if (word == "-n" || word == "--nproc") machine.gpus_per_node = number;
    if (word == "--world_size") all = number;
    if (word != "-n" && word != "--nproc" && word != "--world_size") continue;
    if (!number || *number < 1) {
      fail_input(words[i + 1].where,
                 fmt::format("{}: expected a number from 1, found '{}'", word, excerpt(words[i + 1].text)));
    }
    machine.said_by += (machine.said_by.empty() ? "" : " ") + word + " " + words[i + 1].text;
  }
  if (!machine.gpus_per_node) return;
  if (all && *all % *machine.gpus_per_node == 0) machine.nodes = *all / *machine.gpus_per_node;
  if (!machine.nodes) machine.nodes = 1;
}

}  // namespace

bool is_foundry_file(const ImportFile& file) {
  const std::optional<Value> root =
      mapping_mentioning(file, {"device_train_microbatch_size", "device_train_batch_size", "global_train_batch_size"});
  return root && mapping_under(*root, "model") != nullptr && has_key_of(*root, {"train_loader", "max_seq_len"});
}

ImportDraft import_foundry_command(const LaunchCommand& command, std::vector<Setting> others,
                                   std::span<const ImportFile> files, const ImportContext& context) {
  const std::vector<ArgumentWord>& words = command.arguments;
  const auto named = std::find_if(words.begin(), words.end(), [](const ArgumentWord& word) {
    return is_yaml(word.text) && word.text.find('=') == std::string::npos;
  });
  if (named == words.end()) fail_input(command.program_where, "llm-foundry needs a file of settings: train.py FILE");
  const ImportFile& file = required_file(files, named->text, named->where);
  const std::span<const ArgumentWord> launcher(words.begin(), named);
  std::vector<ArgumentWord> changes(named + 1, words.end());
  std::erase_if(changes, [](const ArgumentWord& word) { return word.text.empty(); });
  std::vector<Setting> settings = changed_settings(hydra_command(changes), &file, context);
  for (Setting& setting : others) settings.push_back(std::move(setting));
  ImportedMachine machine = command.machine;
  take_machine(machine, launcher);
  ImportContext inside = context;
  if (machine.gpus()) inside.gpus = machine.gpus();
  std::vector<ImportFile> beside(files.begin(), files.end());
  std::erase_if(beside, [&](const ImportFile& one) { return one.name == file.name; });
  ImportDraft draft = import_foundry(std::move(settings), beside, command.program_where, inside);
  draft.machine = std::move(machine);
  return draft;
}

static ImportDraft read_foundry_file(std::span<const ImportFile> files, const ImportContext& context) {
  return import_foundry(changed_settings({}, &files.front(), context), files.subspan(1), {files.front().name, 1, 1},
                        context);
}

const ImportFormat kLlmFoundry = {"llm-foundry-yaml",
                                  "llm-foundry's YAML: model, train_loader, device_train_microbatch_size, ...",
                                  is_foundry_file, read_foundry_file};

}  // namespace mirfak
