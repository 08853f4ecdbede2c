// torchtitan v0.1.0 to v0.2.2. Sections and keys: torchtitan/config/job_config.py; their effects:
// distributed/pipeline_parallel.py, distributed/parallel_dims.py, models/*/infra/parallelize.py, train.py.

#include "import/torchtitan.hpp"

#include "base/text.hpp"
#include "import/number_words.hpp"
#include "import/option_reader.hpp"
#include "import/program_facts.hpp"
#include "import/toml.hpp"
#include "import/torchtitan_pipeline.hpp"
#include "launch/option_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

constexpr std::int64_t kMaxRanks = 1 << 20;

class TorchtitanReader {
 public:
  TorchtitanReader(ImportDraft& draft, const ProgramFacts& facts, const ImportContext& context)
      : facts_(facts),
        context_(context),
        options_(draft, option_list(context.sources.folders.hardware, "torchtitan-toml"), "torchtitan") {}

  void read() {
    read_model();
    read_sizes();
    read_data();
    read_batch();
    options_.read_part("ranks");
    if (stages_ > 1) read_torchtitan_pipeline(options_, layers_, stages_, local_);
    if (stages_ == 1) leave_torchtitan_pipeline(options_);
    options_.read_part("experts");
    options_.read_part("precision");
    options_.read_part("loss");
    read_converters();
    options_.read_part("optimizer");
    read_learners();
    read_recomputation();
    read_compilation();
    facts_.judge_rest(options_.draft());
  }

 private:
  void read_model() {
    const Option name = options_.option("model.name");
    const Option flavor = options_.option("model.flavor");
    const std::string model = options_.word(name);
    const std::string size = options_.word(flavor);
    const Value* flavors = facts_.section("models").find(model);
    const Value* entry = flavors == nullptr ? nullptr : flavors->find(size);
    if (entry == nullptr && flavors == nullptr) return read_other_model(name, flavor);
    if (entry == nullptr) return lack_model(flavor, fmt::format("no shape is known of {} {}", model, size));
    const KnownModel known =
        known_model(*entry, facts_.section("common"), fmt::format("{}-{}", model, size), context_.sources);
    options_.put(flavor, "model", known.model, known.note);
    options_.use(name, "with its flavor");
    layers_ = layers_of_model(known.model, context_.sources);
  }

  void lack_model(const Option& option, const std::string& reason) {
    options_.doubt(option, reason);
    options_.draft().obstruct(option.setting == nullptr ? Location{} : option.setting->where,
                              reason + ": say model: yourself, by a name of models/ or a config.json");
  }

  // Reads experiments that take a model of Hugging Face's.
  void read_other_model(const Option& name, const Option& flavor) {
    Option id = options_.option("hf_transformers.model");
    if (id.setting == nullptr && options_.word(flavor).find('/') != std::string::npos) id = flavor;
    if (id.setting == nullptr) {
      options_.use(flavor, "with model.name");
      return lack_model(name, fmt::format("no shape is known of torchtitan's {}", options_.word(name)));
    }
    options_.use(name, "a model of Hugging Face's");
    const auto known = hugging_face_model(options_.word(id), context_.sources);
    if (!known) return lack_model(id, fmt::format("models/ does not have {}", options_.word(id)));
    options_.put(id, "model", known->model, known->note);
    layers_ = layers_of_model(known->model, context_.sources);
    options_.use(flavor, "how much of it is trained");
  }

  void read_sizes() {
    std::int64_t tensor = 1;
    std::int64_t others = 1;
    for (const auto& [name, size] : {std::pair{"tensor_parallel", &tensor},
                                     {"context_parallel", &context_ranks_},
                                     {"pipeline_parallel", &stages_},
                                     {"data_parallel_replicate", &replicas_}}) {
      const Option degree = options_.option(fmt::format("parallelism.{}_degree", name));
      others *= * size = options_.count(degree.name);
      if (others > kMaxRanks) options_.fail(degree, fmt::format("degrees of at most {} ranks in all", kMaxRanks));
    }
    const Option shard = options_.option("parallelism.data_parallel_shard_degree");
    const std::int64_t said = options_.count(shard.name);
    if (said == 0) options_.fail(shard, "-1 or a whole number from 1");
    if (said > kMaxRanks / others) options_.fail(shard, fmt::format("at most {} ranks in all", kMaxRanks));
    if (said > 0) {
      shards_ = said;
    } else if (context_.gpus && *context_.gpus % others == 0) {
      shards_ = *context_.gpus / others;
    }
  }

