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

namespace mirfak {

namespace {

constexpr std::int64_t kMaxDegree = 1 << 20;

class TorchtitanReader {
 public:
  TorchtitanReader(ImportDraft& draft, const ProgramFacts& facts, const ImportContext& context)
      : facts_(facts), context_(context), options_(draft, facts.defaults(), "torchtitan") {}

  void read() {
    read_model();
    read_sizes();
    read_data();
    read_batch();
    read_tensor_and_context();
    read_pipeline();
    read_experts();
    read_precision();
    read_optimizer();
    read_recomputation();
    read_compilation();
    facts_.judge_rest(options_.draft());
  }

 private:
  std::int64_t degree(std::string_view name) { return options_.integer(options_.option(name), 1, kMaxDegree); }

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

  Option largest_degree() {
    Option out = options_.option("parallelism.tensor_parallel_degree");
    for (const char* name : {"parallelism.context_parallel_degree", "parallelism.pipeline_parallel_degree",
                             "parallelism.data_parallel_replicate_degree"}) {
      const Option other = options_.option(name);
      if (other.setting != nullptr) out = other;
    }
    return out;
  }

  void read_sizes() {
    tensor_ = degree("parallelism.tensor_parallel_degree");
    context_ranks_ = degree("parallelism.context_parallel_degree");
    stages_ = degree("parallelism.pipeline_parallel_degree");
    replicas_ = degree("parallelism.data_parallel_replicate_degree");
    const double product = static_cast<double>(tensor_) * static_cast<double>(context_ranks_) *
                           static_cast<double>(stages_) * static_cast<double>(replicas_);
    if (product > kMaxDegree)
      options_.fail(largest_degree(), fmt::format("degrees of at most {} ranks in all", kMaxDegree));
    const std::int64_t others = tensor_ * context_ranks_ * stages_ * replicas_;
    const Option shard = options_.option("parallelism.data_parallel_shard_degree");
    const std::int64_t said = options_.integer(shard, -1, kMaxDegree);
    if (said == 0) options_.fail(shard, "-1 or a whole number from 1");
    if (said > 0 && said > kMaxDegree / others)
      options_.fail(shard, fmt::format("at most {} ranks in all", kMaxDegree));
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
    const bool left_over = options_.integer(shard, -1, kMaxDegree) < 0;
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
  }

  void read_sharding(const Option& shard, const Option& replicate) {
    const Option reshard = options_.option("parallelism.fsdp_reshard_after_forward");
    const std::string when = options_.word(reshard, {"default", "always", "never"});
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
    const Option global = options_.option("training.global_batch_size");
    const Option tokens = options_.option("training.seq_len");
    local_ = options_.integer(local, 1, 1 << 30);
    options_.put(tokens, "training.sequence_length", std::to_string(options_.integer(tokens, 1, 1 << 24)));
    const std::int64_t total = options_.integer(global, -1, 1 << 30);
    if (stages_ == 1) options_.put(local, "strategy.micro_batch", std::to_string(local_));
    if (total > 0) {
      options_.put(global, "training.global_batch", std::to_string(total));
      return note_accumulation(global, total);
    }
    options_.use(global, "local batches of all data ranks");
    if (shards_) {
      options_.put(local, "training.global_batch", std::to_string(local_ * *shards_ * replicas_),
                   fmt::format("{} on each of {} data ranks", local_, *shards_ * replicas_));
    } else {
      options_.use(local, "training.global_batch is this times the data ranks: give the nodes");
      options_.draft().obstruct(local.setting == nullptr ? Location{} : local.setting->where,
                                "the global batch is the local one times the data ranks: give the nodes");
    }
  }

  void note_accumulation(const Option& global, std::int64_t total) {
    if (stages_ == 1 || !shards_) return;
    const std::int64_t steps = total / std::max<std::int64_t>(1, local_ * *shards_ * replicas_);
    if (steps < 2) return;
    options_.doubt(global, fmt::format("torchtitan drains the pipeline {} times in an iteration, after each local "
                                       "batch; the prediction runs all microbatches in one go",
                                       steps));
  }

