// torchtitan v0.2.2. Sections and keys: torchtitan/config/job_config.py; what goes together: distributed/
// pipeline_parallel.py, models/*/infra/parallelize.py; models and their flavors: models/*/__init__.py.

#include "launch/launch_targets.hpp"
#include "schedule/schedule.hpp"
#include "strategy/rules.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

namespace mirfak {

namespace {

// Models of models/ that torchtitan defines too, with two sizes by which a changed one is noticed.
struct Flavor {
  std::string_view model;
  std::string_view name;
  std::string_view flavor;
  std::int64_t layers;
  std::int64_t hidden;
};
constexpr std::array<Flavor, 8> kFlavors = {{
    {"llama3-8b", "llama3", "8B", 32, 4096},
    {"llama3-70b", "llama3", "70B", 80, 8192},
    {"llama3-405b", "llama3", "405B", 126, 16384},
    {"deepseek-v2-lite", "deepseek_v3", "16B", 27, 2048},
    {"deepseek-v2", "deepseek_v3", "236B", 60, 5120},
    {"deepseek-v3", "deepseek_v3", "671B", 61, 7168},
    {"qwen3-30b-a3b", "qwen3", "30B-A3B", 48, 2048},
    {"qwen3-235b-a22b", "qwen3", "235B-A22B", 94, 4096},
}};

// A section of TOML after the other.
class Toml {
 public:
  void section(std::string_view name) { text_ += fmt::format("\n[{}]\n", name); }
  void comment(std::string_view sentence) { text_ += fmt::format("# {}\n", sentence); }
  void text(std::string_view key, std::string_view value) { text_ += fmt::format("{} = \"{}\"\n", key, value); }
  template <typename T>
  void value(std::string_view key, const T& value) {
    text_ += fmt::format("{} = {}\n", key, value);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void add_model(Toml& out, const Job& job) {
  const ModelSpec& model = job.model;
  const auto* const flavor =
      std::find_if(kFlavors.begin(), kFlavors.end(), [&](const Flavor& f) { return f.model == model.name; });
  const bool known = flavor != kFlavors.end() && flavor->layers == model.layers && flavor->hidden == model.hidden;
  std::vector<std::string_view> names;
  for (const Flavor& f : kFlavors) names.push_back(f.model);
  require_expressible(known, "model", fmt::format("torchtitan has no model of the sizes of {}", model.name),
                      fmt::format("it has {}", fmt::join(names, ", ")));
  require_expressible(model.prediction_layers == 0, "model.prediction_layers",
                      "torchtitan has no multi-token prediction", "set it to 0");
  out.section("model");
  out.text("name", flavor->name);
  out.text("flavor", flavor->flavor);
  const bool scaled = job.recipe().scaling == Scaling::current;
  if (scaled) out.value("converters", "[\"quantize.linear.float8\"]");
}

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

void add_training(Toml& out, const Job& job) {
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
  if (job.recipe().scaling != Scaling::current) return;
  out.section("quantize.linear.float8");
  out.text("recipe_name", "tensorwise");
  out.value("enable_fsdp_float8_all_gather", job.training.fp8_parameters);
}

// Sharded over `shards`, whose context ranks torchtitan adds by itself, replicated across.
void add_data(Toml& out, const Job& job) {
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

void add_tensor_and_context(Toml& out, const Job& job) {
  const Strategy& s = job.strategy;
  require_expressible(s.tensor == 1 || s.sequence_parallel, "strategy.sequence_parallel",
                      "torchtitan's tensor parallelism divides the tokens too", "set it to true");
  out.value("tensor_parallel_degree", s.tensor);
  if (s.overlap_tensor) out.value("enable_async_tensor_parallel", true);
  out.value("context_parallel_degree", s.context);
  if (s.context == 1) return;
  require_expressible(s.context_communication != ContextCommunication::all_to_all, "strategy.context_communication",
                      "torchtitan divides tokens inside attention, not heads", "choose p2p or all-gather");
  const bool ring = s.context_communication == ContextCommunication::p2p;
  out.text("context_parallel_rotate_method", ring ? "alltoall" : "allgather");
}

// "[["tok_embeddings", "layers.0"], ["layers.1", "norm", "output"]]"
std::string modules_of_parts(const std::vector<int>& split) {
  std::vector<std::string> parts;
  int layer = 0;
  for (std::size_t i = 0; i < split.size(); ++i) {
    std::vector<std::string> names;
    if (i == 0) names.emplace_back("\"tok_embeddings\"");
    for (int n = 0; n < split[i]; ++n) names.push_back(fmt::format("\"layers.{}\"", layer++));
    if (i + 1 == split.size()) names.insert(names.end(), {"\"norm\"", "\"output\""});
    parts.push_back(fmt::format("[{}]", fmt::join(names, ", ")));
  }
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

// The classes of torch.distributed.pipelining; orders from files run as those of one or several parts of the model on
// each rank.
std::string_view schedule_class(const Schedule& schedule) {
  constexpr std::array<std::array<std::string_view, 2>, 5> kClasses = {{{"gpipe", "GPipe"},
                                                                        {"1f1b", "1F1B"},
                                                                        {"interleaved-1f1b", "Interleaved1F1B"},
                                                                        {"zb-v", "ZBVZeroBubble"},
                                                                        {"dualpipe-v", "DualPipeV"}}};
  if (!schedule.path.empty()) {
    const bool twice = schedule.placement({}).holds_twice();
    require_expressible(!twice, "strategy.schedule", "PyTorch holds a stage index on one rank only",
                        "choose another schedule");
    return schedule.chunks > 1 ? "PipelineScheduleMulti" : "PipelineScheduleSingle";
  }
  for (const auto& [name, its_class] : kClasses) {
    if (schedule.name == name) return its_class;
  }
  require_expressible(false, "strategy.schedule", fmt::format("PyTorch has no schedule {}", schedule.name),
                      "write it with 'mirfak schedule --format csv' and give the file's path");
  return {};
}

void add_pipeline(Toml& out, const Job& job) {
  const Strategy& s = job.strategy;
  out.value("pipeline_parallel_degree", s.pipeline);
  const bool gpipe = s.schedule == schedule_named("gpipe");
  require_expressible(s.pipeline > 1 || !gpipe || microbatches(s, job.training) == 1, "strategy.schedule",
                      "torchtitan accumulates gradients one microbatch after the other without stages", "choose 1f1b");
  if (s.pipeline == 1) return;
  const Schedule& schedule = schedule_of(s.schedule);
  const bool interleaved = schedule.in_groups;
  require_expressible(!interleaved || s.virtual_pipeline > 1, "strategy.schedule",
                      "torchtitan interleaves from 2 chunks of a stage on", "choose 1f1b");
  require_expressible(s.microbatch_group == 0 || s.microbatch_group == s.pipeline, "strategy.microbatch_group",
                      "torchtitan takes as many microbatches of a chunk as there are stages", "leave it out");
  out.text("pipeline_parallel_schedule", schedule_class(schedule));
  if (!schedule.path.empty()) out.text("pipeline_parallel_schedule_csv", schedule.path);
  out.value("pipeline_parallel_microbatch_size", s.micro_batch);
  if (!s.layer_split.empty()) {
    out.value("module_fqns_per_model_part", modules_of_parts(s.layer_split));
    return;
  }
  out.value("pipeline_parallel_first_stage_less_layers", s.account_for_embedding_in_pipeline_split ? 1 : 0);
  out.value("pipeline_parallel_last_stage_less_layers", s.account_for_loss_in_pipeline_split ? 1 : 0);
  out.value("pipeline_parallel_layers_per_stage", (job.model.layers + s.counted_as_layers()) / s.chunks());
}

void add_experts(Toml& out, const Job& job) {
  const Strategy& s = job.strategy;
  if (job.model.mixture.experts == 0) return;
  require_expressible(!s.overlap_expert, "strategy.overlap_expert",
                      "torchtitan overlaps the exchange with DualPipeV only", "leave it out");
  const bool divided = s.expert > 1 || s.tensor_of_experts() == s.tensor;
  require_expressible(divided, "strategy.expert_tensor", "torchtitan divides experts that are not expert-parallel",
                      "leave it out");
  const bool whole = s.tensor_of_experts() > 1 || s.tensor == 1 || s.expert_span().tensor;
  require_expressible(s.expert == 1 || whole, "strategy.expert",
                      "torchtitan cuts groups of whole experts out of whole tensor groups",
                      "choose a multiple of strategy.tensor");
  const bool deep = s.expert_dispatcher == ExpertDispatcher::deep_ep;
  require_expressible(deep || s.expert_dispatcher == ExpertDispatcher::all_to_all, "strategy.expert_dispatcher",
                      "torchtitan has all-to-all and DeepEP", "choose alltoall or deepep");
  require_expressible(!deep || s.tensor_of_experts() == 1, "strategy.expert_dispatcher",
                      "torchtitan's DeepEP takes whole experts only", "set expert_tensor: 1 or choose alltoall");
  out.value("expert_parallel_degree", s.expert);
  out.value("expert_tensor_parallel_degree", s.tensor_of_experts());
  out.text("expert_parallel_comm_backend", deep ? "deepep" : "standard");
}

// Every n-th layer of a chunk, or all.
void add_recomputation(Toml& out, const Job& job) {
  const Strategy& s = job.strategy;
  require_expressible(s.offload_layers == 0, "strategy.offload_layers", "torchtitan does not offload activations",
                      "leave it out");
  require_expressible(s.offload_optimizer == 0, "strategy.offload_optimizer",
                      "torchtitan offloads the optimizer with parameters and gradients only", "leave it out");
  const bool selective = s.recompute == Recompute::selective;
  const ModuleSet operators = ModuleSet().set(static_cast<std::size_t>(Module::alternate_products));
  require_expressible(!selective || s.recompute_modules == operators, "strategy.recompute_modules",
                      "torchtitan chooses operators, not modules, to recompute", "set it to [op], or recompute: full");
  require_expressible(s.recompute_method == RecomputeMethod::block, "strategy.recompute_method",
                      "torchtitan recomputes layers one by one", "set it to block");
  out.section("activation_checkpoint");
  if (s.recompute == Recompute::none) return out.text("mode", "none");
  if (selective) {
    out.text("mode", "selective");
    return out.text("selective_ac_option", "op");
  }
  if (s.recompute_layers == 0) return out.text("mode", "full");
  const std::int64_t layers = job.model.layers / s.pipeline / s.virtual_pipeline;
  const bool even = s.layer_split.empty() && s.counted_as_layers() == 0;
  require_expressible(even && layers % s.recompute_layers == 0, "strategy.recompute_layers",
                      "torchtitan recomputes every n-th layer",
                      fmt::format("choose a divisor of the {} layers of a chunk", layers));
  out.text("mode", "selective");
  out.text("selective_ac_option", std::to_string(layers / s.recompute_layers));
}

}  // namespace

std::string torchtitan_config(const Job& job) {
  Toml out;
  out.comment("torchtitan v0.2.2, torchrun -m torchtitan.train --job.config_file THIS_FILE");
  out.comment(world_comment(job));
  add_model(out, job);
  add_training(out, job);
  out.section("parallelism");
  add_data(out, job);
  add_tensor_and_context(out, job);
  add_pipeline(out, job);
  add_experts(out, job);
  add_recomputation(out, job);
  out.section("compile");
  out.value("enable", job.strategy.overlap_tensor || job.framework.is_like("pytorch-fsdp-compiled"));
  return out.text();
}

}  // namespace mirfak
