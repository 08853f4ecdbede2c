// Sources of the valid combinations: deepspeed/runtime/pipe/engine.py of DeepSpeed v0.19.5, megatron/arguments.py of
// Megatron-DeepSpeed.

#include "launch/launch_targets.hpp"
#include "launch/option_list.hpp"
#include "strategy/rules.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

void require_model(const ModelSpec& model) {
  const auto require = [](bool has, std::string_view key, std::string_view what) {
    require_expressible(has, key, fmt::format("Megatron-DeepSpeed has no {}", what), "");
  };
  require(model.causal, "model.causal", "pretrain_gpt.py for encoders");
  require(!model.post_norm, "model.post_norm", "normalizations behind attention and MLP");
  require(!model.embedding_norm, "model.embedding_norm", "normalized embeddings");
  require(!model.qk_norm, "model.qk_norm", "normalized queries and keys");
  require(model.latent.key_value_rank == 0, "model.latent_attention", "latent attention");
  require(!model.sinks, "model.sinks", "learned sinks of attention");
  require(model.window.tokens == 0, "model.sliding_window", "sliding windows");
  require(model.prediction_layers == 0, "model.prediction_layers", "multi-token prediction");
  require(model.position != PositionEncoding::alibi, "model.position", "ALiBi");
  require(model.qkv_bias == model.linear_bias, "model.qkv_bias", "biases of their own for queries, keys and values");
  require(model.head_dim * model.heads == model.hidden, "model.head_dim", "tested heads of another size");
  const bool activation = model.activation == ActivationFunction::gelu ||
                          model.activation == ActivationFunction::swiglu ||
                          model.activation == ActivationFunction::squared_relu;
  require(activation, "model.activation", "activation function of that kind");
}

void add_model(LaunchOptions& out, const Job& job) {
  const ModelSpec& model = job.model;
  require_model(model);
  out.value("--num-layers", model.layers);
  out.value("--hidden-size", model.hidden);
  out.value("--ffn-hidden-size", model.ffn);
  out.value("--num-attention-heads", model.heads);
  if (model.kv_heads != model.heads) out.value("--num-key-value-heads", model.kv_heads);
  out.value("--seq-length", job.training.sequence_length);
  out.value("--max-position-embeddings", std::max(model.max_sequence, job.training.sequence_length));
  out.value("--normalization", model.normalization == Normalization::rms_norm ? "rmsnorm" : "layernorm");
  if (model.activation == ActivationFunction::swiglu) out.flag("--swiglu");
  if (model.activation == ActivationFunction::squared_relu) out.flag("--squared-relu");
  if (model.position != PositionEncoding::learned) out.flag("--no-position-embedding");
  if (model.position == PositionEncoding::rotary) out.flag("--use-rotary-position-embeddings");
  if (!model.linear_bias) out.flag("--disable-bias-linear");
  if (!model.tied_embeddings) out.flag("--untie-embeddings-and-output-weights");
  out.value("--attention-dropout", model.dropout);
  out.value("--hidden-dropout", model.dropout);
}

void add_deepspeed_experts(LaunchOptions& out, const Job& job) {
  const Strategy& s = job.strategy;
  const MixtureOfExperts& mixture = job.model.mixture;
  if (mixture.experts == 0) return;
  const bool plain = mixture.shared_ffn == 0 && mixture.first_dense == 0 && mixture.ffn == job.model.ffn;
  require_expressible(plain, "model.experts", "Megatron-DeepSpeed's experts are as large as the plain MLP, alone", "");
  require_expressible(mixture.groups == mixture.groups_per_token, "model.experts.groups",
                      "DeepSpeed's router chooses among all experts", "leave it out");
  require_expressible(s.pipeline == 1, "strategy.pipeline", "Megatron-DeepSpeed has no experts beside pipeline stages",
                      "set it to 1");
  require_expressible(s.expert_dispatcher == ExpertDispatcher::all_to_all, "strategy.expert_dispatcher",
                      "DeepSpeed exchanges rows by all-to-all", "choose alltoall");
  require_expressible(!s.overlap_expert, "strategy.overlap_expert", "DeepSpeed does not overlap the exchange",
                      "leave it out");
  require_expressible(!s.expert_span().tensor, "strategy.expert",
                      "DeepSpeed's expert-parallel groups do not take tensor ranks", "choose expert_tensor: tensor");
  out.value("--num-experts", mixture.experts);
  out.value("--topk", mixture.per_token);
  out.value("--expert-interval", mixture.every);
  out.flag("--disable-moe-token-dropping");
  out.value("--moe-expert-parallel-size", s.expert);
  if (s.tensor > 1 && s.tensor_of_experts() > 1) out.flag("--enable-expert-tensor-parallelism");
}

