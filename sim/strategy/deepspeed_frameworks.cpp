// DeepSpeed and frameworks whose optimizers partition state as it does (arXiv 1910.02054): a low-precision copy of the
// parameters beside an fp32 master copy and moments, which are sharded first.

#include "strategy/framework_table.hpp"

namespace mirfak {

namespace {

constexpr double kEagerCollective = 0.1e-3 / 4;  // as megatron-lm-2021

// Megatron-DeepSpeed with the pipeline engine: Megatron-LM's kernels, gradients reduced once behind the last backward
// pass. Its bf16 optimizer accumulates in fp32.
Framework megatron_deepspeed() {
  Framework f = megatron_lm_2021();
  f.name = "megatron-deepspeed";
  f.source =
      "bigscience-workshop/Megatron-DeepSpeed and microsoft/DeepSpeed: runtime/pipe/engine.py (stage 0 or 1 beside "
      "pipeline stages; no overlap of the reduction), runtime/bf16_optimizer.py (fp32 accumulation)";
  f.scatter_gather_pipeline = false;
  f.sharding = {};
  f.sharding.most_with_pipeline = 1;
  return f;
}

// DeepSpeed's ZeRO without model parallelism, on Megatron-LM's model code.
Framework deepspeed() {
  Framework f = megatron_lm_2021();
  f.name = "deepspeed";
  f.source =
      "microsoft/DeepSpeed runtime/zero: stage_1_and_2.py (reduce_bucket_size 5e8), stage3.py and "
      "partitioned_param_coordinator.py (a parameter that is used again within stage3_max_reuse_distance 1e9 is kept); "
      "gathers by parameter do not overlap: at a fixed model the time over that of compute is the same whatever the "
      "microbatch (arXiv 2104.04473, table 2, 529.6 B on 640 and 1120 GPUs)";
  f.scatter_gather_pipeline = false;
  f.sharding = {};
  f.sharding.most_with_pipeline = 1;
  f.sharding.overlaps_gathers = false;
  f.sharding.reuse_parameters = 1e9;
  f.gradient_bytes = 2;
  f.gradient_bytes_fp16 = 2;
  f.optimizer_bytes_fp16 = 12;
  f.bucket_parameters = 5e8;
  return f;
}

// InternEvo, the trainer of InternLM: flash attention 2, fused RMSNorm and rotary embedding of flash-attn, fused AdamW;
// whole tensors belong to a rank of the ZeRO group, which broadcasts them after the step.
Framework internevo() {
  Framework f;
  f.name = "internevo";
  f.source =
      "InternLM/InternEvo internlm/solver/optimizer/hybrid_zero_optim.py (gradients all-reduced in buckets of 512 MiB "
      "behind backward, parameters broadcast by their owners) and its 7B configuration (overlap_sync_grad, not "
      "overlap_sync_param)";
  f.fused_attention = true;
  f.fused_softmax = true;
  f.fused_bias_dropout_add = true;  // flash-attn's dropout_add_layer_norm
  f.fused_rotary = true;
  f.fused_cross_entropy = true;
  f.vocabulary_multiple = 1;
  f.sharding.most = 1;
  f.sharding.broadcast_parameters = true;
  f.sharding.all_reduce_gradients = true;
  f.host_forward_s = 20e-6;
  f.host_backward_s = 10e-6;
  f.host_collective_s = kEagerCollective;
  f.host_source = "eager PyTorch, as pytorch-fsdp: recalled, to be confirmed";
  f.host_waits_for_pipeline = true;
  f.gradient_bytes = 2;
  f.gradient_bytes_fp16 = 2;
  f.bucket_parameters = 268435456;  // 512 MiB of 2-byte gradients
  f.platform_bytes = 2.0 * 1073741824.0;
  f.memory_source =
      "2 bytes of parameters, 2 of gradients, 12 of sharded optimizer state; platform recalled, to be measured";
  return f;
}

// PaddleNLP: group sharding (stages 1 and 2), tensor and pipeline parallelism of fleet, AMP O2.
Framework paddle() {
  Framework f = megatron_lm_2021();
  f.name = "paddle";
  f.source =
      "PaddlePaddle/PaddleNLP llm pre-training: flash attention, fused RMSNorm, group sharding of the optimizer (stage "
      "1) "
      "and gradients (stage 2) without pipeline stages";
  f.fused_attention = true;
  f.fused_rotary = false;
  f.scatter_gather_pipeline = false;
  f.vocabulary_multiple = 1;
  f.sharding = {};
  f.sharding.most_with_pipeline = 1;
  f.host_forward_s = 20e-6;
  f.host_backward_s = 10e-6;
  f.host_collective_s = kEagerCollective;
  f.host_source = "dynamic graph, taken as eager PyTorch: recalled, to be confirmed";
  f.optimizer_bytes_fp16 = 12;
  return f;
}

}  // namespace

std::vector<Framework> deepspeed_frameworks() { return {megatron_deepspeed(), deepspeed(), internevo(), paddle()}; }

}  // namespace mirfak
