#include "emitted.hpp"
#include "round_trip.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace mirfak {

namespace {

// A drawn strategy of a model that torchtitan has, on four nodes: not every draw can run, or be run by torchtitan.
std::string titan_lines(std::mt19937& random) {
  const bool mixture = random() % 3 == 0;
  std::string out = fmt::format("model: {}\n", mixture ? "deepseek-v2-lite" : "llama3-8b");
  out += "cluster: {nodes: [{type: hgx-h100, count: 4}]}\n";
  out += fmt::format("training: {{global_batch: 64, sequence_length: 4096, framework: {}, precision: {}}}\nstrategy:\n",
                     drawn(random, {"torchtitan", "torchtitan", "pytorch-fsdp"}),
                     drawn(random, {"bf16", "bf16", "fp8-current, fp8_parameters: true", "fp8-current", "fp32"}));
  const int tensor = drawn(random, {1, 1, 2, 4});
  out += fmt::format("  tensor: {}\n", tensor);
  if (tensor > 1) out += fmt::format("  sequence_parallel: true\n  overlap_tensor: {}\n", random() % 2 == 0);
  const int pipeline = drawn(random, {1, 1, 2, 4});
  out += fmt::format("  pipeline: {}\n  micro_batch: {}\n", pipeline, drawn(random, {1, 2, 4}));
  if (pipeline > 1) {
    const std::string schedule = drawn(random, {"1f1b", "gpipe", "interleaved-1f1b", "zb-v", "dualpipe-v", "zb-h1"});
    out += fmt::format("  schedule: {}\n", schedule);
    if (schedule == "interleaved-1f1b") out += fmt::format("  virtual_pipeline: {}\n", drawn(random, {2, 4}));
    if (random() % 3 == 0) {
      out += "  account_for_embedding_in_pipeline_split: true\n  account_for_loss_in_pipeline_split: true\n";
    } else if (!mixture && pipeline == 4 && schedule == "1f1b" && random() % 2 == 0) {
      out += "  layer_split: [7, 9, 9, 7]\n";
    }
  }
  const int context = drawn(random, {1, 1, 2});
  out += fmt::format("  context: {}\n", context);
  if (context > 1) out += fmt::format("  context_communication: {}\n", drawn(random, {"p2p", "all-gather"}));
  if (mixture && random() % 2 == 0) {
    out += fmt::format("  expert: {}\n  expert_tensor: {}\n", drawn(random, {2, 4, 8}), drawn(random, {1, tensor}));
    out += fmt::format("  expert_dispatcher: {}\n", drawn(random, {"alltoall", "deepep"}));
  }
  out += fmt::format("  zero: {}\n", drawn(random, {0, 2, 3, 3}));
  if (random() % 3 == 0) out += fmt::format("  zero_group: {}\n", drawn(random, {2, 4, 8}));
  out += "  overlap_grad_reduce: true\n";
  out +=
      fmt::format("  recompute: {}\n",
                  drawn(random, {"none", "full", "full, recompute_layers: 4", "selective, recompute_modules: [op]"}));
  return out;
}

// The keys in one line of the above, each on its own.
std::string with_lines(std::string text) {
  const std::size_t start = text.find("strategy:");
  for (const std::string_view key : {", recompute_layers", ", recompute_modules"}) {
    const std::size_t at = text.find(key, start);
    if (at != std::string::npos) text.replace(at, 2, "\n  ");
  }
  return text;
}

}  // namespace

std::string drawn_torchtitan_job(std::mt19937& random) { return with_lines(titan_lines(random)); }

// A drawn strategy on four nodes: not every draw can run, or be run by Megatron-LM.
std::string drawn_megatron_job(std::mt19937& random) {
  const bool mixture = random() % 4 == 0;
  const std::string framework = drawn(random, {"megatron-core", "megatron-core", "megatron-fsdp"});
  std::string out = fmt::format("model: {}\n", mixture ? "mixtral-8x7b" : drawn(random, {"gpt3-13b", "llama3-8b"}));
  out += "cluster: {nodes: [{type: hgx-h100, count: 4}]}\n";
  out +=
      fmt::format("training: {{global_batch: 256, sequence_length: 2048, framework: {}, precision: {}{}}}\nstrategy:\n",
                  framework, drawn(random, {"bf16", "fp16", "fp8-delayed", "mxfp8"}),
                  drawn(random, {"", "", "", ", optimizer: sgd", ", gradient_precision: fp32"}));
  const int tensor = drawn(random, {1, 2, 4});
  const int pipeline = drawn(random, {1, 1, 2, 4});
  out += fmt::format("  tensor: {}\n  pipeline: {}\n  micro_batch: {}\n", tensor, pipeline, drawn(random, {1, 2, 4}));
  if (tensor > 1 && random() % 2 == 0) out += "  sequence_parallel: true\n";
  if (pipeline > 1 && random() % 2 == 0) out += fmt::format("  virtual_pipeline: {}\n", drawn(random, {2, 4, 5}));
  const bool grouped = tensor * pipeline <= 8 && random() % 8 == 0;
  if (grouped) {
    out += "  context: 4\n  context_heads: 2\n";
  } else if (random() % 4 == 0) {
    out += fmt::format("  context: 2\n  context_communication: {}\n", drawn(random, {"p2p", "a2a", "all-gather"}));
  }
  if (mixture && random() % 2 == 0) {
    out += fmt::format("  expert: {}\n  expert_tensor: {}\n", drawn(random, {2, 4, 8}), drawn(random, {"1", "tensor"}));
    out += fmt::format("  expert_dispatcher: {}\n", drawn(random, {"alltoall", "allgather", "deepep"}));
  }
  out += fmt::format("  zero: {}\n", framework == "megatron-fsdp" ? drawn(random, {2, 3}) : drawn(random, {0, 1}));
  if (random() % 2 == 0) out += "  overlap_grad_reduce: true\n";
  if (random() % 4 == 0) out += "  overlap_param_gather: true\n";
  out += fmt::format(
      "  recompute: {}\n",
      drawn(random, {"none", "full", "selective", "selective\n  recompute_modules: [core_attn, mlp]",
                     "full\n  recompute_method: uniform\n  recompute_layers: 2", "full\n  recompute_layers: 3"}));
  return out;
}

