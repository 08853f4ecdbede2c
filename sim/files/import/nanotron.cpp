// huggingface/nanotron 2411b022: config/config.py (sections, strict: an unknown key is refused), parallel/context.py
// (tensor ranks are neighbours, then context, data and pipeline ranks), models/base.py (layers over stages by weights).
// The global batch is micro_batch_size x batch_accumulation_per_replica x dp.

#include "import/nanotron.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/number_words.hpp"
#include "import/option_reader.hpp"
#include "import/option_words.hpp"
#include "import/program_facts.hpp"
#include "import/yaml_settings.hpp"
#include "schedule/weighted_split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace mirfak {

namespace {

constexpr std::string_view kModelConfig = "model.model_config.";
constexpr std::string_view kDataStages = "data_stages";
constexpr std::string_view kRingOfLlama3 = "llama3_ring_attention";

// Adds settings for keys of a stage that nanotron does not have; the others are one setting together.
void add_unknown_of_stages(std::vector<Setting>& settings, const std::vector<std::string>& names) {
  const Setting* stages = last_of(settings, kDataStages);
  if (stages == nullptr) return;
  const std::vector<Value> items = stages->value.items;
  for (const Value& item : items) {
    if (item.kind != Value::Kind::mapping) continue;
    for (Setting& inner : settings_of(item)) {
      inner.name = fmt::format("{}.{}", kDataStages, inner.name);
      const bool known = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        return inner.name == name || inner.name.starts_with(name + ".");
      });
      if (!known) settings.push_back(std::move(inner));
    }
  }
}

class NanotronReader {
 public:
  NanotronReader(ImportDraft& draft, const ProgramFacts& facts, const ImportContext& context, Location where)
      : facts_(facts),
        context_(context),
        where_(std::move(where)),
        options_(draft, option_list(context.sources.folders.hardware, "nanotron"), "nanotron") {}

  void read() {
    facts_.refuse_unknown(options_.draft(), "nanotron");
    read_model();
    read_required("tokens.sequence_length");
    read_stages_of_data();
    read_ranks();
    read_batch();
    options_.read("parallelism.recompute_layer");
    if (options_.said("strategy.recompute") == "full" && experts_) {
      options_.doubt(options_.option("parallelism.recompute_layer"),
                     "experts are computed a third time, which no prediction has");
    }
    options_.read("model.dtype");
    options_.read("optimizer.optimizer_factory.name");
    read_gradients();
    facts_.judge_rest(options_.draft());
  }

 private:
  static std::string in_model(std::string_view key) { return fmt::format("{}{}", kModelConfig, key); }

  // Returns an option that nanotron has no default for. Error(input) where the file does not state it.
  Option required(const std::string& name) {
    Option option = options_.option(name);
    const std::vector<ImportObstacle>& unknown = options_.draft().obstacles();
    if (option.is_none() && !unknown.empty()) {
      fail_input(unknown.front().where, unknown.front().reason, fmt::format("{} is not stated", name));
    }
    if (option.is_none()) {
      fail_input(option.setting == nullptr ? where_ : option.setting->where,
                 fmt::format("{} is not stated, and nanotron has no default for it", name), "state it in the file");
    }
    return option;
  }

  std::int64_t read_required(const std::string& name) {
    required(name);
    options_.read(name);
    return options_.count(name);
  }

  // Returns the first kind of model whose keys include all that the file states.
  const Value& shape_of_file() {
    std::vector<std::string> stated;
    for (const Setting* setting : options_.draft().open()) {
      if (!setting->name.starts_with(kModelConfig)) continue;
      const std::string key = setting->name.substr(kModelConfig.size());
      stated.push_back(key.substr(0, key.find('.')));
    }
    const std::vector<Value::Field>& shapes = facts_.section("shapes").fields;
    for (const Value::Field& shape : shapes) {
      const std::vector<Value>& keys = shape.value.find("keys")->items;
      const bool all = std::all_of(stated.begin(), stated.end(), [&](const std::string& key) {
        return std::any_of(keys.begin(), keys.end(), [&](const Value& one) { return one.scalar == key; });
      });
      if (all) return shape.value;
    }
    const Setting* first = options_.option(in_model(stated.front())).setting;
    options_.draft().obstruct(first == nullptr ? where_ : first->where,
                              "no kind of model that nanotron has takes all keys of model.model_config");
    return shapes.back().value;
  }

