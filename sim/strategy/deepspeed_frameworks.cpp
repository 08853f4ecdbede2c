// DeepSpeed and frameworks whose optimizers partition state as it does (arXiv 1910.02054): a low-precision copy of the
// parameters beside an fp32 master copy and moments, which are sharded first.

#include "strategy/framework_table.hpp"

namespace mirfak {

namespace {

constexpr double kEagerCollective = 0.1e-3 / 4;  // as megatron-lm-2021

// Host cost of a pass and of a launch that blocks.
constexpr const char* kDeepSpeedHost =
    "as megatron-lm-2021; 1 ms a pass: vTrain's single-node runs at tp 4 spend about 2 ms per microbatch outside "
    "layers; "
    "100 us for a launch that blocks: fit of 55 BLOOM tuning runs at 384 A100 (nine with odd head sizes or batches "
    "left "
    "out), mean error 2.8 %; fits of random two thirds scatter by 15 %, 4.2 % mean error on the other third";
constexpr double kBlockingLaunch = 100e-6;

// What ZeRO 1 adds to a step for each parameter that a rank holds, whatever the network: 2.0 to 2.4 ns by BLOOM's
// tuning runs with 2 to 12 stages (Omni-Path), roughly 2.7 ns by MT-NLG's three points with 8 to 12 replicas (HDR);
// without ZeRO nothing (vTrain's runs).
constexpr double kPartitionedStep = 2.2e-9;

// Megatron-DeepSpeed with the pipeline engine: Megatron-LM's kernels, gradients reduced once behind the last backward
// pass. Its bf16 optimizer accumulates in fp32.
Framework megatron_deepspeed() {
  Framework f = megatron_lm_2021();
  f.name = "megatron-deepspeed";
  f.source =
      "bigscience-workshop/Megatron-DeepSpeed and microsoft/DeepSpeed: runtime/pipe/engine.py (stage 0 or 1 beside "
      "pipeline stages; no overlap of the reduction; activations and gradients between stages in shares of the tensor "
      "ranks), runtime/bf16_optimizer.py (gradients accumulate in bf16, are added to an fp32 copy and cleared: 6 + 10 "
      "+ "
      "2 bytes)";
  f.sharding = {};
  f.sharding.most_with_pipeline = 1;
  f.host_pass_s = 1e-3;
  f.host_blocking_s = kBlockingLaunch;
  f.host_source = kDeepSpeedHost;
  f.sharding.step_s_per_parameter = kPartitionedStep;
  f.accumulation_bytes = 18;
  return f;
}

// ZeRO-Offload. Gradients cross in fp32 behind the backward passes that reduce them; the host scales them (8 bytes),
// steps (28), writes a 16-bit image of the parameters (6) and copies that back.
OffloadHabits zero_offload() {
  OffloadHabits offload;
  offload.most_zero = 3;
  offload.shares_from_zero = 3;
  offload.parameter_bytes = 2;
  offload.traffic_bytes = 42;
  offload.beside_bytes = 6;
  offload.bandwidth_share = 0.43;
  offload.copies_beside_passes = true;
  offload.source =
      "deepspeedai/DeepSpeed@edaa7221267 runtime/zero/stage_1_and_2.py and offload_config.py (a share: stage 3 only); "
      "bandwidth: DeepSpeedCPUAdam steps 10e9 parameters in 2.57 s on a DGX-2 of 256 GB/s (arXiv 2101.06840, table 4: "
      "recalled, to be confirmed)";
  return offload;
}

// DeepSpeed's ZeRO without model parallelism, on Megatron-LM's model code.
Framework deepspeed() {
  Framework f = megatron_lm_2021();
  f.name = "deepspeed";
  f.source =
      "microsoft/DeepSpeed runtime/zero: stage_1_and_2.py (reduce_bucket_size 5e8), stage3.py and "
      "partitioned_param_coordinator.py (a parameter that is used again within stage3_max_reuse_distance 1e9 is kept; "
      "gathers run ahead), config.py (overlap_comm is on by default at stage 3); bus bandwidths inferred from arXiv "
      "2104.04473, table 2 (iterations of one microbatch take the same time on 1120 and 2240 GPUs, at four sequences "
      "each compute hides the gathers) and from GPT 1T on 1024 GPUs of Azure (2022): six runs within 9 %; from the "
      "first "
      "alone 30 and 14 GB/s, which leave Azure's at -0.2 and -10 %, without any limit at -14 and -31 %";
  f.scatter_gather_pipeline = false;
  f.sharding = {};
  f.sharding.most_with_pipeline = 1;
  f.sharding.prefetch_forward = true;
  f.sharding.prefetch_backward = true;
  f.sharding.most_gather_bytes_per_s = 32e9;
  f.sharding.most_reduce_bytes_per_s = 12e9;
  f.sharding.reuse_parameters = 1e9;
  f.offload = zero_offload();
  f.gradient_bytes = 2;
  f.gradient_bytes_fp16 = 2;
  f.optimizer_bytes_fp16 = 12;
  f.bucket_parameters = 5e8;
  return f;
}

// ... and stage 3 as of early 2021, before its reductions ran beside backward passes.
Framework deepspeed_2021() {
  Framework f = deepspeed();
  f.name = "deepspeed-2021";
  f.source = "as deepspeed, but reductions block (overlap_comm off), as the runs of arXiv 2104.04473, table 2, show";
  f.sharding.reduction_blocks = true;
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
  f.fused_linear_bias = true;
  f.fused_cross_entropy = true;
  f.loss_recomputes_softmax = true;
  f.wide_norm_inputs = true;
  f.recomputes_norms = true;
  f.attention_kernels = {"flash-1"};
  // AccPerplex: a second loss (2), a copy (4), two maxima and the place of one (6), the logits less their maximum (4),
  // exponentials (4) and their sum (2).
  f.logit_metric_bytes = 22;
  f.vocabulary_multiple = 1;
  f.sharding.most = 1;
  f.sharding.broadcast_parameters = true;
  f.sharding.all_reduce_gradients = true;
  f.host_forward_s = 20e-6;
  f.host_backward_s = 10e-6;
  f.host_collective_s = kEagerCollective;
  f.host_stall_s = kUnalignedStall;
  f.host_source = kEagerPython;
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
  f.attention_kernels = {"flash-1"};
  f.fused_rotary = false;
  f.fused_bias_activation = false;
  f.fused_bias_dropout_add = false;
  f.scatter_gather_pipeline = false;
  f.vocabulary_multiple = 1;
  f.sharding = {};
  f.sharding.most_with_pipeline = 1;
  f.host_forward_s = 20e-6;
  f.host_backward_s = 10e-6;
  f.host_collective_s = kEagerCollective;
  f.host_peer_s = 0;
  f.host_pass_s = 0;
  f.host_waits_for_passes = false;
  f.host_source = "dynamic graph, taken as eager PyTorch: recalled, to be confirmed";
  f.optimizer_bytes_fp16 = 12;
  return f;
}

}  // namespace

std::vector<Framework> deepspeed_frameworks() {
  return {megatron_deepspeed(), deepspeed(), deepspeed_2021(), internevo(), paddle()};
}

}  // namespace mirfak
