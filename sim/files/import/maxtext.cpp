// AI-Hypercomputer/maxtext e591f30cb: configs/types.py (keys, defaults, calculation of batches), utils/max_utils.py
// (create_device_mesh: an axis has ici ranks in a node times dcn ranks over nodes), configs/base.yml's rules of axes.
// Batches are divided over the axes data, fsdp, fsdp_transpose and expert; parameters over fsdp, fsdp_transpose,
// context and expert.

#include "import/maxtext.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/number_words.hpp"
#include "import/option_reader.hpp"
#include "import/program_facts.hpp"
#include "import/yaml_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace mirfak {

namespace {

constexpr std::int64_t kMaxAxisRanks = 1 << 20;
constexpr std::array<std::string_view, 13> kAxes = {"data",
                                                    "fsdp",
                                                    "fsdp_transpose",
                                                    "sequence",
                                                    "context",
                                                    "context_usp_ulysses",
                                                    "context_autoregressive",
                                                    "tensor",
                                                    "tensor_sequence",
                                                    "pipeline",
                                                    "expert",
                                                    "diloco",
                                                    "autoregressive"};
// Axes that divide what mirfak does not describe.
constexpr std::array<std::string_view, 5> kForeignAxes = {"sequence", "context_usp_ulysses", "context_autoregressive",
                                                          "diloco", "autoregressive"};

std::vector<std::string> words_of_list(const Value& list) {
  std::vector<std::string> out;
  for (const Value& item : list.items) out.push_back(item.scalar);
  return out;
}

class MaxTextReader {
 public:
  MaxTextReader(ImportDraft& draft, const ProgramFacts& facts, const ImportContext& context, Location where)
      : facts_(facts),
        context_(context),
        where_(std::move(where)),
        options_(draft, option_list(context.sources.folders.hardware, "maxtext"), "MaxText") {}

  void read() {
    read_model();
    options_.read("max_target_length");
    options_.read("packing");
    options_.read("hardware");
    read_ranks();
    read_precision();
    options_.read("opt_type");
    options_.read("dropout_rate");
    if (!options_.option("capacity_factor").is_none()) options_.read("capacity_factor");
    read_recomputation();
    if (!options_.option("num_vocab_tiling").is_none()) options_.read("num_vocab_tiling");
    read_framework();
    facts_.judge_rest(options_.draft());
  }

 private:
  // Reads the model by its name, with sizes that are stated beside it.
  void read_model() {
    const Option name = options_.option("model_name");
    const std::string word = options_.word(name);
    const Value* known = facts_.section("models").find(word);
    if (known == nullptr) {
      options_.doubt(name, "no shape is known of it");
      return options_.draft().lack(name.setting == nullptr ? where_ : name.setting->where, "model",
                                   fmt::format("models/ does not have {}: say --set model=NAME", excerpt(word)));
    }
    Value entry = *known;
    const bool named = word != "default";
    for (const Value::Field& size : facts_.section("sizes").fields) {
      const Option option = options_.option(size.key);
      if (!counts(option, named)) continue;
      set_field(entry, size.value.scalar, scalar_value(std::to_string(options_.count(size.key)), {}));
      options_.use(option, fmt::format("model.{}", size.value.scalar));
    }
    read_layers(named);
    const Option tied = options_.option("logits_via_embedding");
    if (counts(tied, named)) {
      set_field(entry, "tied_embeddings", scalar_value(options_.flag(tied) ? "true" : "false", {}));
      options_.use(tied, "model.tied_embeddings");
    }
    const KnownModel model = known_model(entry, {}, named ? word : "maxtext", context_.sources);
    layers_ = layers_of_model(model.model, context_.sources);
    options_.put(name, "model", model.model, model.note);
  }

  // True for a stated size that counts: beside the name of a model, only those of the command line do.
  bool counts(const Option& option, bool named) {
    if (option.is_none() || option.setting == nullptr) return false;
    if (!named || option.setting->text.starts_with(option.name + "=")) return true;
    options_.leave(option, "the model that model_name says has its own");
    return false;
  }

  // Judges what kind of layers there are, which a name of a model says.
  void read_layers(bool named) {
    const Option block = options_.option("decoder_block");
    const Option gate = options_.option("mlp_activations");
    for (const Option& option : {block, gate}) {
      if (!counts(option, named)) continue;
      options_.use(option, "model");
      const bool llama = option.name == gate.name
                             ? words_of_list(gate.value) == std::vector<std::string>{"silu", "linear"}
                             : options_.word(block) == "llama2";
      if (llama && !named) continue;
      options_.draft().obstruct(option.setting->where,
                                fmt::format("{}: layers of another kind than {}, whose sizes are not read here",
                                            option.name, named ? "the named model's" : "Llama's"));
    }
  }

