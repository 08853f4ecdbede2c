#include "launch/launch_arguments.hpp"

#include "scenario/scenario.hpp"
#include "support/scratch_folder.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace mirfak;

namespace {

using Values = std::map<std::string, std::string>;

const std::filesystem::path kSource = source_root();

// A job on H100 nodes. `strategy` and `training`: what stands behind the batch, the first with its braces' content.
Job job(const std::string& model, int nodes, const std::string& strategy, const std::string& training = "",
        int tokens = 2048) {
  const std::string text = fmt::format(
      "model: {}\ncluster: {{nodes: [{{type: hgx-h100, count: {}}}]}}\n"
      "training: {{global_batch: 256, sequence_length: {}{}}}\nstrategy: {{{}}}\n",
      model, nodes, tokens, training, strategy);
  return parse_scenario(Document::from_text(text, "launch.yaml"), {kSource / "models", kSource / "hw_profiles"}).job;
}

// "--name value" lines up to the first that is neither an argument nor a comment; quotes of the shell taken off.
Values arguments_in(const std::string& text) {
  Values out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) continue;
    if (!line.starts_with("--")) break;
    const std::size_t space = std::min(line.find(' '), line.size());
    std::string value = line.substr(std::min(space + 1, line.size()));
    if (value.starts_with("'")) value = value.substr(1, value.size() - 2);
    CHECK_MESSAGE(out.emplace(line.substr(0, space), value).second, line, " stands there twice");
  }
  return out;
}

Values toml_in(const std::string& text) {
  Values out;
  std::string section;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with("#")) continue;
    if (line.starts_with("[")) {
      section = line.substr(1, line.size() - 2);
      continue;
    }
    const std::size_t equals = line.find(" = ");
    std::string value = line.substr(equals + 3);
    if (value.starts_with("\"")) value = value.substr(1, value.size() - 2);
    CHECK_MESSAGE(out.emplace(section + "." + line.substr(0, equals), value).second, line, " stands there twice");
  }
  return out;
}

// The JSON behind DeepSpeed's arguments, with the keys of objects joined by dots.
Values json_in(const std::string& text) {
  Values out;
  const auto json = nlohmann::json::parse(text.substr(text.find('{')));
  for (const auto& [key, value] : json.items()) {
    if (!value.is_object()) {
      out[key] = value.dump();
      continue;
    }
    for (const auto& [inner, number] : value.items()) {
      out[key + "." + inner] = number.is_string() ? number.get<std::string>() : number.dump();
    }
  }
  return out;
}

std::string emitted(const Job& job, LaunchTarget target, Launcher launcher = Launcher::none) {
  return launch_text(launch_files(job, {target, launcher, kSource / "hw_profiles"}));
}

Values megatron(const Job& job) { return arguments_in(emitted(job, LaunchTarget::megatron)); }

Values torchtitan(const Job& job) { return toml_in(emitted(job, LaunchTarget::torchtitan_toml)); }

// Arguments and JSON keys together.
Values deepspeed(const Job& job) {
  const std::string text = emitted(job, LaunchTarget::deepspeed);
  Values out = arguments_in(text);
  const Values json = json_in(text);
  out.insert(json.begin(), json.end());
  return out;
}

void check_values(const Values& given, const Values& expected) {
  for (const auto& option : expected) {
    CAPTURE(option.first);
    REQUIRE(given.contains(option.first));
    CHECK(given.at(option.first) == option.second);
  }
}

void check_absent(const Values& given, std::initializer_list<const char*> names) {
  for (const char* name : names) CHECK_MESSAGE(!given.contains(name), name);
}

// The target refuses the job, at `key`.
void check_refused(LaunchTarget target, const Job& job, const std::string& key) {
  CAPTURE(key);
  try {
    emitted(job, target);
    FAIL_CHECK("expected a refusal");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::infeasible);
    CHECK(error.message().substr(0, error.message().find(": ")) == key);
  }
}

}  // namespace

