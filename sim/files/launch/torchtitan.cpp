// Sources of the valid combinations in torchtitan v0.2.2 and 0014ac2ca45a: distributed/pipeline_parallel.py,
// models/*/infra/parallelize.py, config/job_config.py and config/configs.py.

#include "launch/launch_targets.hpp"
#include "launch/torchtitan_settings.hpp"
#include "schedule/schedule.hpp"
#include "strategy/rules.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace mirfak {

namespace {

using Titan = TitanSettings;

void require_training(const Job& job) {
  const TrainingSpec& training = job.training;
  require_expressible(training.optimizer == Optimizer::adam, "training.optimizer", "torchtitan steps with AdamW",
                      "choose adam");
  require_expressible(training.adapters.rank == 0, "training.lora", "torchtitan trains whole models", "");
  require_expressible(!training.cuda_graphs.any(), "training.cuda_graphs", "torchtitan captures no CUDA graphs",
                      "leave it out");
  const std::string& precision = training.precision;
  require_expressible(precision == "bf16" || precision == "fp32" || precision == "fp8-current", "training.precision",
                      fmt::format("torchtitan has no {}", precision), "choose bf16, fp32 or fp8-current");
  require_expressible(gradient_bytes(job) == 4, "training.gradient_precision", "torchtitan reduces gradients in fp32",
                      "set it to fp32");
  require_expressible(!training.fp8_activation_input, "training.fp8_activation_input", "torchtitan does not do it",
                      "leave it out");
}

void add_training(Titan& out, const Job& job, TitanForm form) {
  require_training(job);
  const Strategy& s = job.strategy;
  const int at_once = s.pipeline > 1 ? microbatches(s, job.training) : 1;
  out.section("optimizer");
  out.text("name", "AdamW");
  out.section("training");
  out.value("local_batch_size", s.micro_batch * at_once);
  out.value("global_batch_size", job.training.global_batch);
  out.value("seq_len", job.training.sequence_length);
  out.text("mixed_precision_param", job.training.precision == "fp32" ? "float32" : "bfloat16");
  out.text("mixed_precision_reduce", "float32");
  if (form == TitanForm::command || job.recipe().scaling != Scaling::current) return;
  out.section("quantize.linear.float8");
  out.text("recipe_name", "tensorwise");
  out.value("enable_fsdp_float8_all_gather", job.training.fp8_parameters);
}

// Adds data parallelism: sharded over `shards`, to which torchtitan adds the context ranks by itself, replicated across
// the shards.
void add_data(Titan& out, const Job& job) {
  const Strategy& s = job.strategy;
  require_expressible(s.zero != 1, "strategy.zero", "torchtitan shards gradients (2) and parameters (3) too", "");
  const bool sharded = s.zero > 1 && s.shards() > 1;
  require_expressible(sharded || s.ranks() == s.data, "strategy.zero",
                      "torchtitan replicates parameters without any other parallelism only",
                      "set strategy.zero: 3 (or 2), with more than one rank that holds the same parameters");
  require_expressible(sharded || s.data == 1 || s.overlap_grad_reduce, "strategy.overlap_grad_reduce",
                      "torchtitan always overlaps the reduction of gradients", "set it to true");
  require_expressible(!sharded || s.shards() % s.context == 0, "strategy.zero_group",
                      "torchtitan shards over context ranks as a whole", "choose a multiple of strategy.context");
  const int shards = sharded ? s.shards() / s.context : 1;
  out.value("data_parallel_replicate_degree", s.data / shards);
  out.value("data_parallel_shard_degree", shards);
  if (sharded) out.text("fsdp_reshard_after_forward", s.zero == 3 ? "always" : "never");
}

void add_tensor_and_context(Titan& out, const Job& job, TitanForm form) {
  const Strategy& s = job.strategy;
  require_expressible(s.tensor == 1 || s.sequence_parallel, "strategy.sequence_parallel",
                      "torchtitan's tensor parallelism divides the tokens too", "set it to true");
  out.value("tensor_parallel_degree", s.tensor);
  if (s.overlap_tensor || form == TitanForm::command) out.value("enable_async_tensor_parallel", s.overlap_tensor);
  out.value("context_parallel_degree", s.context);
  if (s.context == 1) return;
  require_expressible(s.context_communication != ContextCommunication::all_to_all, "strategy.context_communication",
                      "torchtitan divides tokens inside attention, not heads", "choose p2p or all-gather");
  const bool ring = s.context_communication == ContextCommunication::p2p;
  out.text("context_parallel_rotate_method", ring ? "alltoall" : "allgather");
}

void require_dispatcher(const Strategy& s, TitanForm form) {
  const bool deep = s.expert_dispatcher == ExpertDispatcher::deep_ep;
  require_expressible(deep || s.expert_dispatcher == ExpertDispatcher::all_to_all, "strategy.expert_dispatcher",
                      "torchtitan has all-to-all and DeepEP", "choose alltoall or deepep");
  require_expressible(!deep || s.tensor_of_experts() == 1, "strategy.expert_dispatcher",
                      "torchtitan's DeepEP takes whole experts only", "set expert_tensor: 1 or choose alltoall");
  if (form == TitanForm::toml) return;
  require_expressible(!deep || s.expert == 1, "strategy.expert_dispatcher",
                      "torchtitan's named configurations exchange rows by all-to-all, and no option says otherwise",
                      "choose alltoall");
  require_expressible(s.expert == 1 || s.tensor_of_experts() == 1, "strategy.expert_tensor",
                      "torchtitan takes whole experts only", "set it to 1");
}

void add_experts(Titan& out, const Job& job, TitanForm form) {
  const Strategy& s = job.strategy;
  if (job.model.mixture.experts == 0) return;
  const bool both_ways = s.schedule == schedule_named("dualpipe-v") && s.expert > 1 && form == TitanForm::toml;
  require_expressible(!s.overlap_expert || both_ways, "strategy.overlap_expert",
                      form == TitanForm::toml ? "torchtitan overlaps the exchange with DualPipeV only"
                                              : "torchtitan's command line does not overlap the exchange",
                      "leave it out");
  const bool divided = s.expert > 1 || s.tensor_of_experts() == s.tensor;
  require_expressible(divided, "strategy.expert_tensor", "torchtitan divides experts that are not expert-parallel",
                      "leave it out");
  const bool whole = s.tensor_of_experts() > 1 || s.tensor == 1 || s.expert_span().tensor;
  require_expressible(s.expert == 1 || whole, "strategy.expert",
                      "torchtitan cuts groups of whole experts out of whole tensor groups",
                      "choose a multiple of strategy.tensor");
  require_dispatcher(s, form);
  if (both_ways) out.value("pipeline_parallel_expert_parallel_overlap", s.overlap_expert);
  out.value("expert_parallel_degree", s.expert);
  if (form == TitanForm::command) return;
  out.value("expert_tensor_parallel_degree", s.tensor_of_experts());
  out.text("expert_parallel_comm_backend", s.expert_dispatcher == ExpertDispatcher::deep_ep ? "deepep" : "standard");
}

void require_kept_activations(const Strategy& s) {
  require_expressible(s.offload_layers == 0, "strategy.offload_layers", "torchtitan does not offload activations",
                      "leave it out");
  require_expressible(s.offload_optimizer == 0, "strategy.offload_optimizer",
                      "torchtitan offloads the optimizer with parameters and gradients only", "leave it out");
  const ModuleSet operators = ModuleSet().set(static_cast<std::size_t>(Module::alternate_products));
  require_expressible(s.recompute != Recompute::selective || s.recompute_modules == operators,
                      "strategy.recompute_modules", "torchtitan chooses operators, not modules, to recompute",
                      "set it to [op], or recompute: full");
  require_expressible(s.recompute_method == RecomputeMethod::block, "strategy.recompute_method",
                      "torchtitan recomputes layers one by one", "set it to block");
}

// Adds recomputation of every n-th layer of a chunk, or of all layers.
void add_recomputation(Titan& out, const Job& job, TitanForm form) {
  const Strategy& s = job.strategy;
  require_kept_activations(s);
  out.section("activation_checkpoint");
  if (s.recompute == Recompute::none) return out.text("mode", "none");
  if (s.recompute == Recompute::selective) {
    out.text("mode", "selective");
    if (form == TitanForm::toml) out.text("selective_ac_option", "op");
    return;
  }
  const std::int64_t layers = job.model.layers / s.pipeline / s.virtual_pipeline;
  const bool even = s.layer_split.empty() && s.counted_as_layers() == 0;
  if (s.recompute_layers == 0 || (even && s.recompute_layers == layers)) return out.text("mode", "full");
  require_expressible(form == TitanForm::toml, "strategy.recompute_layers",
                      "torchtitan's command line recomputes all layers or none", "leave it out");
  require_expressible(even && layers % s.recompute_layers == 0, "strategy.recompute_layers",
                      "torchtitan recomputes every n-th layer",
                      fmt::format("choose a divisor of the {} layers of a chunk", layers));
  out.text("mode", "selective");
  out.text("selective_ac_option", std::to_string(layers / s.recompute_layers));
}

void add_compilation(Titan& out, const Job& job, TitanForm form) {
  out.section("compile");
  out.value("enable", job.strategy.overlap_tensor || job.framework.is_like("pytorch-fsdp-compiled"));
  if (form == TitanForm::command) out.words("components", {"model", "loss"});
}

}  // namespace

TitanSettings torchtitan_settings(const Job& job, TitanForm form, std::vector<LaunchFile>& files) {
  TitanSettings out;
  add_training(out, job, form);
  out.section("parallelism");
  add_data(out, job);
  add_tensor_and_context(out, job, form);
  add_torchtitan_pipeline(out, job, form, files);
  add_experts(out, job, form);
  add_recomputation(out, job, form);
  add_compilation(out, job, form);
  return out;
}

}  // namespace mirfak