  std::int64_t stated(std::string_view side, std::string_view axis) {
    return options_.count(fmt::format("{}_{}_parallelism", side, axis));
  }

  // Returns the product of the stated ranks of a side, and the axis that has what is left ("": none).
  std::pair<std::int64_t, std::string> product_of(std::string_view side) {
    std::int64_t product = 1;
    std::string rest;
    for (const std::string_view axis : kAxes) {
      const std::int64_t ranks = stated(side, axis);
      const Option option = options_.option(fmt::format("{}_{}_parallelism", side, axis));
      if (ranks == 0) options_.fail(option, "-1 or a whole number from 1");
      if (ranks < 0 && !rest.empty()) options_.fail(option, "one axis with -1 at most");
      if (ranks < 0) rest = axis;
      if (ranks > 0) product *= ranks;
      if (product > kMaxAxisRanks) options_.fail(option, fmt::format("at most {} ranks in all", kMaxAxisRanks));
    }
    return {product, rest};
  }

  // Finds how many ranks each axis has: GPUs of a node over the axes of ici, nodes over those of dcn. A side without -1
  // says how many it has, and so the other.
  void find_ranks() {
    const auto [inside, inside_rest] = product_of("ici");
    const auto [across, across_rest] = product_of("dcn");
    for (const std::string_view axis : kAxes) {
      ranks_[std::string(axis)] =
          std::max<std::int64_t>(1, stated("ici", axis)) * std::max<std::int64_t>(1, stated("dcn", axis));
    }
    if (inside_rest.empty() && across_rest.empty()) {
      devices_ = inside * across;
      return;
    }
    devices_ = context_.gpus;
    std::optional<std::int64_t> of_node = options_.draft().machine.gpus_per_node;
    if (inside_rest.empty()) of_node = inside;
    if (across_rest.empty() && devices_ && *devices_ % across == 0) of_node = *devices_ / across;
    if (devices_ && *devices_ == inside * across) return;
    if (!devices_ || !of_node || *of_node % inside != 0 || *devices_ % (*of_node * across) != 0) {
      devices_.reset();
      return options_.draft().obstruct(
          where_,
          "how many ranks each axis has follows from the GPUs of a node and their number: say the axes with -1 "
          "(ici_fsdp_parallelism and dcn_data_parallelism by default), and the nodes");
    }
    if (!inside_rest.empty()) ranks_[inside_rest] *= *of_node / inside;
    if (!across_rest.empty()) ranks_[across_rest] *= *devices_ / *of_node / across;
  }

  // Returns the option that says most of an axis: a stated one, that of nodes first.
  Option option_of(std::string_view axis) {
    const Option across = options_.option(fmt::format("dcn_{}_parallelism", axis));
    const Option inside = options_.option(fmt::format("ici_{}_parallelism", axis));
    return across.setting != nullptr && inside.setting == nullptr ? across : inside;
  }

  void put_axis(std::string_view axis, std::string_view key, std::int64_t ranks) {
    options_.put(option_of(axis), key, std::to_string(ranks));
  }

  void read_ranks() {
    find_ranks();
    for (const std::string_view axis : kForeignAxes) {
      if (ranks_.at(std::string(axis)) > 1) {
        options_.draft().obstruct(where_,
                                  fmt::format("the axis {}: ranks that divide what mirfak does not describe", axis));
      }
    }
    const std::int64_t tensor = ranks_["tensor"] * ranks_["tensor_sequence"];
    put_axis("tensor", "strategy.tensor", tensor);
    options_.draft().assume("strategy.sequence_parallel", ranks_["tensor_sequence"] > 1 ? "true" : "false",
                            "the axis tensor_sequence divides tokens between attention and MLP");
    put_axis("context", "strategy.context", ranks_["context"]);
    options_.read("context_parallel_strategy");
    put_axis("expert", "strategy.expert", ranks_["expert"]);
    read_stages();
    read_data();
    read_batch();
    for (const std::string_view side : {"ici", "dcn"}) {
      for (const std::string_view axis : kAxes) {
        const Option option = options_.option(fmt::format("{}_{}_parallelism", side, axis));
        if (option.setting != nullptr) options_.use(option, "ranks of the axis");
      }
    }
  }