TEST_CASE("Megatron-LM: a dense model with interleaving") {
  const Values given = megatron(
      job("gpt3-175b", 8,
          "tensor: 8, pipeline: 4, virtual_pipeline: 6, micro_batch: 2, sequence_parallel: true, recompute: full, "
          "recompute_layers: 3, zero: 1, overlap_grad_reduce: true, overlap_param_gather: true, overlap_tensor: true, "
          "microbatch_group: 8"));
  check_values(given, {{"--num-layers", "96"},
                       {"--hidden-size", "12288"},
                       {"--tensor-model-parallel-size", "8"},
                       {"--pipeline-model-parallel-size", "4"},
                       {"--num-layers-per-virtual-pipeline-stage", "4"},
                       {"--microbatch-group-size-per-virtual-pipeline-stage", "8"},
                       {"--micro-batch-size", "2"},
                       {"--global-batch-size", "256"},
                       {"--seq-length", "2048"},
                       {"--recompute-granularity", "full"},
                       {"--recompute-method", "block"},
                       {"--recompute-num-layers", "3"},
                       {"--position-embedding-type", "learned_absolute"},
                       {"--sequence-parallel", ""},
                       {"--use-distributed-optimizer", ""},
                       {"--overlap-grad-reduce", ""},
                       {"--overlap-param-gather", ""},
                       {"--tp-comm-overlap", ""},
                       {"--bf16", ""}});
  check_absent(given, {"--num-experts", "--pipeline-model-parallel-layout", "--recompute-modules", "--swiglu",
                       "--use-megatron-fsdp", "--fp16", "--fp8-format"});
}

TEST_CASE("Megatron-LM: an uneven split is a layout of chunks in the order of the model") {
  const Values given =
      megatron(job("llama3-8b", 1, "tensor: 2, pipeline: 4, layer_split: [7, 9, 9, 7], recompute: full"));
  check_values(given, {{"--pipeline-model-parallel-layout", "Et*7|t*9|t*9|t*7L"},
                       {"--recompute-method", "uniform"},
                       {"--recompute-num-layers", "1"},
                       {"--num-query-groups", "8"},
                       {"--swiglu", ""},
                       {"--disable-bias-linear", ""},
                       {"--untie-embeddings-and-output-weights", ""},
                       {"--normalization", "RMSNorm"},
                       {"--position-embedding-type", "rope"}});
  check_absent(given, {"--num-layers-per-virtual-pipeline-stage", "--add-qkv-bias", "--use-distributed-optimizer"});
}

// 126 layers, the embedding and the head are 128: one for each of 16 x 8 chunks.
TEST_CASE("Megatron-LM: embedding and head counted as layers are options, not a layout") {
  const Values given =
      megatron(job("llama3-405b", 128,
                   "tensor: 8, pipeline: 16, virtual_pipeline: 8, sequence_parallel: true, "
                   "account_for_embedding_in_pipeline_split: true, account_for_loss_in_pipeline_split: true"));
  check_values(given, {{"--num-layers", "126"},
                       {"--pipeline-model-parallel-size", "16"},
                       {"--num-virtual-stages-per-pipeline-rank", "8"},
                       {"--account-for-embedding-in-pipeline-split", ""},
                       {"--account-for-loss-in-pipeline-split", ""}});
  check_absent(given, {"--pipeline-model-parallel-layout", "--num-layers-per-virtual-pipeline-stage"});
}

TEST_CASE("Megatron-LM: Muon, its matrices divided over replicas by itself, and experts that gather tokens") {
  const Values divided =
      megatron(job("qwen3-30b-a3b", 1, "expert: 8, expert_dispatcher: allgather, zero: 1", ", optimizer: muon"));
  check_values(divided, {{"--optimizer", "dist_muon"}, {"--moe-token-dispatcher-type", "allgather"}});
  check_absent(divided, {"--use-distributed-optimizer", "--moe-flex-dispatcher-backend"});
  check_values(megatron(job("llama3-8b", 1, "tensor: 8", ", optimizer: muon")), {{"--optimizer", "muon"}});
}