  void read_model() {
    const Value& shape = shape_of_file();
    options_.replace_defaults(*shape.find("defaults"));
    own_kernels_ = text_under(shape, "own_kernels");
    Value entry = *shape.find("model");
    for (const Value::Field& size : facts_.section("sizes").fields) {
      const Option option = options_.option(in_model(size.key));
      set_field(entry, size.value.scalar, scalar_value(std::to_string(options_.count(option.name)), {}));
      options_.use(option, fmt::format("model.{}", size.value.scalar));
    }
    const bool gated = text_under(shape, "gated") == "true";
    read_heads(entry, text_under(shape, "kv_heads"), gated);
    read_mlp(entry, text_under(shape, "activation"), gated);
    if (gated) read_flags(entry);
    if (!gated) read_dropout(entry);
    read_window(entry);
    read_experts(entry);
    layer_weight_ =
        4.0 * number_under(entry, "heads") * (number_under(entry, "hidden") / number_under(entry, "heads")) +
        std::strtod(text_under(shape, "weights").c_str(), nullptr) * ffn_;
    head_weight_ = number_under(entry, "vocab");
    layers_ = static_cast<std::int64_t>(number_under(entry, "layers"));
    options_.put(options_.option(in_model("num_hidden_layers")), "model",
                 known_model(entry, {}, "nanotron", context_.sources).model);
  }

  static double number_under(const Value& mapping, std::string_view key) {
    return std::strtod(text_under(mapping, key).c_str(), nullptr);
  }

  void read_heads(Value& entry, const std::string& key, bool gated) {
    const Option heads = options_.option(in_model(key));
    std::string count = text_under(entry, "heads");
    if (!heads.is_none()) count = std::to_string(options_.count(heads.name));
    if (!gated) {
      const Option one = options_.option(in_model("multi_query"));
      const Option groups = options_.option(in_model("grouped_query"));
      if (!options_.flag(groups)) count = "1";
      if (options_.flag(groups)) required(heads.name);
      for (const Option& option : {one, groups}) options_.use(option, "model.kv_heads");
    }
    options_.use(heads, "model.kv_heads");
    set_field(entry, "kv_heads", scalar_value(count, {}));
  }

  void read_mlp(Value& entry, const std::string& key, bool gated) {
    const Option width = options_.option(in_model("intermediate_size"));
    if (!width.is_none()) ffn_ = static_cast<double>(options_.count(width.name));
    if (width.is_none()) ffn_ = 4 * number_under(entry, "hidden");
    options_.use(width, "model.ffn");
    set_field(entry, "ffn", scalar_value(fmt::format("{:.0f}", ffn_), {}));
    const Option function = options_.option(in_model(key));
    const Value* known = facts_.section("activations").find(gated ? "gated" : "plain");
    const std::string word = text_under(*known, options_.word(function));
    if (word.empty()) {
      options_.doubt(function, "an activation function that mirfak lacks");
      return options_.draft().obstruct(function.setting->where,
                                       fmt::format("{}: {}: an activation function that mirfak lacks", function.name,
                                                   excerpt(function.value.scalar)));
    }
    options_.use(function, "model.activation");
    set_field(entry, "activation", scalar_value(word, {}));
  }

  void read_flags(Value& entry) {
    const Option bias = options_.option(in_model("attention_bias"));
    const Option tied = options_.option(in_model("tie_word_embeddings"));
    // models/llama.py has no bias, whatever the key says; only keys of models/qwen.py tell that a file is one of it.
    if (options_.flag(bias) && own_kernels_.empty()) {
      options_.leave(bias, "models/llama.py has no bias");
    } else {
      set_field(entry, "qkv_bias", scalar_value(options_.flag(bias) ? "true" : "false", {}));
      options_.use(bias, "model.qkv_bias");
    }
    set_field(entry, "tied_embeddings", scalar_value(options_.flag(tied) ? "true" : "false", {}));
    options_.use(tied, "model.tied_embeddings");
  }

