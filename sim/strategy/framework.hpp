#pragma once

#include "model/backward.hpp"

#include <string>
#include <vector>

namespace mirfak {

// How a framework shards state over data-parallel ranks (ZeRO).
struct ShardingHabits {
  int most_with_pipeline = 3;  // the highest ZeRO stage that runs beside pipeline stages
  int most = 3;                // the highest stage at all

  // FSDP: what is sharded is the fp32 master copy; its low-precision image exists while it is gathered only. Else the
  // shards are low-precision copies beside a master copy that the optimizer holds.
  bool master_is_parameter = false;
  bool stage2_gathers_parameters = false;  // stage 2 gathers before forward and keeps until backward is over (FSDP's
                                           // SHARD_GRAD_OP); else parameters are replicated and gathered once a step
  bool root_unit = false;          // embedding and head are gathered together first, kept, and reduced together last
  bool overlaps_gathers = true;    // else a block's gather starts behind the block before, with its reduction
  bool prefetch_forward = false;   // the next block's gather is issued before a block's forward kernels; else behind
  bool prefetch_backward = false;  // ... before its backward kernels; else behind
  bool host_waits_for_gathers = false;  // the rate limiter (two gathers in flight) holds back the host, not a stream
  bool gather_waits_for_pass = false;   // the first gather of a forward pass starts after all work before it
  bool broadcast_parameters = false;    // stage 1: whole tensors belong to a rank, which broadcasts them after the step
  // Kernels around the collectives, bytes moved through memory per parameter: behind a gather (into parameter tensors),
  // in front of a reduction (into the reduced buffer, with scaling), and where that changes the precision.
  double gather_copy_bytes = 0;
  double reduce_copy_bytes = 0;
  double reduce_cast_bytes = 0;
  bool all_reduce_gradients = false;  // stage 1: gradients are all-reduced over all replicas, not reduce-scattered
  // Bytes/s, by the count of buses, that a collective of one unit does not exceed whatever the network: 0, no such
  // limit.
  double most_gather_bytes_per_s = 0;
  double most_reduce_bytes_per_s = 0;
  bool reduction_blocks = false;    // a block's passes go on when its gradients are reduced
  double step_s_per_parameter = 0;  // stage 1: of what a rank holds, beside kernels and what the network takes
  double reuse_parameters = 0;      // parameters used again within so many others are kept, else gathered again; 0:
                                    // always kept
};

// How a framework keeps part of the optimizer's state on the host and updates it there (arXiv 2101.06840). Bytes are
// per offloaded parameter.
struct OffloadHabits {
  int most_zero = 0;           // the highest stage of ZeRO that does, from 1 on; 0: none does
  int shares_from_zero = 1;    // from this stage on a share of the state may be offloaded, below all of it or nothing
  double gradient_bytes = 4;   // to the host
  double parameter_bytes = 4;  // back
  double traffic_bytes = 28;   // through the host's memory: Adam reads the parameter, its gradient and two moments and
                               // writes all but the gradient, in fp32
  double beside_bytes = 4;     // held there beside the state: the gradient in fp32
  double bandwidth_share = 0;  // of the host's memory bandwidth that the step reaches
  bool overlaps = false;       // a tensor is updated while others are copied
  bool copies_beside_passes = false;  // gradients that are reduced beside passes are copied there too
  std::string source;
};

// What a training framework does with a strategy: which kernels it fuses, what it overlaps, how fast its host
// side issues work, what it keeps in memory. Habits of the software, the same for every model and cluster.
struct Framework {
  std::string name;
  std::string source;  // what the habits were read from