void require_pipeline(const Job& job) {
  const Strategy& s = job.strategy;
  require_expressible(s.virtual_pipeline == 1 && s.schedule != schedule_named("interleaved-1f1b"), "strategy.schedule",
                      "DeepSpeed's pipeline engine does not interleave", "choose 1f1b and virtual_pipeline: 1");
  const bool one_microbatch = s.schedule == schedule_named("gpipe") && microbatches(s, job.training) == 1;
  require_expressible(s.schedule == kDefaultSchedule || one_microbatch, "strategy.schedule",
                      "DeepSpeed's pipeline engine has 1F1B only", "choose 1f1b");
  const bool whole = s.scatter_gather == ScatterGather::off && s.tensor > 1 && s.pipeline > 1 && !s.sequence_parallel;
  require_expressible(!whole, "strategy.scatter_gather", "DeepSpeed's pipeline engine sends shares of the tensor ranks",
                      "leave it out");
  require_expressible(s.layer_split.empty(), "strategy.layer_split",
                      "Megatron-DeepSpeed divides layers evenly over stages", "leave it out");
  require_expressible(!s.account_for_embedding_in_pipeline_split, "strategy.account_for_embedding_in_pipeline_split",
                      "Megatron-DeepSpeed counts layers only", "leave it out");
  require_expressible(!s.account_for_loss_in_pipeline_split, "strategy.account_for_loss_in_pipeline_split",
                      "Megatron-DeepSpeed counts layers only", "leave it out");
}

void add_deepspeed_parallelism(LaunchOptions& out, const Job& job) {
  const Strategy& s = job.strategy;
  require_pipeline(job);
  out.value("--tensor-model-parallel-size", s.tensor);
  out.value("--pipeline-model-parallel-size", s.pipeline);
  if (s.pipeline == 1) out.flag("--no-pipeline-parallel");
  if (s.sequence_parallel) out.flag("--sequence-parallel");
  require_expressible(!s.overlap_tensor, "strategy.overlap_tensor",
                      "Megatron-DeepSpeed does not run products in pieces beside collectives", "leave it out");
  if (s.context > 1) {
    const bool ulysses = s.context_communication == ContextCommunication::all_to_all;
    require_expressible(ulysses, "strategy.context_communication",
                        "DeepSpeed divides heads among context ranks inside attention", "choose a2a");
    require_expressible(s.tensor == 1 && s.pipeline == 1, "strategy.context",
                        "DeepSpeed's sequence parallelism goes with data parallelism only",
                        "set tensor: 1 and pipeline: 1");
    out.value("--ds-sequence-parallel-size", s.context);
  }
  out.value("--micro-batch-size", s.micro_batch);
  out.value("--global-batch-size", job.training.global_batch);
}

void add_recomputation(LaunchOptions& out, const Strategy& s) {
  require_expressible(s.offload_layers == 0, "strategy.offload_layers",
                      "DeepSpeed offloads the activations of all layers or none", "leave it out");
  if (s.recompute == Recompute::none) return;
  require_expressible(s.partly_recomputed() == 0, "strategy.recompute_layers",
                      "Megatron-DeepSpeed recomputes all layers or none", "leave it out");
  if (s.recompute == Recompute::full) {
    out.flag("--checkpoint-activations");
    out.flag("--deepspeed-activation-checkpointing");
    const int layers = std::max(1, s.recompute_layers);
    out.value("--checkpoint-num-layers", layers);
    out.value("--recompute-granularity", "full");
    out.value("--recompute-method", "uniform");
    out.value("--recompute-num-layers", layers);
    return;
  }
  require_expressible(s.recompute_modules == ModuleSet{1}, "strategy.recompute_modules",
                      "Megatron-DeepSpeed recomputes the attention core only", "set it to [core_attn]");
  out.value("--recompute-granularity", "selective");
}

void add_training(LaunchOptions& out, const Job& job) {
  const TrainingSpec& training = job.training;
  require_expressible(training.adapters.rank == 0, "training.lora", "pretrain_gpt.py trains whole models", "");
  require_expressible(!training.cuda_graphs.any(), "training.cuda_graphs",
                      "DeepSpeed captures no CUDA graphs of training", "leave it out");
  const Optimizer optimizer = training.optimizer;
  require_expressible(optimizer == Optimizer::adam || optimizer == Optimizer::sgd, "training.optimizer",
                      "Megatron-DeepSpeed has adam and sgd", "choose one of them");
  out.value("--optimizer", optimizer == Optimizer::adam ? "adam" : "sgd");
  const std::string& precision = training.precision;
  require_expressible(precision == "bf16" || precision == "fp16" || precision == "fp32", "training.precision",
                      fmt::format("Megatron-DeepSpeed has no {}", precision), "choose bf16, fp16 or fp32");
  if (precision != "fp32") out.flag("--" + precision);
}