  // Reads pipeline stages: all forward passes, then all backward passes, as one program has them.
  void read_stages() {
    put_axis("pipeline", "strategy.pipeline", ranks_["pipeline"]);
    const Option repeats = options_.option("num_pipeline_repeats");
    const Option layers = options_.option("num_layers_per_pipeline_stage");
    const Option parts = options_.option("num_pipeline_microbatches");
    const std::int64_t stages = ranks_["pipeline"];
    if (stages == 1) {
      for (const Option& option : {repeats, layers, parts}) options_.leave(option, "one stage");
      return;
    }
    options_.draft().assume("strategy.schedule", "gpipe", "all forward passes run before the backward passes");
    std::int64_t times = options_.count(repeats.name);
    if (times < 0 && layers_) times = *layers_ / std::max<std::int64_t>(1, stages * options_.count(layers.name));
    options_.use(repeats, "chunks of a stage");
    options_.use(layers, "layers of a chunk");
    microbatches_ = options_.count(parts.name) > 0 ? options_.count(parts.name) : stages;
    options_.use(parts, "strategy.micro_batch");
    if (times == 1) return;
    options_.draft().obstruct(
        repeats.setting == nullptr ? where_ : repeats.setting->where,
        fmt::format("num_pipeline_repeats: stages that microbatches pass {} times, all forward first, "
                    "which mirfak does not describe",
                    times));
  }

  void read_data() {
    const std::int64_t shards = ranks_["fsdp"] * ranks_["fsdp_transpose"];
    const std::int64_t divided = shards * ranks_["expert"] * ranks_["context"];
    data_ = ranks_["data"] * shards * ranks_["expert"];
    const bool over_data = options_.flag("shard_optimizer_over_data");
    const Option by_data = options_.option("shard_optimizer_over_data");
    if (!devices_) return;
    options_.put(option_of("data"), "strategy.data", std::to_string(data_));
    if (divided == 1) {
      options_.leave(option_of("fsdp"), "nothing is divided over fsdp");
      options_.draft().assume("strategy.overlap_grad_reduce", "true", "XLA schedules reductions beside the passes");
      return options_.put(by_data, "strategy.zero", over_data ? "1" : "0");
    }
    options_.put(option_of("fsdp"), "strategy.zero", "3");
    if (over_data) options_.doubt(by_data, "state is divided over the axes of parameters alone in the prediction");
    if (!over_data) options_.leave(by_data, "state lies as parameters do");
    if (ranks_["data"] > 1) options_.put(option_of("fsdp"), "strategy.zero_group", std::to_string(divided));
    if (ranks_["fsdp_transpose"] > 1) {
      options_.doubt(option_of("fsdp_transpose"), "parameters are divided along two axes, along one in the prediction");
    }
  }

  void read_batch() {
    const Option each = options_.option("per_device_batch_size");
    const Option steps = options_.option("gradient_accumulation_steps");
    options_.use(steps, "microbatches of a step");
    if (!devices_) return options_.use(each, "training.global_batch is this times the GPUs: give the nodes");
    const double whole = options_.number(each, 0, 1'048'576) * static_cast<double>(*devices_);
    if (whole < 1 || whole != std::floor(whole)) {
      options_.fail(each, fmt::format("whole sequences of {} GPUs", *devices_));
    }
    const auto sequences = static_cast<std::int64_t>(whole);
    const std::int64_t parts = options_.count(steps.name);
    options_.put(each, "training.global_batch", std::to_string(sequences * parts),
                 fmt::format("{} on {} GPUs, in each of {} steps", sequences, *devices_, parts));
    const std::int64_t divisor = data_ * microbatches_;
    if (sequences % divisor != 0) {
      return options_.draft().obstruct(each.setting == nullptr ? where_ : each.setting->where,
                                       fmt::format("{} sequences do not divide over {} data ranks and {} microbatches",
                                                   sequences, data_, microbatches_));
    }
    options_.put(each, "strategy.micro_batch", std::to_string(sequences / divisor));
  }

  void read_precision() {
    options_.read("dtype");
    if (!options_.option("quantization").is_none()) options_.read("quantization");
    const Option weights = options_.option("weight_dtype");
    const Option moment = options_.option("mu_dtype");
    half_ = options_.word(weights, options_.entry(weights.name).takes) == "bfloat16";
    options_.use(weights, half_ ? "parameters, and Adam's state, in 16 bits" : "parameters in fp32");
    const std::string word = options_.word(moment, options_.entry(moment.name).takes);
    const bool narrow = word == "bfloat16" || (word.empty() && half_);
    if (narrow) options_.put(moment, "training.first_moment", "bf16");
    if (!narrow) options_.use(moment, "fp32");
    if (half_) options_.put(weights, "training.second_moment", "bf16");
  }

