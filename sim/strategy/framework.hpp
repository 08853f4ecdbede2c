#pragma once

#include <string>
#include <vector>

namespace mirfak {

// What a training framework does with a strategy: which kernels it fuses, what it overlaps, how fast its host
// side issues work, what it keeps in memory. Habits of the software, the same for every model and cluster.
struct Framework {
  std::string name;
  std::string source;  // what the habits were read from

  // Kernels
  bool fused_attention = false;  // flash attention where the GPU has it (compute capability 8.0 and later)
  bool fused_softmax = false;    // scale, mask and softmax in one kernel
  bool fused_bias_activation = false;
  bool fused_bias_dropout_add = false;
  bool fused_rotary = false;
  bool fused_gradient_accumulation = false;  // the weight-gradient GEMM adds into the gradient buffer
  bool fused_cross_entropy = false;
  int vocabulary_multiple = 128;  // the vocabulary is padded to a multiple of this times tp

  // Communication
  bool overlap_tensor_gradients = false;  // backward's tensor-parallel collectives run beside weight gradients
  bool overlap_pipeline = false;          // interleaved schedule: transfers between stages run beside compute
  bool scatter_gather_pipeline = false;   // without sequence parallelism: each tensor rank sends its share of the
                                          // activation, the receivers gather (arXiv 2104.04473, section 4.1)

  // Host
  double host_forward_s = 0;             // to issue one kernel of a forward pass
  double host_backward_s = 0;            // ... of a backward pass (no interpreter between kernels)
  double host_collective_s = 0;          // ... one collective
  bool host_waits_for_pipeline = false;  // the host synchronizes on each transfer that is not overlapped
  std::string host_source;

  // Gradients and optimizer, bytes per parameter
  double gradient_bytes = 4;            // buffer that gradients accumulate in and are reduced from, bf16
  double gradient_bytes_fp16 = 4;       // ... fp16
  double optimizer_bytes = 12;          // fp32 master copy and two Adam moments
  double optimizer_bytes_fp16 = 12;     // ... fp16 (with an fp32 copy of the gradient where one is kept)
  double optimizer_traffic_bytes = 34;  // moved through memory by one step: norm, clipping, Adam, copies
  double optimizer_traffic_bytes_fp16 = 34;
  double bucket_parameters = 40e6;  // of a gradient bucket when reduction overlaps backward
  double platform_bytes = 0;        // context, communicators, workspaces and fragmentation of a device
  std::string memory_source;
};

// Error(input) for an unknown name is left to the caller: nullptr.
const Framework* find_framework(const std::string& name);
std::vector<std::string> framework_names();

}  // namespace mirfak