TEST_CASE("Megatron-LM: a mixture of experts with latent attention in fp8") {
  const Values given = megatron(
      job("deepseek-v3", 32,
          "tensor: 1, pipeline: 4, layer_split: [15, 16, 15, 15], expert: 64, expert_dispatcher: deepep, zero: 1, "
          "context: 2, context_communication: all-gather, recompute: selective, "
          "recompute_modules: [mla_up_proj, moe_act, layernorm]",
          ", precision: fp8-block"));
  check_values(given, {{"--num-experts", "256"},
                       {"--expert-model-parallel-size", "64"},
                       {"--expert-tensor-parallel-size", "1"},
                       {"--moe-token-dispatcher-type", "flex"},
                       {"--moe-flex-dispatcher-backend", "deepep"},
                       {"--moe-layer-freq", "([0]*3+[1]*58)"},
                       {"--multi-latent-attention", ""},
                       {"--kv-lora-rank", "512"},
                       {"--qk-head-dim", "128"},
                       {"--qk-pos-emb-head-dim", "64"},
                       {"--context-parallel-size", "2"},
                       {"--cp-comm-type", "all_gather"},
                       {"--recompute-granularity", "selective"},
                       {"--recompute-modules", "layernorm mla_up_proj moe_act"},
                       {"--fp8-recipe", "blockwise"},
                       {"--bf16", ""}});
  check_absent(given, {"--recompute-method", "--recompute-num-layers", "--kv-channels"});
}

TEST_CASE("Megatron-LM: groups of context ranks that divide heads are the first of two levels") {
  check_values(megatron(job("llama3-8b", 2, "tensor: 2, context: 8, context_heads: 4, zero: 1")),
               {{"--context-parallel-size", "8"},
                {"--cp-comm-type", "a2a+p2p"},
                {"--hierarchical-context-parallel-sizes", "4 2"}});
  check_refused(LaunchTarget::megatron,
                job("llama3-8b", 2, "context: 8, context_heads: 4, context_communication: all-gather"),
                "strategy.context_communication");
}

