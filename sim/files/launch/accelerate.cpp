// Options of transformers' Trainer, and the configuration with which accelerate launch starts TRL's sft, which hands
// them to the Trainer, or another program around it. Sources of the valid combinations in accelerate v1.15.0:
// commands/launch.py, parallelism_config.py (ParallelismConfig), utils/dataclasses.py (FullyShardedDataParallelPlugin,
// DeepSpeedPlugin).

#include "launch/accelerate.hpp"

#include "launch/launch_targets.hpp"
#include "launch/option_writer.hpp"
#include "model/model_loader.hpp"
#include "strategy/rules.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace mirfak {

namespace {

constexpr std::string_view kConfiguration = "config.yaml";

// The wrapping of a model by Accelerate.
enum class Wrapping { none, replicated, sharded, deepspeed };

// Returns FSDP for sharded parameters or gradients, and for ranks that share a model; DeepSpeed for its own framework
// and where the optimizer alone is sharded, which FSDP does not have.
Wrapping wrapping_of(const Job& job) {
  const Strategy& s = job.strategy;
  if (s.ranks() == 1) return Wrapping::none;
  if (s.tensor > 1 || s.context > 1) return Wrapping::sharded;
  if (job.framework.is_like("deepspeed") || s.zero == 1) return Wrapping::deepspeed;
  return s.zero == 0 ? Wrapping::replicated : Wrapping::sharded;
}

void require_nodes(const Job& job) {
  const auto groups = job.cluster.groups();
  const bool even = std::all_of(groups.begin(), groups.end(), [&](const NodeGroup& group) {
    return group.hardware.spec.gpus == groups.front().hardware.spec.gpus;
  });
  require_expressible(even, "cluster.nodes", "accelerate launch starts as many processes on each node",
                      "choose nodes of as many GPUs");
}

// Checks rules that no list of refusals can state.
void require_job(const Job& job, Wrapping wrapping) {
  const Strategy& s = job.strategy;
  require_expressible(job.training.gradient_precision.empty(), "training.gradient_precision",
                      "Accelerate reduces gradients as the framework does", "leave it out");
  const bool whole = s.partly_recomputed() == 0 && s.recompute_method == RecomputeMethod::block;
  require_expressible(s.recompute == Recompute::none || whole, "strategy.recompute_layers",
                      "the Trainer recomputes all layers or none", "leave it out");
  const bool several = s.replicas() > 1;
  require_expressible(wrapping != Wrapping::replicated || s.overlap_grad_reduce || !several,
                      "strategy.overlap_grad_reduce", "DistributedDataParallel reduces during backward",
                      "set it to true");
  const bool late = wrapping == Wrapping::deepspeed && s.zero < 2;
  require_expressible(!late || !s.overlap_grad_reduce || !several, "strategy.overlap_grad_reduce",
                      "DeepSpeed reduces after backward unless a JSON of its own says otherwise", "leave it out");
  require_expressible(s.zero > 1 || !s.overlap_param_gather, "strategy.overlap_param_gather",
                      "Accelerate gathers no parameters after a step", "leave it out");
  const bool offloads = s.offload_optimizer > 0;
  const bool together = wrapping == Wrapping::sharded && s.offload_parameters;  // as FSDP does
  require_expressible(!offloads || together || (wrapping == Wrapping::deepspeed && s.zero > 0),
                      "strategy.offload_optimizer",
                      "Accelerate keeps optimizers on the host with DeepSpeed's ZeRO, or with FSDP's parameters",
                      "choose the framework huggingface-deepspeed, or leave it out");
  require_expressible(!offloads || s.offload_optimizer == 1, "strategy.offload_optimizer",
                      "Accelerate keeps all of the optimizer on the host or nothing", "choose 1");
}

// Checks the sizes of Accelerate's mesh.
void require_mesh(const Job& job, Wrapping wrapping) {
  const Strategy& s = job.strategy;
  const bool grouped = s.zero > 0 && s.shards() < s.replicas();
  require_expressible(!grouped || wrapping == Wrapping::sharded, "strategy.zero_group",
                      "Accelerate shards in groups with FSDP only", "leave it out");
  if (wrapping != Wrapping::sharded) return;
  const bool parallel = s.tensor > 1 || s.context > 1;
  require_expressible(s.zero > 1 || !parallel, "strategy.zero",
                      "Accelerate has tensor and context ranks together with FSDP only", "choose 2 or 3");
  require_expressible(s.shards() % s.context == 0, "strategy.zero_group",
                      "Accelerate shards over context ranks as a whole", "choose a multiple of strategy.context");
  const int shards = s.shards() / s.context;
  require_expressible(shards > 1 || s.context > 1, "strategy.data", "FSDP has no ranks to shard over",
                      "choose fewer tensor ranks");
  require_expressible(shards > 1 || s.data == 1 || !parallel, "strategy.zero_group",
                      "Accelerate takes no replicas of tensor or context ranks alone", "choose larger groups");
}

void add_mesh(LaunchOptions& out, const Strategy& s) {
  const std::string section = "parallelism_config.parallelism_config_";
  const bool grouped = s.shards() < s.replicas();
  if (s.tensor == 1 && s.context == 1 && !grouped) return;
  const int shards = s.shards() / s.context;
  out.value(section + "dp_replicate_size", s.data / shards);
  out.value(section + "dp_shard_size", shards);
  out.value(section + "tp_size", s.tensor);
  out.value(section + "cp_size", s.context);
  if (s.context == 1) return;
  const bool rotates = s.context_communication == ContextCommunication::p2p;
  out.value(section + "cp_comm_strategy", rotates ? "alltoall" : "allgather");
}

void add_wrapping(LaunchOptions& out, const Job& job, Wrapping wrapping) {
  const Strategy& s = job.strategy;
  if (wrapping == Wrapping::sharded) {
    out.value("fsdp_config.fsdp_version", 2);
    out.value("fsdp_config.fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP");
    out.value("fsdp_config.fsdp_reshard_after_forward", s.zero == 3);
    if (s.offload_parameters) out.value("fsdp_config.fsdp_offload_params", true);
    add_mesh(out, s);
  }
  if (wrapping != Wrapping::deepspeed) return;
  out.value("deepspeed_config.gradient_accumulation_steps", microbatches(s, job.training));
  out.value("deepspeed_config.zero_stage", s.zero);
  if (s.zero > 0) out.value("deepspeed_config.offload_optimizer_device", s.offload_optimizer > 0 ? "cpu" : "none");
  if (s.offload_parameters) out.value("deepspeed_config.offload_param_device", "cpu");
}

LaunchOptions configuration(const Job& job, Wrapping wrapping) {
  constexpr std::string_view types[] = {"NO", "MULTI_GPU", "FSDP", "DEEPSPEED"};
  const std::string& precision = job.training.precision;
  LaunchOptions out;
  out.value("compute_environment", "LOCAL_MACHINE");
  out.value("distributed_type", types[static_cast<std::size_t>(wrapping)]);
  out.value("num_machines", job.cluster.nodes());
  out.value("num_processes", job.strategy.ranks());
  out.value("mixed_precision", precision == "bf16" || precision == "fp16" ? precision : "no");
  add_wrapping(out, job, wrapping);
  return out;
}

// Returns the model's name on the hub. Sizes reveal a model that was changed.
std::string hub_model(const ModelSpec& model, const std::filesystem::path& models) {
  const std::optional<std::string> name = hub_name_of(model.name, models);
  require_expressible(name.has_value(), "model", "no name on Hugging Face's hub is known of " + model.name,
                      "name a model of the hub, or its config.json with --model_name_or_path yourself");
  const ModelSpec known = load_model(model.name, models, {});
  const bool same = known.layers == model.layers && known.hidden == model.hidden && known.heads == model.heads &&
                    known.ffn == model.ffn && known.vocab == model.vocab;
  require_expressible(same, "model", *name + " has other sizes on Hugging Face's hub",
                      "leave the sizes as they are, or give a config.json");
  return *name;
}

LaunchOptions trainer_options(const Job& job, const OptionList& list, const std::filesystem::path& models) {
  const std::string& precision = job.training.precision;
  LaunchOptions out;
  out.value("model_name_or_path", hub_model(job.model, models));
  out.value("max_length", job.training.sequence_length);
  out.value("bf16", precision == "bf16");
  out.value("fp16", precision == "fp16");
  if (precision == "tf32") out.value("tf32", true);
  out.value("gradient_checkpointing", job.strategy.recompute == Recompute::full);
  out.value("gradient_accumulation_steps", microbatches(job.strategy, job.training));
  const bool compiled = job.framework.is_like("pytorch-fsdp-compiled");
  if (compiled) out.value("torch_compile", true);
  // Liger's kernels: RMS norms of one kernel without a compiler.
  if (!compiled && !job.framework.kernels.chained_rms_norm) out.value("use_liger_kernel", true);
  return written_options(job, list, std::move(out));
}

}  // namespace