  void read_dropout(Value& entry) {
    const Option dropout = options_.option(in_model("resid_pdrop"));
    set_field(entry, "dropout", scalar_value(fmt::format("{}", options_.number(dropout, 0, 1)), {}));
    options_.use(dropout, "model.dropout");
  }

  // Reads a window of attention; layers without rotary positions attend to all tokens.
  void read_window(Value& entry) {
    const Option window = options_.option(in_model("sliding_window_size"));
    const Option every = options_.option(in_model("no_rope_layer"));
    if (window.is_none()) {
      options_.leave(window, "no window");
      return options_.doubt(every, "each so many-th layer has no rotary embedding, and has one in the prediction");
    }
    Value window_of_model;
    set_field(window_of_model, "tokens", scalar_value(std::to_string(options_.count(window.name)), {}));
    if (!every.is_none()) {
      set_field(window_of_model, "full_every", scalar_value(std::to_string(options_.count(every.name)), {}));
    }
    set_field(entry, "sliding_window", std::move(window_of_model));
    options_.use(window, "model.sliding_window");
    options_.doubt(every, "these layers attend to all tokens; their rotary embedding stays in the prediction");
  }

  void read_experts(Value& entry) {
    const std::string prefix = in_model("moe_config.");
    const std::vector<const Setting*> open = options_.draft().open();
    const Option section = options_.option(in_model("moe_config"));
    experts_ = section.value.kind == Value::Kind::mapping ||
               std::any_of(open.begin(), open.end(), [&](const Setting* one) { return one->name.starts_with(prefix); });
    if (!experts_) return options_.leave(section, "no experts");
    options_.use(section, "experts by nanotron's defaults");
    Value experts;
    const auto put = [&](const char* key, const char* name) {
      set_field(experts, key, scalar_value(std::to_string(options_.count(prefix + name)), {}));
    };
    put("count", "num_experts");
    put("per_token", "top_k");
    put("ffn", "moe_intermediate_size");
    if (options_.flag(prefix + "enable_shared_expert")) put("shared_ffn", "shared_expert_intermediate_size");
    place_experts(experts, options_.option(prefix + "layers"),
                  static_cast<std::int64_t>(number_under(entry, "layers")));
    options_.judge_part("experts", OptionVerdict::use, "model.experts");
    set_field(entry, "experts", std::move(experts));
  }

  // Reads which layers have experts: all, those from one on, or every so many-th of these.
  void place_experts(Value& experts, const Option& option, std::int64_t layers) {
    std::vector<std::int64_t> chosen;
    for (const Value& item : option.value.items) {
      const std::optional<std::int64_t> layer = whole_number_of(item.scalar);
      if (!layer || *layer < -1 || *layer >= layers) options_.fail(option, "numbers of layers from 0, or [-1]");
      chosen.push_back(*layer);
    }
    if (chosen == std::vector<std::int64_t>{-1}) return;
    const std::int64_t step = chosen.size() > 1 ? chosen[1] - chosen[0] : 1;
    const std::int64_t first_dense = chosen.empty() ? -1 : chosen.front() - (step - 1);
    std::vector<std::int64_t> regular;
    for (std::int64_t layer = first_dense + step - 1; step > 0 && layer < layers && first_dense >= 0; layer += step)
      regular.push_back(layer);
    if (regular != chosen || chosen.empty()) {
      return options_.draft().obstruct(
          option.setting->where,
          fmt::format("{}: mirfak has models where all layers from one on have experts, or every so many-th of these: "
                      "describe this one as a model of blocks (models/README.md)",
                      option.name));
    }
    set_field(experts, "first_dense", scalar_value(std::to_string(first_dense), {}));
    set_field(experts, "every", scalar_value(std::to_string(step), {}));
  }