// A drawn strategy on four nodes: not every draw can run, or be run by DeepSpeed.
std::string drawn_deepspeed_job(std::mt19937& random) {
  const bool mixture = random() % 4 == 0;
  std::string out = fmt::format("model: {}\n", mixture ? "mixtral-8x7b" : "gpt3-13b");
  out += "cluster: {nodes: [{type: hgx-h100, count: 4}]}\n";
  out +=
      fmt::format("training: {{global_batch: 256, sequence_length: 2048, framework: {}, precision: {}}}\nstrategy:\n",
                  drawn(random, {"deepspeed", "megatron-deepspeed"}), drawn(random, {"bf16", "fp16", "fp32"}));
  const int tensor = drawn(random, {1, 1, 2, 4});
  const int pipeline = drawn(random, {1, 1, 2, 4});
  out += fmt::format("  tensor: {}\n  pipeline: {}\n  micro_batch: {}\n", tensor, pipeline, drawn(random, {1, 2, 4}));
  if (tensor > 1 && random() % 2 == 0) out += "  sequence_parallel: true\n";
  if (tensor == 1 && pipeline == 1 && random() % 3 == 0) out += "  context: 2\n  context_communication: a2a\n";
  if (mixture && random() % 2 == 0) out += fmt::format("  expert: {}\n", drawn(random, {2, 4, 8}));
  const int zero = drawn(random, {0, 1, 2, 3});
  out += fmt::format("  zero: {}\n", zero);
  if (zero == 1 && random() % 2 == 0) out += "  overlap_grad_reduce: true\n";
  if (zero == 3 && random() % 3 == 0) {
    out += drawn(random, {"  zero_group: 8\n", "  zero_second_group: 8\n", "  quantized_gathers: true\n",
                          "  quantized_reductions: true\n"});
  }
  if (zero > 0 && random() % 4 == 0) {
    out += fmt::format("  offload_optimizer: {}\n", zero == 3 ? drawn(random, {"0.25", "1"}) : "1");
  }
  out += fmt::format("  recompute: {}\n", drawn(random, {"none", "full", "selective",
                                                         "full\n  recompute_method: uniform\n  recompute_layers: 2"}));
  return out;
}

// A framework of Hugging Face's, with the loss in tiles that TRL computes (`tiled_loss` of hugging-face.yaml), or
// without.
static std::string drawn_trl_framework(std::mt19937& random) {
  std::string name =
      drawn(random, {"huggingface", "huggingface-fsdp", "huggingface-deepspeed", "pytorch-fsdp-compiled"});
  if (random() % 3 == 0) return name;
  return fmt::format(
      "{{like: {}, fusion: {{cross_entropy: true}}, kernels: {{chunked_loss: true, chunks_loss_by_width: false, "
      "loss_chunk_rows: 4096, loss_chunk_classes: 32768, recomputes_chunks: true, chunk_gradient_bytes: 0, "
      "chunk_weight_bytes: 6}}, recompute: {{loss_softmax: true}}, memory: {{loss_copy_bytes: 0, "
      "loss_gradient_copy_bytes: 0, loss_overwrites_logits: true, chunk_sum_bytes: 4}}}}",
      name);
}

// A drawn strategy on four nodes: not every draw can run, or be run by Accelerate.
std::string drawn_accelerate_job(std::mt19937& random) {
  std::string out = fmt::format("model: {}\n", drawn(random, {"llama3-8b", "gpt2-1.5b", "llama2-7b"}));
  out += "cluster: {nodes: [{type: hgx-h100, count: 4}]}\n";
  out += fmt::format("training: {{global_batch: 256, sequence_length: 1024, framework: {}, precision: {}{}}}\n",
                     drawn_trl_framework(random), drawn(random, {"bf16", "bf16", "fp16", "fp32", "tf32"}),
                     drawn(random, {"", "", ", optimizer: adam-8bit", ", optimizer: sgd"}));
  const int tensor = drawn(random, {1, 1, 1, 2, 4});
  const int zero = drawn(random, {0, 1, 2, 3});
  out +=
      fmt::format("strategy:\n  tensor: {}\n  micro_batch: {}\n  zero: {}\n", tensor, drawn(random, {1, 2, 4}), zero);
  if (random() % 4 == 0) {
    out += fmt::format("  context: 2\n  context_communication: {}\n", drawn(random, {"p2p", "a2a", "all-gather"}));
  }
  if (zero > 1 && random() % 3 == 0) out += fmt::format("  zero_group: {}\n", drawn(random, {4, 8}));
  if (zero < 2) out += fmt::format("  overlap_grad_reduce: {}\n", random() % 2 == 0);
  if (zero > 0 && random() % 4 == 0) out += "  offload_optimizer: 1\n";
  out += fmt::format("  recompute: {}\n", drawn(random, {"none", "full", "full", "full\n  recompute_layers: 2"}));
  return out;
}

}  // namespace mirfak