AcceleratedJob accelerated_job(const Job& job, const std::filesystem::path& hardware) {
  const OptionList& list = option_list(hardware, "hugging-face");
  const OptionList& keys = option_list(hardware, "accelerate");
  require_possible(job, list);
  const Wrapping wrapping = wrapping_of(job);
  require_nodes(job);
  require_job(job, wrapping);
  require_mesh(job, wrapping);
  // Models stand beside hw_profiles/ in a folder of data.
  AcceleratedJob out{trainer_options(job, list, hardware.parent_path() / "models"), {}, {list.title(), keys.title()}};
  list.require(out.trainer);
  const LaunchOptions file = configuration(job, wrapping);
  keys.require(file);
  out.configuration = {std::string(kConfiguration), comment_lines({keys.title()}) + yaml_text(file)};
  return out;
}

LaunchProgram accelerate_program(const Job& job, const std::filesystem::path& hardware) {
  AcceleratedJob accelerated = accelerated_job(job, hardware);
  LaunchProgram out;
  out.start = {"-m", "trl.scripts.sft"};
  out.comments = std::move(accelerated.titles);
  out.comments.push_back(world_comment(job));
  out.comments.push_back(fmt::format(
      "accelerate launch --config_file {} -m trl.scripts.sft, with data and learning rate", kConfiguration));
  for (const LaunchOption& setting : accelerated.trainer.all()) {
    out.options.add({"--" + setting.name, setting.words});
  }
  out.options.value("--loss_type", "nll");  // TRL's default, by which the options are read as TRL's
  out.files.push_back(std::move(accelerated.configuration));
  out.accelerated = kConfiguration;
  return out;
}

}  // namespace mirfak