  void read_tensor_and_context() {
    const Option tensor = options_.option("parallelism.tensor_parallel_degree");
    options_.put(tensor, "strategy.tensor", std::to_string(tensor_));
    const Option whole_loss = options_.option("parallelism.disable_loss_parallel");
    if (options_.flag(whole_loss) && tensor_ > 1) {
      options_.doubt(whole_loss, "the prediction divides logits over tensor ranks");
    } else {
      options_.leave(whole_loss, "logits are divided over tensor ranks, as predicted");
    }
    if (tensor_ > 1) options_.put(tensor, "strategy.sequence_parallel", "true", "with tensor parallelism always");
    const Option pieces = options_.option("parallelism.enable_async_tensor_parallel");
    const bool in_pieces = options_.flag(pieces) && tensor_ > 1;
    if (in_pieces) options_.put(pieces, "strategy.overlap_tensor", "true");
    if (!in_pieces) options_.leave(pieces, tensor_ > 1 ? "off" : "no tensor ranks");
    read_context();
  }

  void read_context() {
    const Option size = options_.option("parallelism.context_parallel_degree");
    options_.put(size, "strategy.context", std::to_string(context_ranks_));
    const Option rotation = options_.option("parallelism.context_parallel_rotate_method");
    const Option balance = options_.option("parallelism.context_parallel_load_balancer");
    const std::string method = options_.word(rotation, {"allgather", "alltoall"});
    if (context_ranks_ == 1) {
      options_.leave(rotation, "no context ranks");
      return options_.leave(balance, "no context ranks");
    }
    options_.put(rotation, "strategy.context_communication", method == "alltoall" ? "p2p" : "all-gather");
    const bool balanced = !balance.is_none() && options_.word(balance) == "headtail";
    if (balanced) options_.use(balance, "causal work is even over context ranks");
    if (!balanced) options_.doubt(balance, "the prediction takes causal work to be even over context ranks");
  }

  void read_pipeline() {
    options_.put(options_.option("parallelism.pipeline_parallel_degree"), "strategy.pipeline", std::to_string(stages_));
    if (stages_ > 1) {
      const OptionList& list = option_list(context_.sources.folders.hardware, "torchtitan-toml");
      read_torchtitan_pipeline(options_, *list.find("parallelism.pipeline_parallel_schedule"), layers_, stages_,
                               local_);
    } else {
      leave_torchtitan_pipeline(options_);
    }
  }

  void read_experts() {
    const Option size = options_.option("parallelism.expert_parallel_degree");
    const Option tensor = options_.option("parallelism.expert_tensor_parallel_degree");
    const Option backend = options_.option("parallelism.expert_parallel_comm_backend");
    const std::int64_t experts = options_.integer(size, 1, kMaxDegree);
    const std::int64_t divided = options_.integer(tensor, 1, kMaxDegree);
    const std::string sent = options_.word(backend, {"standard", "deepep"});
    if (experts == 1) {
      options_.leave(size, "experts lie whole on each rank, or are divided by tensor ranks");
      options_.leave(tensor, "only with expert_parallel_degree above 1");
      return options_.leave(backend, "only with expert_parallel_degree above 1");
    }
    options_.put(size, "strategy.expert", std::to_string(experts));
    options_.put(tensor, "strategy.expert_tensor", std::to_string(divided));
    options_.put(backend, "strategy.expert_dispatcher", sent == "deepep" ? "deepep" : "alltoall");
  }

  void read_precision() {
    const Option parameters = options_.option("training.mixed_precision_param");
    const Option reduced = options_.option("training.mixed_precision_reduce");
    const Option storage = options_.option("training.dtype");
    const bool narrow = options_.word(parameters, {"bfloat16", "float32"}) == "bfloat16";
    options_.put(parameters, "training.precision", narrow ? "bf16" : "fp32");
    options_.word(reduced, {"float32"});
    options_.put(reduced, "training.gradient_precision", "fp32");
    if (options_.word(storage, {"bfloat16", "float32"}) == "bfloat16") {
      options_.doubt(storage, "the prediction keeps parameters and optimizer in fp32");
    } else {
      options_.leave(storage, "parameters are kept in fp32, as predicted");
    }
    read_converters();
  }

  void read_converters() {
    const Option converters = options_.option("model.converters");
    if (converters.value.kind != Value::Kind::sequence) options_.fail(converters, "a list of words");
    if (converters.value.items.empty()) return options_.leave(converters, "none");
    for (const Value& item : converters.value.items) {
      const std::string& name = item.scalar;
      if (name == "float8" || name == "quantize.linear.float8") {
        read_float8(converters);
      } else if (name == "mx" || name == "quantize.linear.mx") {
        options_.put(converters, "training.precision", "mxfp8", "");
      } else {
        options_.doubt(converters, fmt::format("no prediction has the converter {}", excerpt(name)));
      }
    }
  }