Json offload_json(const Job& job) {
  const Strategy& s = job.strategy;
  constexpr std::string_view key = "strategy.offload_optimizer";
  require_expressible(s.zero > 0, key, "DeepSpeed offloads the optimizer with ZeRO 1 to 3", "set zero: 1");
  require_expressible(s.zero == 3 || s.offload_optimizer == 1, key,
                      "DeepSpeed offloads a share of the optimizer at stage 3 only", "set it to 1");
  require_expressible(job.training.optimizer == Optimizer::adam, key, "DeepSpeed steps Adam on the host",
                      "set training.optimizer: adam");
  Json out = {{"device", "cpu"}, {"pin_memory", true}};
  if (s.zero == 3) out["ratio"] = s.offload_optimizer;
  return out;
}

Json zero_json(const Job& job) {
  const Strategy& s = job.strategy;
  const bool groups = s.zero > 0 && s.shards() < s.replicas();
  require_expressible(!groups || s.zero == 3, "strategy.zero_group",
                      "DeepSpeed shards in groups (MiCS) at stage 3 only", "leave it out");
  require_expressible(s.zero < 2 || s.pipeline == 1, "strategy.zero",
                      "DeepSpeed has ZeRO up to stage 1 beside pipeline stages", "choose a lower stage");
  require_expressible(!s.overlap_param_gather, "strategy.overlap_param_gather",
                      "DeepSpeed gathers parameters behind the step", "leave it out");
  const bool overlaps = s.zero > 0 && s.pipeline == 1;
  require_expressible(!s.overlap_grad_reduce || overlaps, "strategy.overlap_grad_reduce",
                      "DeepSpeed overlaps the reduction of gradients with ZeRO, without pipeline stages",
                      "leave it out");
  Json zero = {{"stage", s.zero}};
  if (s.zero > 0) zero["overlap_comm"] = s.zero > 1 || s.overlap_grad_reduce;
  if (groups) zero["mics_shard_size"] = s.shards();
  if (s.offload_optimizer > 0) zero["offload_optimizer"] = offload_json(job);
  return zero;
}

Json config(const Job& job) {
  const Strategy& s = job.strategy;
  Json out = {{"train_batch_size", job.training.global_batch},
              {"train_micro_batch_size_per_gpu", s.micro_batch},
              {"gradient_accumulation_steps", microbatches(s, job.training)},
              {"zero_optimization", zero_json(job)}};
  const std::string& precision = job.training.precision;
  if (precision != "fp32") out[precision] = {{"enabled", true}};
  const bool wide = precision != "fp32" && gradient_bytes(job) == 4;
  require_expressible(!wide || (precision == "bf16" && s.zero == 1), "training.gradient_precision",
                      "DeepSpeed accumulates 16-bit gradients in fp32 with bf16 and ZeRO 1 only",
                      fmt::format("set it to {}", precision));
  if (wide) out["data_types"] = {{"grad_accum_dtype", "fp32"}};
  return out;
}

// Checks the keys of the JSON's sections, by their names joined with a dot.
void require_keys(const OptionList& keys, const Json& json) {
  for (const auto& [name, value] : json.items()) {
    keys.require(name, {});
    if (!value.is_object()) continue;
    for (const auto& entry : value.items()) {
      const Json& inner = entry.value();
      keys.require(name + "." + entry.key(),
                   inner.is_string() ? std::vector{inner.get<std::string>()} : std::vector<std::string>{});
    }
  }
}

}  // namespace

LaunchProgram deepspeed_program(const Job& job, const std::filesystem::path& hardware) {
  const OptionList list(hardware, "megatron-deepspeed");
  const OptionList keys(hardware, "deepspeed");
  LaunchProgram out;
  out.start = {"pretrain_gpt.py"};
  out.comments = {list.title(), keys.title(), world_comment(job)};
  add_model(out.options, job);
  add_deepspeed_parallelism(out.options, job);
  add_deepspeed_experts(out.options, job);
  add_recomputation(out.options, job.strategy);
  add_training(out.options, job);
  out.options.flag("--deepspeed");
  out.options.value("--deepspeed_config", "ds_config.json");
  list.require(out.options);
  const Json json = config(job);
  require_keys(keys, json);
  out.files.push_back({"ds_config.json", json.dump(2) + "\n"});
  return out;
}

}  // namespace mirfak