  // Reads data parallelism: FSDP shards over data_parallel_shard_degree times context ranks, and is absent if that
  // product is 1.
  void read_data() {
    const Option shard = options_.option("parallelism.data_parallel_shard_degree");
    const Option replicate = options_.option("parallelism.data_parallel_replicate_degree");
    const bool left_over = options_.count(shard.name) < 0;
    if (shards_) {
      const std::string data = std::to_string(*shards_ * replicas_);
      options_.put(shard, "strategy.data", data,
                   left_over ? fmt::format("what is left of {} GPUs", *context_.gpus) : "");
    } else {
      options_.use(shard, "strategy.data is what is left of the GPUs");
    }
    options_.use(replicate, replicas_ > 1 ? "copies of what is sharded" : "one copy of what is sharded");
    const bool sharded = !shards_ || *shards_ * context_ranks_ > 1;
    if (sharded) read_sharding(shard, replicate);
    if (!sharded) options_.put(replicate, "strategy.zero", "0", "DDP, if anything");
    options_.put(replicate, "strategy.overlap_grad_reduce", "true", "FSDP and DDP always do");
    options_.read("parallelism.enable_fsdp_symm_mem");
  }

  void read_sharding(const Option& shard, const Option& replicate) {
    const Option reshard = options_.option("parallelism.fsdp_reshard_after_forward");
    const std::string when = options_.word(reshard, options_.entry(reshard.name).takes);
    const bool kept = when == "never" || (when == "default" && stages_ > 1);
    options_.put(reshard, "strategy.zero", kept ? "2" : "3",
                 when == "default" ? "default: always without pipeline stages, never with them" : "");
    if (replicas_ == 1) return;
    if (shards_) {
      options_.put(shard, "strategy.zero_group", std::to_string(*shards_ * context_ranks_));
    } else {
      options_.doubt(replicate, "the size of a sharding group follows from the number of GPUs: give the nodes");
    }
  }

  void read_batch() {
    const Option local = options_.option("training.local_batch_size");
    local_ = options_.count(local.name);
    options_.read("training.seq_len");
    if (stages_ == 1) options_.put(local, "strategy.micro_batch", std::to_string(local_));
    const std::string total = options_.read("training.global_batch_size");
    if (!total.empty()) return note_accumulation(whole_number_of(total).value_or(0));
    if (shards_) {
      options_.put(local, "training.global_batch", std::to_string(local_ * *shards_ * replicas_),
                   fmt::format("{} on each of {} data ranks", local_, *shards_ * replicas_));
    } else {
      options_.use(local, "training.global_batch is this times the data ranks: give the nodes");
      options_.draft().obstruct(local.setting == nullptr ? Location{} : local.setting->where,
                                "the global batch is the local one times the data ranks: give the nodes");
    }
  }

  void note_accumulation(std::int64_t total) {
    if (stages_ == 1 || !shards_) return;
    const std::int64_t steps = total / std::max<std::int64_t>(1, local_ * *shards_ * replicas_);
    if (steps < 2) return;
    options_.doubt(options_.option("training.global_batch_size"),
                   fmt::format("torchtitan drains the pipeline {} times in an iteration, after each local "
                               "batch; the prediction runs all microbatches in one go",
                               steps));
  }

  void read_converters() {
    const Option converters = options_.option("model.converters");
    if (converters.value.kind != Value::Kind::sequence) options_.fail(converters, "a list of words");
    if (converters.value.items.empty()) return options_.leave(converters, "none");
    for (const Value& item : converters.value.items) {
      const std::string& name = item.scalar;
      if (name == "float8" || name == "quantize.linear.float8") {
        options_.use(converters, "linear layers in fp8, as the recipe says");
        read_float8_recipe();
        options_.read_part("float8");
      } else if (name == "mx" || name == "quantize.linear.mx") {
        options_.put(converters, "training.precision", "mxfp8", "");
      } else {
        options_.doubt(converters, fmt::format("no prediction has the converter {}", excerpt(name)));
      }
    }
  }

  void read_float8_recipe() {
    const Option recipe = options_.option("quantize.linear.float8.recipe_name");
    if (recipe.is_none()) {
      options_.put(recipe, "training.precision", "fp8-current", "no recipe: one scale per tensor");
    } else {
      options_.read(recipe.name);
    }
  }

  // Reads replicas that torchft joins: every step, or after some steps of their own.
  void read_learners() {
    const Option enable = options_.option("fault_tolerance.enable");
    if (enable.setting == nullptr) return;
    if (!options_.flag(enable)) return options_.leave(enable, "no replicas that come and go");
    options_.use(enable, "replicas that come and go are the learners of training.local_steps");
    options_.read_part("learners");
    const Option method = options_.option("fault_tolerance.semi_sync_method");
    const Option quorum = options_.option("fault_tolerance.min_replica_size");
    if (options_.count("fault_tolerance.group_size") < 2) return;
    options_.leave(quorum, "only trainings with failures have it: operations.quorum");
    if (method.is_none()) {
      return options_.put(method, "training.local_steps.every", "1", "gradients are exchanged at each step");
    }
    options_.read_part("apart");
    if (options_.word(method) == "diloco") return options_.use(method, "an outer optimizer steps after sync_steps");
    options_.doubt(method, "the prediction keeps the state of an outer optimizer, which averaging alone has not");
  }

