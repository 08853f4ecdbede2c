// Plain data parallelism around model code without tensor or pipeline parallelism, and LiBai, whose graphs have both.

#include "strategy/framework_table.hpp"

namespace mirfak {

namespace {

// As pytorch-fsdp: recalled, to be confirmed.
constexpr double kEagerForward = 20e-6;
constexpr double kEagerBackward = 10e-6;
constexpr double kEagerCollective = 0.1e-3 / 4;
constexpr double kPlatformBytes = 2.0 * 1073741824.0;

// NVIDIA's BERT pre-training: PyTorch's DistributedDataParallel and autocast, apex's fused LAMB, attention as separate
// kernels, bias and GELU in one. Parameters are fp32 and are cast for every product; gradients accumulate without
// reduction until the last microbatch, whose backward pass reduces buckets of 25 MB.
Framework apex_ddp() {
  Framework f;
  f.name = "apex-ddp";
  f.source =
      "NVIDIA/DeepLearningExamples PyTorch/LanguageModeling/BERT: modeling.py (unfused attention, LinearActivation "
      "with "
      "bias_gelu), run_pretraining.py (native DDP, autocast, FusedLAMBAMP, no_sync between accumulation steps)";
  f.fused_bias_activation = true;
  f.fused_linear_bias = true;
  f.gathers_masked_tokens = true;
  f.casts_weights = true;
  f.vocabulary_multiple = 8;
  f.sharding.most = 0;
  f.host_forward_s = kEagerForward;
  f.host_backward_s = kEagerBackward;
  f.host_collective_s = kEagerCollective;
  f.host_source = "eager PyTorch, as pytorch-fsdp: recalled, to be confirmed";
  f.gradient_bytes = 4;
  f.gradient_bytes_fp16 = 4;
  // The fp32 parameters (2 bytes counted with the others, 2 here) and two moments.
  f.optimizer_bytes = 10;
  f.optimizer_bytes_fp16 = 10;
  f.optimizer_traffic_bytes = 34;
  f.optimizer_traffic_bytes_fp16 = 38;  // the gradients are unscaled and checked for infinities first
  f.bucket_parameters = 25.0 * 1048576 / 4;
  f.platform_bytes = kPlatformBytes;
  f.memory_source = "fp32 parameters, gradients and moments: 16 bytes per parameter; platform recalled, to be measured";
  return f;
}

// Hugging Face transformers as they come: every operation a kernel of its own, no tensor or pipeline parallelism.
Framework hugging_face() {
  Framework f = apex_ddp();
  f.name = "huggingface";
  f.source =
      "huggingface/transformers modeling_bert.py, modeling_gpt2.py: eager attention, unfused bias and activation";
  f.fused_bias_activation = false;
  f.gathers_masked_tokens = false;
  f.norm_kernels = NormKernels::plain;
  f.chained_gelu = true;  // GPT-2's NewGELUActivation; BERT's is PyTorch's own
  f.vocabulary_multiple = 1;
  return f;
}

// OneFlow's LiBai: Megatron-LM's model in a static graph, which the runtime issues without an interpreter.
Framework libai() {
  Framework f = megatron_lm_2021();
  f.name = "libai";
  f.source =
      "Oneflow-Inc/libai: Megatron-LM's layers with bias_gelu, bias_dropout_add and scale_mask_softmax fusion in "
      "nn.Graph, "
      "AMP with fp32 parameters";
  f.scatter_gather_pipeline = false;
  f.host_waits_for_pipeline = false;
  f.host_forward_s = 5e-6;
  f.host_backward_s = 5e-6;
  f.host_collective_s = 5e-6;
  f.host_source = "a compiled graph issues kernels as fast as the driver takes them: recalled, to be confirmed";
  return f;
}

}  // namespace

std::vector<Framework> data_parallel_frameworks() { return {apex_ddp(), hugging_face(), libai()}; }

}  // namespace mirfak