TEST_CASE("Megatron-LM: sharding, precision and graphs") {
  check_values(megatron(job("llama3-8b", 2, "zero: 3", ", framework: megatron-fsdp")),
               {{"--use-megatron-fsdp", ""}, {"--data-parallel-sharding-strategy", "optim_grads_params"}});
  check_values(megatron(job("llama3-8b", 2, "zero: 1, zero_group: 4")),
               {{"--num-distributed-optimizer-instances", "4"}});
  check_values(
      megatron(job("llama3-8b", 1, "recompute: full, recompute_method: uniform, recompute_layers: 5")),
      {{"--recompute-granularity", "full"}, {"--recompute-method", "uniform"}, {"--recompute-num-layers", "5"}});
  check_values(megatron(job("llama3-8b", 2, "zero: 1, offload_optimizer: 0.5")),
               {{"--optimizer-cpu-offload", ""},
                {"--optimizer-offload-fraction", "0.5"},
                {"--overlap-cpu-optimizer-d2h-h2d", ""},
                {"--use-precision-aware-optimizer", ""}});
  check_values(
      megatron(job("llama3-8b", 2, "zero: 1", ", first_moment: bf16, second_moment: fp8, main_parameters: fp16")),
      {{"--use-precision-aware-optimizer", ""},
       {"--exp-avg-dtype", "bf16"},
       {"--exp-avg-sq-dtype", "fp8"},
       {"--main-params-dtype", "fp16"}});
  check_absent(megatron(job("llama3-8b", 2, "zero: 1")), {"--exp-avg-dtype", "--use-precision-aware-optimizer"});
  check_values(megatron(job("mixtral-8x7b", 2, "expert: 8", ", expert_capacity_factor: 1.25, pad_to_capacity: true")),
               {{"--moe-expert-capacity-factor", "1.25"}, {"--moe-pad-expert-input-to-capacity", ""}});
  check_values(megatron(job("llama3-8b", 2, "tensor: 2, pipeline: 2, rank_order: tp-cp-ep-pp-dp")),
               {{"--use-tp-pp-dp-mapping", ""}});
  check_absent(megatron(job("llama3-8b", 2, "tensor: 2, pipeline: 2")), {"--use-tp-pp-dp-mapping"});
  check_values(megatron(job("llama3-8b", 1, "offload_layers: 8")), {{"--cpu-offloading-num-layers", "8"}});
  check_values(megatron(job("llama3-8b", 1, "offload_modules: [attn_norm, qkv_linear, core_attn]")),
               {{"--fine-grained-activation-offloading", ""}, {"--offload-modules", "qkv_linear core_attn"}});
  check_values(megatron(job("deepseek-v2-lite", 1, "offload_modules: [attn_norm, mlp_norm, expert_fc1]")),
               {{"--offload-modules", "attn_norm mlp_norm expert_fc1"}});
  check_values(megatron(job("llama3-8b", 2, "zero: 1, registered_buffers: true")), {{"--use-nccl-ub", ""}});
  check_values(megatron(job("llama3-8b", 2, "tensor: 2, zero: 1, weight_shards: 8")),
               {{"--tensor-parallel-num-weight-shards", "8"}});
  check_absent(megatron(job("llama3-8b", 2, "tensor: 2, zero: 1")), {"--tensor-parallel-num-weight-shards"});
  check_values(megatron(job("mixtral-8x7b", 4, "expert: 4, expert_weight_shards: 2")),
               {{"--expert-tensor-parallel-num-weight-shards", "2"}});
  const std::string room = "expert: 4, expert_dispatcher: hybridep, expert_rank_capacity: 1.5";
  check_values(megatron(job("mixtral-8x7b", 4, room)),
               {{"--moe-expert-rank-capacity-factor", "1.5"}, {"--use-transformer-engine-op-fuser", ""}});
  check_absent(megatron(job("mixtral-8x7b", 4, room)),
               {"--moe-paged-stash", "--moe-paged-stash-buffer-size-factor-cuda"});
  check_absent(megatron(job("mixtral-8x7b", 4, "expert: 4")),
               {"--moe-expert-rank-capacity-factor", "--use-transformer-engine-op-fuser"});
  check_values(megatron(job("llama3-8b", 1, "context: 2, context_tokens: 4096")),
               {{"--hybrid-context-parallel", ""},
                {"--max-seqlen-per-dp-cp-rank", "4096"},
                {"--calculate-per-token-loss", ""},
                {"--sft", ""}});
  check_absent(megatron(job("llama3-8b", 1, "context: 2")), {"--hybrid-context-parallel", "--sft"});
  check_absent(megatron(job("llama3-8b", 2, "zero: 1")), {"--use-nccl-ub", "--offload-modules"});
  check_values(megatron(job("llama3-8b", 1, "tensor: 1", ", precision: fp16")), {{"--fp16", ""}});
  check_values(megatron(job("llama3-8b", 1, "zero: 1", ", precision: fp8-current, fp8_parameters: true")),
               {{"--fp8-recipe", "tensorwise"}, {"--fp8-param-gather", ""}});
  check_values(megatron(job("llama3-8b", 1, "tensor: 1", ", gradient_precision: bf16, cuda_graphs: [attention, mlp]")),
               {{"--grad-reduce-in-bf16", ""},
                {"--cuda-graph-impl", "transformer_engine"},
                {"--cuda-graph-modules", "attn mlp"}});
}