  void read_recomputation() {
    const Option mode = options_.option("activation_checkpoint.mode");
    const Option every = options_.option("activation_checkpoint.selective_ac_option");
    if (options_.word(mode) != "selective") {
      options_.leave(every, "only with mode: selective");
      options_.read(mode.name);
    } else if (options_.word(every) != "op") {
      read_every_nth(mode, every);
    } else {
      options_.read(mode.name);
      options_.put(every, "strategy.recompute_modules", list_value(std::vector<std::string>{"op"}, every.value.where));
    }
  }

  // Reads the recomputation of each n-th layer: in a chunk, floor(layers / n) layers are recomputed in full.
  void read_every_nth(const Option& mode, const Option& every) {
    const std::int64_t n = options_.integer(every, 1, 10'000);
    if (n == 1) {
      options_.use(every, "each layer");
      return options_.put(mode, "strategy.recompute", "full");
    }
    if (!layers_) {
      options_.use(mode, "see selective_ac_option");
      return options_.doubt(every, "the number of these layers depends on the model, which is not known");
    }
    const std::int64_t chunks = whole_number_of(options_.said("strategy.virtual_pipeline")).value_or(1);
    const std::int64_t of_chunk = *layers_ / stages_ / std::max<std::int64_t>(1, chunks);
    if (of_chunk < n) {
      options_.use(every, "a chunk has fewer layers");
      return options_.put(mode, "strategy.recompute", "none");
    }
    options_.put(mode, "strategy.recompute", "full");
    options_.put(every, "strategy.recompute_layers", std::to_string(of_chunk / n),
                 fmt::format("every {} of a chunk's {} layers", n == 2 ? "second" : fmt::format("{}th", n), of_chunk));
  }

  void read_compilation() {
    const Option components = options_.option("compile.components");
    bool compiled = options_.flag("compile.enable");
    if (compiled && components.value.kind == Value::Kind::sequence) {
      const auto& parts = components.value.items;
      compiled = std::any_of(parts.begin(), parts.end(), [](const Value& part) { return part.scalar == "model"; });
    }
    const bool registered = options_.said("strategy.registered_buffers") == "true";
    const Value* framework = facts_.section("frameworks")
                                 .find(compiled     ? "compiled"
                                       : registered ? "eager_registered"
                                                    : "eager");
    options_.put(options_.option("compile.enable"), "training.framework", *framework,
                 compiled ? "" : "PyTorch's own kernels");
    options_.use(components, compiled ? "blocks are compiled" : "blocks are not compiled");
  }

  const ProgramFacts& facts_;
  const ImportContext& context_;
  OptionReader options_;
  std::optional<std::int64_t> layers_;
  std::int64_t context_ranks_ = 1;
  std::int64_t stages_ = 1;
  std::int64_t replicas_ = 1;           // data_parallel_replicate_degree
  std::optional<std::int64_t> shards_;  // data_parallel_shard_degree; none: the rest of an unknown number of GPUs
  std::int64_t local_ = 1;              // sequences per data rank
};

}  // namespace

ImportDraft import_torchtitan(std::vector<Setting> settings, const ImportContext& context) {
  const ProgramFacts facts(context.sources, "torchtitan");
  facts.rename(settings);
  ImportDraft draft(std::move(settings));
  TorchtitanReader(draft, facts, context).read();
  return draft;
}

static bool is_torchtitan_toml(const ImportFile& file) {
  if (file.text.find("[model") == std::string::npos || file.text.find("[training") == std::string::npos) return false;
  try {
    const Value root = parse_toml(file.text, file.name);
    const Value* training = root.find("training");
    return root.find("model") != nullptr && training != nullptr && training->kind == Value::Kind::mapping;
  } catch (const Error&) {
    return false;
  }
}

ImportDraft read_torchtitan_toml(std::span<const ImportFile> files, const ImportContext& context) {
  return import_torchtitan(settings_of(parse_toml(files.front().text, files.front().name), " = "), context);
}

const ImportFormat kTorchtitanToml = {"torchtitan-toml",
                                      "TOML of torchtitan v0.1.0 to v0.2.2: [model], [training], [parallelism], ...",
                                      is_torchtitan_toml, read_torchtitan_toml};

}  // namespace mirfak