  void read_float8(const Option& converters) {
    options_.put(converters, "training.precision", "fp8-current", "one scale per tensor, found in the step");
    const Option recipe = options_.option("quantize.linear.float8.recipe_name");
    const bool by_tensor = recipe.is_none() || options_.word(recipe) == "tensorwise";
    if (by_tensor) options_.use(recipe, "one scale per tensor");
    if (!by_tensor) options_.doubt(recipe, "the prediction has one scale per tensor");
    const Option gathered = options_.option("quantize.linear.float8.enable_fsdp_float8_all_gather");
    options_.put(gathered, "training.fp8_parameters", options_.flag(gathered) ? "true" : "false");
    const Option scales = options_.option("quantize.linear.float8.precompute_float8_dynamic_scale_for_fsdp");
    options_.leave(scales, "scales of all parameters in one small collective");
  }

  void read_optimizer() {
    const Option name = options_.option("optimizer.name");
    options_.word(name, {"Adam", "AdamW"});
    options_.put(name, "training.optimizer", "adam");
    const Option early = options_.option("optimizer.early_step_in_backward");
    if (options_.flag(early)) {
      options_.doubt(early, "the prediction steps after the last backward pass");
    } else {
      options_.leave(early, "the step comes after the last backward pass, as predicted");
    }
    const Option offload = options_.option("training.enable_cpu_offload");
    if (options_.flag(offload)) {
      options_.doubt(offload, "no prediction has parameters and gradients on the host");
    } else {
      options_.leave(offload, "nothing lies on the host");
    }
  }

  void read_recomputation() {
    const Option mode = options_.option("activation_checkpoint.mode");
    const Option every = options_.option("activation_checkpoint.selective_ac_option");
    const std::string said = options_.word(mode, {"none", "full", "selective", "memory_budget"});
    if (said != "selective") {
      options_.leave(every, "only with mode: selective");
      if (said == "memory_budget") return options_.doubt(mode, "the compiler then chooses what is computed again");
      return options_.put(mode, "strategy.recompute", said);
    }
    if (options_.word(every) != "op") return read_every_nth(mode, every);
    options_.put(mode, "strategy.recompute", "selective");
    options_.put(every, "strategy.recompute_modules", list_value(std::vector<std::string>{"op"}, every.value.where));
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
    const Value* chunks = options_.draft().scenario().find("strategy")->find("virtual_pipeline");
    const std::int64_t of_chunk =
        *layers_ / stages_ /
        (chunks == nullptr ? 1 : std::max<std::int64_t>(1, whole_number_of(chunks->scalar).value_or(1)));
    if (of_chunk < n) {
      options_.use(every, "a chunk has fewer layers");
      return options_.put(mode, "strategy.recompute", "none");
    }
    options_.put(mode, "strategy.recompute", "full");
    options_.put(every, "strategy.recompute_layers", std::to_string(of_chunk / n),
                 fmt::format("every {} of a chunk's {} layers", n == 2 ? "second" : fmt::format("{}th", n), of_chunk));
  }

  void read_compilation() {
    const Option enable = options_.option("compile.enable");
    const Option components = options_.option("compile.components");
    bool compiled = options_.flag(enable);
    if (compiled && components.value.kind == Value::Kind::sequence) {
      const auto& parts = components.value.items;
      compiled = std::any_of(parts.begin(), parts.end(), [](const Value& part) { return part.scalar == "model"; });
    }
    const Value* framework = facts_.section("frameworks").find(compiled ? "compiled" : "eager");
    options_.put(enable, "training.framework", framework->scalar, compiled ? "" : "PyTorch's own kernels");
    options_.use(components, compiled ? "blocks are compiled" : "blocks are not compiled");
  }

  const ProgramFacts& facts_;
  const ImportContext& context_;
  OptionReader options_;
  std::optional<std::int64_t> layers_;
  std::int64_t tensor_ = 1;
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

bool is_torchtitan_toml(const ImportFile& file) {
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

}  // namespace mirfak