TEST_CASE("Megatron-LM refuses what it cannot express") {
  const auto refused = [](const Job& j, const char* key) { check_refused(LaunchTarget::megatron, j, key); };
  refused(job("llama3-8b", 1, "pipeline: 2, schedule: gpipe"), "strategy.schedule");
  refused(job("llama3-8b", 1, "pipeline: 2, schedule: interleaved-1f1b"), "strategy.schedule");
  refused(job("llama3-8b", 1, "tensor: 2, pipeline: 2, scatter_gather: true"), "strategy.scatter_gather");
  refused(job("llama3-8b", 1, "recompute: selective, recompute_layers: 2"), "strategy.recompute_layers");
  refused(job("llama3-8b", 1, "recompute: selective, recompute_modules: [op]"), "strategy.recompute_modules");
  refused(job("llama3-8b", 1, "recompute: full, offload_layers: 2"), "strategy.offload_layers");
  refused(job("llama3-8b", 1, "offload_modules: [attn_norm]"), "strategy.offload_modules");
  refused(job("llama3-8b", 1, "offload_modules: [mlp_norm]"), "strategy.offload_modules");
  refused(job("llama3-8b", 1, "zero: 1, overlap_param_gather: true"), "strategy.overlap_param_gather");
  refused(job("llama3-8b", 1, "tensor: 1", ", optimizer: lamb"), "training.optimizer");
  refused(job("llama3-8b", 1, "zero: 3, offload_parameters: true", ", framework: deepspeed"),
          "strategy.offload_parameters");
  refused(job("llama3-8b", 1, "zero: 3", ", framework: torchtitan, loss_chunks: 8"), "training.loss_chunks");
  refused(job("llama3-8b", 1, "tensor: 1", ", document_lengths: 512"), "training.document_lengths");
  refused(job("llama3-8b", 1, "tensor: 1", ", lora: {rank: 8}"), "training.lora");
  refused(job("llama3-8b", 1, "tensor: 1", ", precision: fp8, fp8_parameters: true"), "training.fp8_parameters");
  refused(job("mixtral-8x7b", 2, "pipeline: 2, expert: 8, overlap_expert: true"), "strategy.overlap_expert");
  refused(job("bloom-176b", 2, "tensor: 8"), "model.embedding_norm");
  refused(job("bert-large", 1, "tensor: 1", "", 512), "model.causal");
}

TEST_CASE("torchtitan: sharding, stages and batches") {
  Values given =
      torchtitan(job("llama3-70b", 8,
                     "tensor: 4, pipeline: 4, virtual_pipeline: 2, sequence_parallel: true, micro_batch: 2, zero: 2, "
                     "recompute: full, recompute_layers: 5, overlap_tensor: true",
                     ", framework: torchtitan"));
  check_values(given, {{"model.name", "llama3"},
                       {"model.flavor", "70B"},
                       {"training.local_batch_size", "64"},
                       {"training.global_batch_size", "256"},
                       {"training.seq_len", "2048"},
                       {"training.mixed_precision_param", "bfloat16"},
                       {"parallelism.data_parallel_shard_degree", "4"},
                       {"parallelism.data_parallel_replicate_degree", "1"},
                       {"parallelism.fsdp_reshard_after_forward", "never"},
                       {"parallelism.tensor_parallel_degree", "4"},
                       {"parallelism.enable_async_tensor_parallel", "true"},
                       {"parallelism.pipeline_parallel_degree", "4"},
                       {"parallelism.pipeline_parallel_schedule", "Interleaved1F1B"},
                       {"parallelism.pipeline_parallel_microbatch_size", "2"},
                       {"parallelism.pipeline_parallel_layers_per_stage", "10"},
                       {"parallelism.pipeline_parallel_first_stage_less_layers", "0"},
                       {"activation_checkpoint.mode", "selective"},
                       {"activation_checkpoint.selective_ac_option", "2"},
                       {"compile.enable", "true"}});
  given = torchtitan(
      job("llama3-8b", 4, "zero: 3, zero_group: 8, micro_batch: 4, recompute: full", ", framework: torchtitan"));
  check_values(given, {{"training.local_batch_size", "4"},
                       {"parallelism.data_parallel_shard_degree", "8"},
                       {"parallelism.data_parallel_replicate_degree", "4"},
                       {"parallelism.fsdp_reshard_after_forward", "always"},
                       {"activation_checkpoint.mode", "full"}});
  given = torchtitan(
      job("llama3-8b", 4, "zero: 3, recompute: selective, recompute_modules: [op]", ", framework: torchtitan"));
  CHECK(given.at("activation_checkpoint.mode") == "selective");
  CHECK(given.at("activation_checkpoint.selective_ac_option") == "op");
}