  void read_recomputation() {
    const Option policy = options_.option("remat_policy");
    if (options_.read(policy.name) != "selective") return;
    const std::string word = options_.word(policy);
    std::vector<std::string> modules = {"layernorm"};
    if (word.find("context") == std::string::npos && word != "minimal_flash") modules.emplace_back("core_attn");
    if (word.find("except_mlp") != std::string::npos) modules.emplace_back("mlp");
    options_.put(policy, "strategy.recompute_modules", list_value(modules, {}),
                 "activation functions, which run again too, are kept in the prediction");
  }

  void read_framework() {
    Value framework = facts_.section("framework");
    const Option attention = options_.option("attention");
    const std::string word = options_.word(attention);
    const Value* kernels = facts_.section("attention").find(word);
    if (kernels != nullptr) framework = with_habit(std::move(framework), "fusion", "attention", *kernels);
    if (!options_.said("training.loss_chunks").empty())
      framework = with_habits(std::move(framework), facts_.section("tiled_loss"));
    if (half_) framework = with_habits(std::move(framework), facts_.section("half_weights"));
    options_.put(attention, "training.framework", std::move(framework));
    const auto& triton = facts_.section("triton").items;
    if (kernels == nullptr) options_.doubt(attention, "no kernel that mirfak knows: the framework file's is taken");
    const bool by_triton =
        std::any_of(triton.begin(), triton.end(), [&](const Value& one) { return one.scalar == word; });
    if (by_triton) {
      options_.draft().notes.push_back({attention.setting == nullptr ? where_ : attention.setting->where,
                                        "attention is a kernel of Triton, and FlashAttention 2 in the prediction"});
    }
  }

  const ProgramFacts& facts_;
  const ImportContext& context_;
  Location where_;
  OptionReader options_;
  std::map<std::string, std::int64_t> ranks_;  // of each axis, in all
  std::optional<std::int64_t> devices_;
  std::optional<std::int64_t> layers_;
  std::int64_t data_ = 1;
  std::int64_t microbatches_ = 1;
  bool half_ = false;
};

bool is_configuration(const std::string& text) { return text.ends_with(".yml") || text.ends_with(".yaml"); }

}  // namespace

bool is_maxtext_file(const ImportFile& file) {
  const std::optional<Value> root = mapping_mentioning(file, {"_parallelism"});
  return root &&
         has_key_of(*root, {"ici_fsdp_parallelism", "dcn_data_parallelism", "ici_tensor_parallelism", "base_emb_dim"});
}

ImportDraft import_maxtext_command(const LaunchCommand& command, std::vector<Setting> others,
                                   std::span<const ImportFile> files, const ImportContext& context) {
  const ProgramFacts facts(context.sources, "maxtext");
  std::vector<Setting> settings;
  std::vector<ImportObstacle> notes;
  for (const ArgumentWord& word : command.arguments) {
    if (!is_configuration(word.text) || word.text.find('=') != std::string::npos) {
      if (!word.text.empty()) settings.push_back(setting_of_change(word));
      continue;
    }
    if (const ImportFile* file = file_named(files, word.text)) {
      for (Setting& setting : settings_of(parse_foreign_yaml(file->text, file->name)))
        settings.push_back(std::move(setting));
    } else if (base_name(word.text) == "base.yml") {
      notes.push_back(
          {word.where, "base.yml is not here: keys that it says otherwise than MaxText's types.py are not known"});
    } else {
      fail_input(word.where, fmt::format("{}: a configuration that is not among the files", excerpt(word.text)),
                 "give it, too");
    }
  }
  for (Setting& setting : others) settings.push_back(std::move(setting));
  ImportDraft draft(std::move(settings));
  draft.machine = command.machine;
  draft.notes = std::move(notes);
  MaxTextReader(draft, facts, context, command.program_where).read();
  return draft;
}

static ImportDraft read_maxtext_file(std::span<const ImportFile> files, const ImportContext& context) {
  const ImportFile& file = files.front();
  ImportDraft draft(settings_of(parse_foreign_yaml(file.text, file.name)));
  MaxTextReader(draft, ProgramFacts(context.sources, "maxtext"), context, {file.name, 1, 1}).read();
  return draft;
}

const ImportFormat kMaxText = {"maxtext-yaml",
                               "MaxText's YAML: model_name, ici_fsdp_parallelism, dcn_data_parallelism, ...",
                               is_maxtext_file, read_maxtext_file};

}  // namespace mirfak
