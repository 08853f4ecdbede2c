#include "strategy/framework.hpp"

#include "strategy/framework_table.hpp"

#include <utility>

namespace mirfak {

namespace {

// Host cost of an eager PyTorch framework: vTrain's measured single-node runs (Megatron-DeepSpeed, A100, small
// models that the host bounds) need 1.0 ms per layer forward, 1.2 ms backward and 0.1 ms more with tensor
// parallelism, whatever the hidden size; a layer's graph (as megatron-lm-2021 fuses it, with dropout) has 15 kernels
// forward, 33 backward and 2 collectives each way. A collective waits for the slowest host of its group: 3.2, 3.4, 3.3
// and 4.2 ms per layer and microbatch on 1, 2, 4 and 8 ranks in the mean of these runs.
constexpr const char* kEagerHost =
    "vTrain single-node runs (MICRO'24): 1.0 ms forward, 1.2 ms backward, 0.1 ms for collectives per layer; "
    "5.8 % mean error at hidden 1024, 8.4 % at 2048, and either alone chooses the same";
constexpr double kEagerForward = 1.0e-3 / 15;
constexpr double kEagerBackward = 1.2e-3 / 33;
constexpr double kEagerCollective = 0.1e-3 / 4;
constexpr double kEagerPeer = 15e-6;

// Experts, beside that: Transformer Engine's GroupedLinear goes through its experts one by one (weights, splits, casts,
// launches), and routing without CUDA graphs is a few dozen small kernels (scores, top-k, losses, counts, offsets).
constexpr const char* kMegatronCoreHost =
    "vTrain single-node runs (MICRO'24) as for eager frameworks; experts and routing, per layer: chosen on published "
    "runs of mixtures (Megatron Bridge) without CUDA graphs of whole iterations, 11 % mean error; each of five GPUs "
    "left "
    "out in turn, the others choose 50 or 75 us an expert, 0.75 or 1.5 ms a routing, with 13 % on the one left out";
constexpr double kGroupedExpert = 50e-6;
constexpr double kRouting = 1.5e-3;

// CUDA context, cuBLAS workspaces and NCCL communicators of a rank in tensor, data and pipeline groups.
constexpr double kPlatformBytes = 2.0 * 1073741824.0;  // recalled: 0.5 GiB context, 1 to 2 GiB NCCL; to be measured

}  // namespace

// Megatron-LM as of the SC'21 paper (v2.x, arXiv 2104.04473).
Framework megatron_lm_2021() {
  Framework f;
  f.name = "megatron-lm-2021";
  f.source = "arXiv 2104.04473, section 4.2 (fused kernels), section 4.1 (scatter/gather); Megatron-LM v2.5";
  f.fused_softmax = true;
  f.fused_bias_activation = true;
  f.fused_bias_dropout_add = true;
  f.recomputes_groups = true;
  f.sharding.most = 1;
  f.scatter_gather_pipeline = true;
  f.host_forward_s = kEagerForward;
  f.host_backward_s = kEagerBackward;
  f.host_collective_s = kEagerCollective;
  f.host_peer_s = kEagerPeer;
  f.host_waits_for_passes = true;
  f.host_waits_for_pipeline = true;
  f.host_source = kEagerHost;
  f.gradient_bytes = 4;
  f.gradient_bytes_fp16 = 2;
  f.optimizer_bytes = 12;
  f.optimizer_bytes_fp16 = 12;
  // bf16: norm 4, Adam reads 4 + 12 and writes 12, parameters 2. fp16: unscale and copy the gradients to fp32 first
  // (2 + 4), look for infinities (4), then the same.
  f.optimizer_traffic_bytes = 34;
  f.optimizer_traffic_bytes_fp16 = 44;
  f.platform_bytes = kPlatformBytes;
  f.memory_source =
      "fp16: parameters 2, gradients 2, fp32 master and two Adam moments 12 (arXiv 1910.02054), gradients once more "
      "in fp32 during the step; bf16: gradients accumulate in fp32; platform 2 GiB recalled, to be measured";
  return f;
}

// Megatron-LM as of arXiv 2205.05198: tensor-parallel collectives of backward passes beside products.
Framework megatron_lm_2022() {
  Framework f = megatron_lm_2021();
  f.name = "megatron-lm-2022";
  f.source =
      "as megatron-lm-2021; arXiv 2205.05198, section 4.2.2: the all-gather of what a weight gradient needs runs "
      "beside "
      "the other gradient's product; LinearWithGradAccumulationAndAsyncCommunication of that year reduces beside the "
      "weight's";
  f.overlap_tensor_gradients = true;
  return f;
}

namespace {

// The gradients are cast to fp32 on the device, the parameters come back in fp32: a copy that does not block converts
// on the device (PyTorch: recalled, to be confirmed). 16 H100 updated 1.93e9 parameters each (1.81e9 of experts, the
// rest divided over 4 replicas): 3.19 s longer than on the device, of these 0.31 s of copies, which overlapping them
// saved; in 2.9 s the 8 ranks of a node moved 432 GB of 614 GB/s.
OffloadHabits hybrid_device_optimizer() {
  OffloadHabits offload;
  offload.most_zero = 1;
  offload.bandwidth_share = 0.24;
  offload.overlaps = true;
  offload.source =
      "Megatron-LM core/optimizer/cpu_offloading/hybrid_optimizer.py (torch.optim.AdamW for each tensor, copies on two "
      "streams); bandwidth of one run: Qwen3-30B-A3B on 16 H100, tensor 2, pipeline 2, expert 4, 0.996 s without, "
      "4.189 s with all of the optimizer offloaded (NVIDIA-NeMo/Megatron-Bridge@067f987df03b "
      "skills/nemo-mbridge-perf-cpu-offloading)";
  return offload;
}

}  // namespace

// Megatron Core, as its GPT recipes run it (Transformer Engine layers, distributed optimizer available).
Framework megatron_core() {
  Framework f;
  f.name = "megatron-core";
  f.source =
      "Megatron-LM core_r0.x arguments and their defaults; arXiv 2205.05198 for the overlap with weight gradients";
  f.fused_attention = true;
  f.attention_kernels = {"cudnn", "flash-2"};  // Transformer Engine's preference on Hopper and later; Ampere: flash-2
  f.fused_softmax = true;
  f.fused_bias_activation = true;
  f.fused_bias_dropout_add = true;
  f.fused_rotary = true;
  f.norm_kernels = NormKernels::fused;
  f.fused_bias_sums = true;
  f.fused_linear_bias = true;
  f.fused_gradient_accumulation = true;
  f.recomputes_groups = true;
  // megatron/core/transformer/moe/experts.py, TEGroupedMLP: quantization_padding and quantization_unpadding;
  // _apply_bias goes through the experts with weights in fp32: product (writes 4), sum (reads 6, writes 4),
  // concatenation (8), cast (6). Backward: cast (6), its concatenation (2 + 4), the gradients of bias and weight (8 + 4
  // each) and of the sum (4).
  f.pads_expert_rows = true;
  f.expert_bias_bytes = 28;
  f.expert_bias_gradient_bytes = 40;
  f.sharding.most = 1;  // stage 3 is megatron-fsdp
  f.offload = hybrid_device_optimizer();
  f.overlap_tensor_gradients = true;
  f.overlap_pipeline = true;
  f.scatter_gather_pipeline = false;
  f.host_forward_s = kEagerForward;
  f.host_backward_s = kEagerBackward;
  f.host_collective_s = kEagerCollective;
  f.host_expert_s = kGroupedExpert;
  f.host_routing_s = kRouting;
  f.host_waits_for_routing = true;
  f.host_waits_for_pipeline = true;
  f.host_source = kMegatronCoreHost;
  f.gradient_bytes = 4;
  f.gradient_bytes_fp16 = 4;
  f.optimizer_bytes = 12;
  f.optimizer_bytes_fp16 = 12;
  f.optimizer_traffic_bytes = 34;
  f.optimizer_traffic_bytes_fp16 = 38;
  f.platform_bytes = kPlatformBytes;
  f.memory_source =
      "18 bytes per parameter, 6 + 12/d with the distributed optimizer (Megatron-LM README); platform 2 GiB recalled, "
      "to be measured";
  return f;
}

namespace {

const std::vector<Framework>& table() {
  static const std::vector<Framework> frameworks = [] {
    std::vector<Framework> all = {megatron_core(), megatron_lm_2022(), megatron_lm_2021()};
    for (const auto& family : {fsdp_frameworks, deepspeed_frameworks, data_parallel_frameworks}) {
      for (Framework& framework : family()) all.push_back(std::move(framework));
    }
    return all;
  }();
  return frameworks;
}

}  // namespace

const Framework* find_framework(const std::string& name) {
  for (const Framework& framework : table()) {
    if (framework.name == name) return &framework;
  }
  return nullptr;
}

std::vector<std::string> framework_names() {
  std::vector<std::string> names;
  for (const Framework& framework : table()) names.push_back(framework.name);
  return names;
}

}  // namespace mirfak