TEST_CASE("torchtitan: uneven stages, context ranks and experts") {
  Values given = torchtitan(
      job("llama3-8b", 2, "context: 2, pipeline: 2, layer_split: [2, 30], zero: 3", ", framework: torchtitan"));
  check_values(given, {{"parallelism.context_parallel_degree", "2"},
                       {"parallelism.context_parallel_rotate_method", "alltoall"},
                       {"parallelism.data_parallel_shard_degree", "4"}});
  const std::string parts = given.at("parallelism.module_fqns_per_model_part");
  CHECK(parts.starts_with("[[\"tok_embeddings\", \"layers.0\", \"layers.1\"], [\"layers.2\", "));
  CHECK(parts.ends_with("\"layers.31\", \"norm\", \"output\"]]"));
  given =
      torchtitan(job("qwen3-30b-a3b", 2, "expert: 8, expert_dispatcher: deepep, zero: 3", ", framework: torchtitan"));
  check_values(given, {{"model.flavor", "30B-A3B"},
                       {"parallelism.expert_parallel_degree", "8"},
                       {"parallelism.expert_tensor_parallel_degree", "1"},
                       {"parallelism.expert_parallel_comm_backend", "deepep"}});
}

// torchtitan's named configurations have 8 chunks, which a job without chunks does not mean.
TEST_CASE("torchtitan: chunks of the loss are always written") {
  const auto written = [](const char* chunks) {
    return emitted(job("llama3-8b", 1, "zero: 3", std::string(", framework: torchtitan, loss_chunks: ") + chunks),
                   LaunchTarget::torchtitan);
  };
  CHECK(written("0").find("--loss.num_chunks 1\n") != std::string::npos);
  CHECK(written("1").find("--loss.num_chunks 1\n") != std::string::npos);
  CHECK(written("8").find("--loss.num_chunks 8\n") != std::string::npos);
}

TEST_CASE("torchtitan: buffers of FSDP in symmetric memory, by the command line alone") {
  const Job held = job("llama3-8b", 1, "zero: 3, registered_buffers: true", ", framework: torchtitan");
  CHECK(emitted(held, LaunchTarget::torchtitan).find("--parallelism.enable_fsdp_symm_mem") != std::string::npos);
  check_refused(LaunchTarget::torchtitan_toml, held, "strategy.registered_buffers");
}

TEST_CASE("torchtitan refuses what it cannot express") {
  const auto refused = [](const char* strategy, const char* key, const char* more = "",
                          const char* model = "llama3-8b") {
    check_refused(LaunchTarget::torchtitan_toml, job(model, 1, strategy, std::string(", framework: torchtitan") + more),
                  key);
  };
  refused("zero: 3", "model", "", "gpt3-1.3b");
  check_refused(LaunchTarget::torchtitan_toml, job("llama3-8b", 1, "zero: 1", ", framework: megatron-core"),
                "strategy.zero");
  refused("tensor: 2", "strategy.zero");
  refused("data: 8", "strategy.overlap_grad_reduce");
  refused("tensor: 2, zero: 3", "strategy.sequence_parallel");
  refused("context: 2, zero: 3, context_communication: a2a", "strategy.context_communication");
  refused("recompute: selective, zero: 3", "strategy.recompute_modules");
  refused("recompute: full, recompute_layers: 5, zero: 3", "strategy.recompute_layers");
  refused("offload_layers: 5, zero: 3", "strategy.offload_layers");
  Job groups = job("llama3-8b", 1, "zero: 3, recompute: full", ", framework: torchtitan");
  groups.strategy.recompute_method = RecomputeMethod::uniform;
  groups.strategy.recompute_layers = 2;
  check_refused(LaunchTarget::torchtitan_toml, groups, "strategy.recompute_method");
  Job offloads = job("llama3-8b", 1, "zero: 3", ", framework: torchtitan");
  offloads.strategy.offload_optimizer = 1;
  check_refused(LaunchTarget::torchtitan_toml, offloads, "strategy.offload_optimizer");
  Job ordered = job("llama3-8b", 1, "pipeline: 2, zero: 3", ", framework: torchtitan");
  ordered.strategy.rank_order = RankOrder::data_last;
  check_refused(LaunchTarget::torchtitan_toml, ordered, "strategy.rank_order");
  refused("zero: 3", "training.loss_chunks", ", loss_chunks: 8");
  refused("pipeline: 2, virtual_pipeline: 2, microbatch_group: 4, zero: 3", "strategy.microbatch_group");
  refused("zero: 3", "training.precision", ", precision: fp16");
  refused("zero: 3", "training.gradient_precision", ", gradient_precision: bf16");
  refused("expert: 8, expert_dispatcher: hybridep, zero: 3", "strategy.expert_dispatcher", "", "qwen3-30b-a3b");
  refused("expert: 8, expert_dispatcher: allgather, zero: 3", "strategy.expert_dispatcher", "", "qwen3-30b-a3b");
}

