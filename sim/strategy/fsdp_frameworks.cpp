// Fully sharded data parallelism (arXiv 2304.11277): a block's parameters are one flat tensor, of which every rank
// holds a shard in fp32. Gathered in low precision they live for one block's forward or backward pass.

#include "strategy/framework_table.hpp"

namespace mirfak {

namespace {

constexpr double kGib = 1073741824.0;

// fp32 shards: parameter, gradient, two moments. A fused or foreach AdamW reads the four and writes three (28 bytes);
// clipping reads the gradient for its norm and scales it (12).
void fsdp_memory(Framework& f) {
  f.gradient_bytes = 2;
  f.gradient_bytes_fp16 = 2;
  f.optimizer_bytes = 12;
  f.optimizer_bytes_fp16 = 12;
  f.optimizer_traffic_bytes = 40;
  f.optimizer_traffic_bytes_fp16 = 40;
  f.platform_bytes = 2 * kGib;
  f.memory_source =
      "torch.distributed.fsdp.MixedPrecision: shards of parameters, gradients and Adam moments in fp32, gathered and "
      "reduced in param_dtype and reduce_dtype; platform 2 GiB recalled, to be measured";
}

// FSDP of PyTorch 1.13 to 2.x (FlatParameter), eager modules of PyTorch with flash attention.
Framework pytorch_fsdp() {
  Framework f;
  f.name = "pytorch-fsdp";
  f.source =
      "pytorch/pytorch torch/distributed/fsdp/_runtime_utils.py (hooks, rate limiter of two gathers, BACKWARD_PRE) and "
      "docs/source/notes/fsdp.rst; flash attention by scaled_dot_product_attention, other operators one kernel each";
  f.fused_attention = true;
  f.fused_softmax = true;
  f.fused_linear_bias = true;
  f.norm_kernels = NormKernels::plain;
  f.vocabulary_multiple = 1;
  f.sharding.master_is_parameter = true;
  f.sharding.stage2_gathers_parameters = true;
  f.sharding.root_unit = true;
  f.sharding.prefetch_backward = true;
  f.sharding.host_waits_for_gathers = true;
  f.sharding.gather_waits_for_pass = true;
  // Backward joins the gradients of a flat parameter's views (4 bytes moved each), casts them to the precision of the
  // reduction (6) and divides them by a factor of the number of ranks (4, or 8 in fp32).
  f.sharding.reduce_copy_bytes = 4 + 4;
  f.sharding.reduce_cast_bytes = 4 + 6 + 8;
  f.host_forward_s = 20e-6;
  f.host_backward_s = 10e-6;
  f.host_collective_s = 25e-6;
  f.host_unit_s = 100e-6;
  f.host_stall_s = kUnalignedStall;
  f.host_source = kEagerPython;
  fsdp_memory(f);
  return f;
}

// MosaicML's llm-foundry on Composer: MPT models, PyTorch layer norm in low precision, fused cross entropy.
Framework llm_foundry() {
  Framework f = pytorch_fsdp();
  f.name = "llm-foundry";
  f.source =
      "mosaicml/llm-foundry scripts/train/benchmarking (low_precision_layernorm, fused_crossentropy, "
      "limit_all_gathers) and mosaicml/composer composer/distributed/mosaic_fsdp.py (BACKWARD_POST; mixed precision "
      "PURE "
      "reduces in bf16, DEFAULT in fp32)";
  f.attention_kernels = {"triton", "flash-1"};
  f.fused_cross_entropy = true;
  f.loss_recomputes_softmax = true;
  // Two metrics, each the cross entropy again: autocast to fp32 (6 bytes) and its logarithmic softmax (8).
  f.logit_metric_bytes = 2 * (6 + 8);
  f.optimizer_traffic_bytes = 12 + 88;
  f.optimizer_traffic_bytes_fp16 = 12 + 88;
  f.sharding.prefetch_backward = false;
  return f;
}

// FSDP under torch.compile: elementwise chains, norms and the loss become one kernel each.
Framework pytorch_fsdp_compiled() {
  Framework f = pytorch_fsdp();
  f.name = "pytorch-fsdp-compiled";
  f.source =
      "foundation-model-stack/fms-fsdp (blocks compiled one by one, bf16 reduction) and pytorch/torchtitan (FSDP2: "
      "explicit backward prefetch, limits by streams)";
  f.fused_bias_activation = true;
  f.fused_bias_dropout_add = true;
  f.fused_rotary = true;
  f.norm_kernels = NormKernels::separate;
  f.fused_cross_entropy = true;
  f.sharding.host_waits_for_gathers = false;
  f.host_forward_s = 5e-6;
  f.host_backward_s = 5e-6;
  return f;
}

// FSDP2 as torchtitan runs it: one buffer per block is gathered and copied into the parameters; gradients are copied
// and cast into one buffer, divided by the collective; fp32 reduction; blocks compiled one by one.
Framework torchtitan() {
  Framework f = pytorch_fsdp_compiled();
  f.name = "torchtitan";
  f.source =
      "pytorch/torchtitan and pytorch/pytorch torch/distributed/fsdp/_fully_shard (two gathers alive, explicit "
      "backward "
      "prefetch, copies in and out of the buffers, embedding and head units of their own)";
  f.sharding.root_unit = false;
  f.sharding.gather_waits_for_pass = false;
  f.host_stall_s = 0;  // torchtitan collects garbage on all ranks in the same steps
  f.sharding.gather_copy_bytes = 4;
  f.sharding.reduce_copy_bytes = 4;
  f.sharding.reduce_cast_bytes = 6;
  f.gradient_bytes = 4;
  return f;
}

// Megatron Core's own FSDP: its kernels, sharded optimizer state in fp32, low-precision shards of parameters.
Framework megatron_fsdp() {
  Framework f = megatron_core();
  f.name = "megatron-fsdp";
  f.source = "Megatron-LM megatron/core/distributed/fsdp (data_parallel_sharding_strategy optim_grads_params)";
  f.sharding = {};
  f.offload = {};
  f.sharding.prefetch_forward = true;
  f.sharding.prefetch_backward = true;
  return f;
}

// Pax and MaxText: one XLA program per step, so no host between kernels; XLA schedules gathers ahead of their use.
Framework jax_fsdp() {
  Framework f = pytorch_fsdp();
  f.name = "jax-fsdp";
  f.source =
      "google/paxml and AI-Hypercomputer/maxtext with XLA's latency-hiding scheduler: gathers and reductions as "
      "asynchronous operations, elementwise chains fused, attention not fused without cuDNN or Transformer Engine";
  f.fused_attention = false;
  f.fused_softmax = false;
  f.fused_bias_activation = true;
  f.fused_bias_dropout_add = true;
  f.fused_rotary = true;
  f.norm_kernels = NormKernels::separate;
  f.fused_cross_entropy = true;
  f.sharding.root_unit = false;
  f.sharding.host_waits_for_gathers = false;
  f.sharding.prefetch_forward = true;
  f.sharding.gather_waits_for_pass = false;
  f.sharding.reduce_copy_bytes = f.sharding.reduce_cast_bytes = 0;
  f.host_forward_s = f.host_backward_s = f.host_auxiliary_s = f.host_collective_s = 0;
  f.host_unit_s = f.host_stall_s = 0;
  f.host_source = "a step is one compiled program: no host work between kernels";
  return f;
}

// ... with the layers of Transformer Engine.
Framework jax_transformer_engine() {
  Framework f = jax_fsdp();
  f.name = "jax-transformer-engine";
  f.source =
      "as jax-fsdp; NVIDIA/TransformerEngine transformer_engine/jax: fused norms and masked softmax, cuDNN's fused "
      "attention off by default (NVTE_FUSED_ATTN)";
  f.fused_softmax = true;
  f.norm_kernels = NormKernels::fused;
  return f;
}

}  // namespace

std::vector<Framework> fsdp_frameworks() {
  return {pytorch_fsdp(),  llm_foundry(), pytorch_fsdp_compiled(), torchtitan(),
          megatron_fsdp(), jax_fsdp(),    jax_transformer_engine()};
}

}  // namespace mirfak