  // Reads the stages of data, whose sequences have all one length.
  void read_stages_of_data() {
    const Setting* stages = options_.draft().find(kDataStages);
    if (stages == nullptr) return;
    options_.draft().leave(*stages, "data; the sequences of all stages are alike");
    for (const Value& stage : stages->value.items) {
      const std::string length = text_under(stage, "sequence_length");
      if (!length.empty() && length != "null" && length != options_.said("training.sequence_length")) {
        options_.draft().obstruct(stage.find("sequence_length")->where,
                                  "data_stages: sequences of another length than tokens.sequence_length, which "
                                  "run_train.py does not take either: give one file for each");
      }
      const Value* data = mapping_under(stage, "data");
      const Value* rows = data == nullptr ? nullptr : mapping_under(*data, "dataset");
      if (rows == nullptr || rows->find("dataset_folder") == nullptr || own_kernels_.empty()) continue;
      if (text_under(*rows, "return_positions") == "false") continue;
      options_.draft().notes.push_back(
          {rows->where,
           "tokens attend to those of their own document (return_positions): the file does not say how "
           "long documents are (training.document_lengths)"});
    }
  }

  void read_ranks() {
    data_ = read_required("parallelism.dp");
    read_required("parallelism.tp");
    const std::int64_t stages = read_required("parallelism.pp");
    for (const char* name : {"context_parallel_size", "expert_parallel_size", "pp_engine", "tp_mode",
                             "tp_linear_async_communication", "tp_recompute_allgather"}) {
      options_.read(fmt::format("parallelism.{}", name));
    }
    read_context();
    if (experts_ && options_.count("parallelism.tp") > 1) {
      options_.draft().obstruct(options_.option("parallelism.tp").setting->where,
                                "every tensor rank has whole experts (nn/moe.py), and mirfak divides them");
    }
    if (stages <= 1) return;
    if (stages > layers_) options_.fail(options_.option("parallelism.pp"), fmt::format("at most {} layers", layers_));
    const std::vector<int> split = weighted_split(layers_, stages, layer_weight_, head_weight_);
    options_.put(options_.option("parallelism.pp"), "strategy.layer_split", list_value(split, {}),
                 "layers are divided by the weights of their products and of the head");
  }

  // Reads the exchange of context ranks: keys and values are gathered, some heads at a time.
  void read_context() {
    const Option kernel = options_.option(in_model("_attn_implementation"));
    const std::string word = options_.word(kernel, options_.entry(kernel.name).takes);
    if (options_.count("parallelism.context_parallel_size") == 1) {
      return options_.leave(kernel, "kernels of flash attention, whatever this says");
    }
    options_.put(kernel, "strategy.context_communication", "all-gather", "so many heads of keys and values at a time");
    if (word == kRingOfLlama3 && !own_kernels_.empty()) return;
    options_.draft().obstruct(
        options_.option("parallelism.context_parallel_size").setting->where,
        fmt::format(
            "context ranks exchange keys and values in models/qwen.py with _attn_implementation: {} alone; here "
            "each attends to its own tokens",
            kRingOfLlama3));
  }

  void read_batch() {
    const std::int64_t sequences = read_required("tokens.micro_batch_size");
    const Option steps = required("tokens.batch_accumulation_per_replica");
    const std::int64_t parts = options_.count(steps.name);
    options_.put(steps, "training.global_batch", std::to_string(sequences * parts * data_),
                 fmt::format("{} in each of {} microbatches on {} data ranks", sequences, parts, data_));
  }

  void read_gradients() {
    const Option wide = required("optimizer.accumulate_grad_in_fp32");
    const Option stage = required("optimizer.zero_stage");
    const std::int64_t zero = options_.count(stage.name);
    options_.put(stage, "strategy.zero", zero > 0 ? "1" : "0", zero > 1 ? "stages above 1 run as stage 1" : "");
    options_.put(stage, "strategy.overlap_grad_reduce", zero == 0 && data_ > 1 ? "true" : "false",
                 "DistributedDataParallel reduces during the last backward pass; with ZeRO all are reduced behind it");
    const std::string type = options_.said("training.precision");
    const bool half = type != "fp32";
    if (options_.flag(wide) && !half) {
      options_.draft().obstruct(
          wide.setting->where,
          "accumulate_grad_in_fp32 takes no parameters in float32 (optim/gradient_accumulator.py)");
    }
    if (!options_.flag(wide) && half) {
      options_.put(wide, "training.gradient_precision", type, "all is kept in the type of the parameters");
      for (const char* key : {"training.first_moment", "training.second_moment"}) options_.put(wide, key, type);
    }
    read_framework(half ? options_.flag(wide) ? "wide" : "narrow" : "full");
  }