TEST_CASE("DeepSpeed: stages, ZeRO and batches") {
  Values given = deepspeed(job("gpt3-175b", 8, "tensor: 8, pipeline: 4, micro_batch: 2, zero: 1, recompute: full",
                               ", framework: megatron-deepspeed"));
  check_values(given, {{"--tensor-model-parallel-size", "8"},
                       {"--pipeline-model-parallel-size", "4"},
                       {"--num-layers", "96"},
                       {"--checkpoint-activations", ""},
                       {"--bf16", ""},
                       {"train_batch_size", "256"},
                       {"train_micro_batch_size_per_gpu", "2"},
                       {"gradient_accumulation_steps", "64"},
                       {"zero_optimization.stage", "1"},
                       {"zero_optimization.overlap_comm", "false"},
                       {"data_types.grad_accum_dtype", "fp32"},
                       {"bf16.enabled", "true"}});
  check_absent(given, {"--no-pipeline-parallel", "--num-experts", "fp16.enabled"});
  given = deepspeed(job("gpt3-13b", 2, "zero: 3", ", framework: deepspeed, precision: fp16"));
  check_values(given, {{"zero_optimization.stage", "3"},
                       {"zero_optimization.overlap_comm", "true"},
                       {"--no-pipeline-parallel", ""},
                       {"fp16.enabled", "true"}});
  given = deepspeed(job("gpt3-13b", 2, "zero: 1, recompute: full, recompute_method: uniform, recompute_layers: 4",
                        ", framework: megatron-deepspeed"));
  check_values(given, {{"--checkpoint-num-layers", "4"}, {"--recompute-num-layers", "4"}});
  given = deepspeed(job("gpt3-13b", 2, "zero: 3, offload_optimizer: 0.25", ", framework: deepspeed"));
  check_values(given, {{"zero_optimization.offload_optimizer", R"({"device":"cpu","pin_memory":true,"ratio":0.25})"}});
  given = deepspeed(job("gpt3-13b", 2, "zero: 2, offload_optimizer: 1", ", framework: deepspeed"));
  check_values(given, {{"zero_optimization.offload_optimizer", R"({"device":"cpu","pin_memory":true})"}});
  given = deepspeed(
      job("gpt3-13b", 2, "zero: 3, offload_parameters: true, offload_optimizer: 1", ", framework: deepspeed"));
  check_values(given, {{"zero_optimization.offload_param", R"({"device":"cpu"})"}});
  given = deepspeed(job("mixtral-8x7b", 2, "expert: 8, zero: 2", ", framework: deepspeed"));
  check_values(given, {{"--num-experts", "8"}, {"--topk", "2"}, {"--moe-expert-parallel-size", "8"}});
}