  // Kernels
  bool fused_attention = false;  // flash attention where the GPU has it (compute capability 8.0 and later)
  std::vector<std::string> attention_kernels = {"flash-2"};  // generations of it, the preferred one first
  bool fused_softmax = false;                                // scale, mask and softmax in one kernel
  bool fused_bias_activation = false;
  bool fused_bias_dropout_add = false;
  bool fused_rotary = false;
  bool fused_gradient_accumulation = false;  // the weight-gradient GEMM adds into the gradient buffer
  bool fused_cross_entropy = false;
  NormKernels norm_kernels = NormKernels::separate;
  bool fused_bias_sums = false;          // products sum up the gradients of biases
  bool fused_linear_bias = false;        // products add the biases of linear layers that no other kernel takes
  bool chained_gelu = false;             // decoders' GELU as a chain of plain kernels
  bool wide_norm_inputs = false;         // normalizations read fp32 copies, which a kernel each makes
  bool recomputes_norms = false;         // backward computes the normalizations of layers again, kept or not
  bool loss_recomputes_softmax = false;  // a fused loss keeps the logits, which its gradient overwrites
  double logit_metric_bytes = 0;         // moved per logit by metrics that are computed with every loss
  bool gathers_masked_tokens = false;    // a masked language model's head works on the predicted tokens only
  bool pads_expert_rows = false;         // in narrow formats, a copy that gives each expert a multiple of 16 or 32 rows
  // Moved per element of experts' results to add their biases and weight them, forward and backward, where the host
  // knows the shapes; 0: one addition.
  double expert_bias_bytes = 0;
  double expert_bias_gradient_bytes = 0;
  bool recomputes_groups = false;  // several layers from one input (RecomputeMethod::uniform)
  bool casts_weights = false;      // autocast: weights are fp32, every product casts its weight first
  int vocabulary_multiple = 128;   // the vocabulary is padded to a multiple of this times tp

  // Communication
  bool overlap_tensor_gradients = false;  // backward's tensor-parallel collectives run beside weight gradients
  bool overlap_pipeline = false;          // interleaved schedule: transfers between stages run beside compute
  bool scatter_gather_pipeline = false;   // without sequence parallelism: each tensor rank sends its share of the
                                          // activation, the receivers gather (arXiv 2104.04473, section 4.1)
  ShardingHabits sharding;
  OffloadHabits offload;

  // Host
  double host_forward_s = 0;             // to issue one kernel of a forward pass
  double host_backward_s = 0;            // ... of a backward pass (no interpreter between kernels)
  double host_auxiliary_s = 15e-6;       // ... a cast inside the call of another kernel: recalled, to be confirmed
  double host_graph_s = 20e-6;           // ... to replay one CUDA graph: recalled, to be confirmed
  double host_expert_s = 0;              // ... one more expert of a grouped product: its weight, split and launch
  double host_routing_s = 0;             // ... the small kernels that choose experts and count their tokens, each way
  bool host_waits_for_routing = false;   // dropless: the host reads those counts before it issues what needs them
  double host_pass_s = 0;                // ... at the start of every pass of a stage: engine, batch, bookkeeping
  double host_collective_s = 0;          // ... one collective of a pass
  double host_peer_s = 0;                // ... and more for each other rank of its group: the slowest host of all
  double host_blocking_s = 60e-6;        // ... where launches block, to wait for a kernel and return
  double host_unit_s = 0;                // ... the gather or reduction of one block's parameters
  double host_step_s = 0;                // from the last gradient to the first kernel of the next iteration, beside
                                         // the optimizer's kernels: step, logging, next batch
  double host_stall_s = 0;               // per rank and iteration, what all wait for one host that pauses on its own:
                                         // Python's garbage collection where ranks do not align it
  bool host_waits_for_pipeline = false;  // the host synchronizes on each transfer that is not overlapped
  bool host_waits_for_passes = false;    // ... and behind each pass, to time it
  std::string host_source;

  // Gradients and optimizer, bytes per parameter
  double gradient_bytes = 4;            // buffer that gradients accumulate in and are reduced from, bf16
  double gradient_bytes_fp16 = 4;       // ... fp16
  double accumulation_bytes = 0;        // moved to add one microbatch's gradient where no GEMM does, bf16; 0: read both
                                        // numbers, write the sum
  double optimizer_bytes = 12;          // fp32 master copy and two Adam moments
  double optimizer_bytes_fp16 = 12;     // ... fp16
  double optimizer_traffic_bytes = 34;  // moved through memory by one step: norm, clipping, Adam, copies
  double optimizer_traffic_bytes_fp16 = 34;
  double bucket_parameters = 40e6;        // of a gradient bucket when reduction overlaps backward
  double bucket_parameters_per_rank = 0;  // ... and at least so many times the data-parallel ranks
  double platform_bytes = 0;              // context, communicators, workspaces and fragmentation of a device
  std::string memory_source;
};

// Error(input) for an unknown name is left to the caller: nullptr.
const Framework* find_framework(const std::string& name);
std::vector<std::string> framework_names();

}  // namespace mirfak