  void read_framework(std::string_view gradients) {
    const Option clip = options_.option("optimizer.clip_grad");
    const bool clipped = !clip.is_none() && options_.number(clip, 0, 1e15) >= 0;
    options_.use(clip, clipped ? "the step reads gradients for their norm, and scales them" : "nothing is clipped");
    Value framework = facts_.section("framework");
    const Value* steps = facts_.section("steps").find(gradients);
    framework = with_habits(std::move(framework), *steps->find(clipped ? "clipped" : "plain"));
    const Option multiple = options_.option("model.make_vocab_size_divisible_by");
    const std::string rows = std::to_string(options_.count(multiple.name));
    if (rows != "1") {
      framework = with_habit(std::move(framework), "kernels", "vocabulary_multiple", scalar_value(rows, {}));
    }
    options_.use(multiple, "rows that the vocabulary is padded to, times the tensor ranks");
    const Option bucket = options_.option("model.ddp_bucket_cap_mb");
    const std::int64_t mebibytes = options_.count(bucket.name);
    if (bucket.setting != nullptr && std::to_string(mebibytes) != options_.entry(bucket.name).unsaid.scalar) {
      constexpr std::int64_t kGradients = 1048576 / 2;  // of a mebibyte
      framework = with_habit(std::move(framework), "sharding", "bucket_parameters",
                             scalar_value(std::to_string(mebibytes * kGradients), {}));
    }
    options_.use(bucket, "training.framework");
    if (!own_kernels_.empty()) options_.draft().notes.push_back({where_, own_kernels_});
    options_.put(options_.option("optimizer.accumulate_grad_in_fp32"), "training.framework", std::move(framework));
  }

  const ProgramFacts& facts_;
  const ImportContext& context_;
  Location where_;
  OptionReader options_;
  std::string own_kernels_;  // note on kernels that the framework file does not describe; "": none
  bool experts_ = false;
  double ffn_ = 0;
  double layer_weight_ = 0;  // over the hidden size, as the head's
  double head_weight_ = 0;
  std::int64_t layers_ = 0;
  std::int64_t data_ = 1;
};

ImportDraft import_nanotron(const ImportFile& file, std::vector<Setting> others, const ImportContext& context) {
  const ProgramFacts facts(context.sources, "nanotron");
  std::vector<Setting> settings = settings_of(parse_foreign_yaml(file.text, file.name));
  add_unknown_of_stages(settings, facts.names());
  fill_nulls(settings, option_list(context.sources.folders.hardware, "nanotron"));
  for (Setting& setting : others) settings.push_back(std::move(setting));
  ImportDraft draft(std::move(settings));
  NanotronReader(draft, facts, context, {file.name, 1, 1}).read();
  return draft;
}

}  // namespace

bool is_nanotron_file(const ImportFile& file) {
  const std::optional<Value> root = mapping_mentioning(file, {"model_config"});
  if (!root) return false;
  const Value* model = mapping_under(*root, "model");
  return model != nullptr && model->find("model_config") != nullptr && mapping_under(*root, "parallelism") != nullptr &&
         has_key_of(*root, {"tokens", "general"});
}

ImportDraft import_nanotron_command(const LaunchCommand& command, std::vector<Setting> others,
                                    std::span<const ImportFile> files, const ImportContext& context) {
  const ImportFile* file = nullptr;
  for (Setting& setting : settings_of_python(command.arguments)) {
    if (setting.name == "config_file") {
      file = &required_file(files, setting.value.scalar, setting.where);
    } else {
      others.push_back(std::move(setting));
    }
  }
  if (file == nullptr) fail_input(command.program_where, "run_train.py of nanotron needs --config-file FILE");
  ImportDraft draft = import_nanotron(*file, std::move(others), context);
  draft.machine = command.machine;
  return draft;
}

static ImportDraft read_nanotron_file(std::span<const ImportFile> files, const ImportContext& context) {
  return import_nanotron(files.front(), {}, context);
}

const ImportFormat kNanotron = {"nanotron-yaml", "nanotron's YAML: model with model_config, parallelism, tokens, ...",
                                is_nanotron_file, read_nanotron_file};

}  // namespace mirfak