TEST_CASE("DeepSpeed refuses what it cannot express") {
  const auto refused = [](const char* strategy, const char* key, const char* more = "",
                          const char* model = "gpt3-13b") {
    check_refused(LaunchTarget::deepspeed, job(model, 2, strategy, std::string(", framework: deepspeed") + more), key);
  };
  refused("pipeline: 2, virtual_pipeline: 2", "strategy.schedule");
  refused("pipeline: 2, schedule: gpipe", "strategy.schedule");
  refused("pipeline: 2, layer_split: [19, 21]", "strategy.layer_split");
  refused("tensor: 2, pipeline: 2, scatter_gather: false", "strategy.scatter_gather");
  refused("context: 2", "strategy.context_communication");
  refused("zero: 3, zero_group: 8", "strategy.zero_group");
  refused("recompute: full, recompute_layers: 3", "strategy.recompute_layers");
  refused("recompute: selective, recompute_modules: [mlp]", "strategy.recompute_modules");
  refused("offload_layers: 3", "strategy.offload_layers");
  refused("tensor: 2, sequence_parallel: true, overlap_tensor: true", "strategy.overlap_tensor");
  refused("overlap_grad_reduce: true", "strategy.overlap_grad_reduce");
  refused("zero: 1, overlap_param_gather: true", "strategy.overlap_param_gather");
  refused("zero: 2", "training.gradient_precision", ", gradient_precision: fp32");
  refused("zero: 1", "training.precision", ", precision: fp8");
  refused("zero: 1", "model.latent_attention", "", "deepseek-v2-lite");
}

TEST_CASE("LLaMA-Factory and axolotl: the Trainer's settings in their words, wrapped by Accelerate's configuration") {
  const Job plain = job("llama3-8b", 2, "zero: 3, micro_batch: 2, recompute: full", ", framework: huggingface-fsdp");
  const auto says = [](const std::string& text, const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
      CAPTURE(line);
      CHECK(text.find("\n" + line + "\n") != std::string::npos);
    }
  };
  says(emitted(plain, LaunchTarget::llama_factory),
       {"stage: sft", "finetuning_type: full", "cutoff_len: 2048", "per_device_train_batch_size: 2",
        "disable_gradient_checkpointing: false", "# config.yaml", "distributed_type: FSDP", "num_processes: 16"});
  says(emitted(plain, LaunchTarget::axolotl),
       {"sequence_len: 2048", "micro_batch_size: 2", "gradient_checkpointing: true", "optimizer: adamw_torch",
        "distributed_type: FSDP"});
  const Job liger = job("llama3-8b", 1, "overlap_grad_reduce: true", ", framework: huggingface-liger");
  says(emitted(liger, LaunchTarget::llama_factory),
       {"enable_liger_kernel: true", "disable_gradient_checkpointing: true"});
  check_refused(LaunchTarget::axolotl, liger, "training.framework");
  check_refused(LaunchTarget::llama_factory, job("llama3-8b", 1, "pipeline: 2"), "strategy.pipeline");
}

TEST_CASE("targets have distinct names, in the order of the enumeration, and say which release they mean") {
  CHECK(launch_target_names() == std::vector<std::string>{"megatron", "megatron-yaml", "megatron-bridge", "torchtitan",
                                                          "torchtitan-toml", "deepspeed", "accelerate", "llama-factory",
                                                          "axolotl"});
  const Job plain = job("llama3-8b", 1, "overlap_grad_reduce: true", ", framework: torchtitan");
  for (const LaunchTargetInfo& info : launch_targets()) {
    CHECK(&info == &launch_targets()[static_cast<std::size_t>(info.target)]);
    CHECK(info.sentence.back() == '.');
  }
  const std::string text = emitted(plain, LaunchTarget::torchtitan_toml);
  CHECK(text.starts_with("# pytorch/torchtitan v0.2.2 (73a0e69): "));
  CHECK(text.find("# world size 8: 1 nodes of 8 GPUs") != std::string::npos);
  CHECK(emitted(plain, LaunchTarget::torchtitan).starts_with("# pytorch/torchtitan v0.3.0: "));
}
