// Table of all habits. Its sentences equal those of the reference in hw_profiles/frameworks/README.md; a test in
// tests/strategy compares both.

#include "strategy/framework_options.hpp"

#include "base/units.hpp"
#include "block/operators.hpp"
#include "model/attention_kernels.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace mirfak {

namespace {

// Ranges that catch a wrong unit, not a wrong value.
constexpr double kMaxSeconds = 60;
constexpr double kMaxBytes = 1000;  // per parameter or element
constexpr double kMaxCount = 1e15;
constexpr double kMaxRate = 1e15;
constexpr double kMaxPlatform = 1e12;

template <auto Group, auto Member>
HabitField at(Framework& framework) {
  return &(framework.*Group.*Member);
}

template <auto Member>
HabitField rule(Framework& framework) {
  return &(framework.fusion.rules.*Member);
}

template <auto Group>
std::string& source_of(Framework& framework) {
  return (framework.*Group).source;
}

using Field = HabitField (*)(Framework&);

FrameworkOption truth(std::string_view key, std::string_view sentence, Field field) {
  return {key, "", sentence, field, 0, 1};
}
FrameworkOption words(std::string_view key, std::string_view sentence, Field field, Vocabulary vocabulary = nullptr) {
  return {key, "", sentence, field, 0, 0, vocabulary};
}
FrameworkOption seconds(std::string_view key, std::string_view sentence, Field field) {
  return {key, "s", sentence, field, 0, kMaxSeconds};
}
FrameworkOption bytes(std::string_view key, std::string_view sentence, Field field) {
  return {key, "bytes", sentence, field, 0, kMaxBytes};
}
FrameworkOption rate(std::string_view key, std::string_view sentence, Field field) {
  return {key, "bytes/s", sentence, field, 0, kMaxRate};
}
FrameworkOption parameters(std::string_view key, std::string_view sentence, Field field) {
  return {key, "parameters", sentence, field, 0, kMaxCount};
}
FrameworkOption stage(std::string_view key, std::string_view sentence, Field field) {
  return {key, "", sentence, field, 0, 3};
}

FrameworkOptionGroup fusion() {
  constexpr auto group = &Framework::fusion;
  using Habits = FusionHabits;
  return {"fusion",
          "Which operators run as one kernel.",
          source_of<group>,
          {
              {"attention", "",
               "generations of fused attention, the preferred one first, where the GPU has one (compute capability "
               "8.0 and later), `NAME@ARCHITECTURE` on GPUs of that architecture only; empty: attention is separate "
               "kernels",
               at<group, &Habits::attention>, 0, 0, attention_kernel_names, true},
              truth("rotary", "rotary embedding is one kernel; else a copy, two products and a sum",
                    at<group, &Habits::rotary>),
              truth("cross_entropy", "the loss is one kernel over the logits; else several passes over them in fp32",
                    at<group, &Habits::cross_entropy>),
              words("chains", "operators in a row that are one kernel (above)", rule<&FusionRules::chains>),
              words("epilogues", "what a product does to its result where it follows: `bias`",
                    rule<&FusionRules::epilogues>, fusion_words),
              words("packed", "tags of linear layers that are one product where they read the same operand",
                    rule<&FusionRules::packed_tags>),
              words("groups", "tags of operators that are one kernel where they stand one after the other",
                    rule<&FusionRules::group_tags>),
              truth("gradient_accumulation", "the weight-gradient product adds into the gradient buffer",
                    at<group, &Habits::gradient_accumulation>),
              truth("bias_sums", "products sum up the gradients of biases", at<group, &Habits::bias_sums>),
              words("norms",
                    "gradients of a normalization: `separate` (NVIDIA/apex: rows once, sums over tokens for the "
                    "parameters in a kernel as fast), `plain` (PyTorch's own: its kernel goes over the rows twice, "
                    "plain reductions for the parameters) or `fused` (Transformer Engine: one kernel does both)",
                    at<group, &Habits::norms>),
          }};
}

FrameworkOptionGroup kernels() {
  constexpr auto group = &Framework::kernels;
  using Habits = KernelHabits;
  return {
      "kernels",
      "What else kernels do or leave out.",
      source_of<group>,
      {
          truth("chained_gelu", "decoders' GELU is a chain of plain kernels", at<group, &Habits::chained_gelu>),
          truth("chained_rms_norm", "RMS norms are a chain of plain kernels, in fp32",
                at<group, &Habits::chained_rms_norm>),
          words("norm_input_cast",
                "kernels (above) that make fp32 copies which normalizations read; empty: they read the activations",
                at<group, &Habits::norm_input_cast>),
          bytes("logit_metric_bytes", "moved per logit by metrics that are computed with every loss",
                at<group, &Habits::logit_metric_bytes>),
          truth("gathers_masked_tokens", "a masked language model's head works on the predicted tokens only",
                at<group, &Habits::gathers_masked_tokens>),
          truth("pads_expert_rows", "in narrow formats, a copy gives each expert a multiple of 16 or 32 rows",
                at<group, &Habits::pads_expert_rows>),
          words("expert_bias",
                "kernels (above) that add biases to the results of experts, each times the weight of its row; "
                "empty: one addition",
                at<group, &Habits::expert_bias>),
          words("expert_bias_gradient", "... in the backward pass", at<group, &Habits::expert_bias_gradient>),
          truth("casts_weights", "autocast: weights are fp32, every product casts its weight first",
                at<group, &Habits::casts_weights>),
          {"vocabulary_multiple", "", "the vocabulary is padded to a multiple of this times the tensor size",
           at<group, &Habits::vocabulary_multiple>, 1, 1 << 20},
          words("attention_copies", "copies (above) that are made around fused attention",
                at<group, &Habits::attention_copies>),
          words("fills_results",
                "a kernel fills the results of these kernels before they are written, as PyTorch's deterministic "
                "algorithms do with memory that `empty` allocates: `linear` (layers, not the head), "
                "`normalization`, `attention`, `rotary`, `copies`",
                at<group, &Habits::fills_results>, filled_words),
          words("ordered_attention",
                "generations of fused attention whose backward pass sums gradients of queries in a fixed order, "
                "in as many parts as fill the device "
                "([how](../../sim/lowering/cost/README.md#sums-in-a-fixed-order))",
                at<group, &Habits::ordered_attention>, attention_kernel_names),
          truth("chunked_loss",
                "head and loss may run in chunks of the tokens (`training.loss_chunks`), forward and backward, so that "
                "the logits of all tokens never exist at once",
                at<group, &Habits::chunked_loss>),
          truth("chunks_loss_by_width",
                "... and do where `training.loss_chunks` does not say how many: a chunk has the tokens, to a power of "
                "two, whose logits are as many as the activations of all tokens",
                at<group, &Habits::chunks_loss_by_width>),
          {"loss_chunk_rows", "", "... or so many tokens; 0: as above", at<group, &Habits::loss_chunk_rows>, 0,
           1 << 24},
          {"loss_chunk_classes", "",
           "... which go through so many classes at a time, so that the logits of one such tile exist; 0: all classes",
           at<group, &Habits::loss_chunk_classes>, 0, 1 << 24},
          truth("recomputes_chunks", "the backward pass of a chunk multiplies by the head again, and keeps no logits",
                at<group, &Habits::recomputes_chunks>),
          bytes("chunk_gradient_bytes",
                "moved per weight of the head by a kernel that adds a chunk's gradient to those before; 0: the "
                "product adds",
                at<group, &Habits::chunk_gradient_bytes>),
          bytes("chunk_weight_bytes",
                "moved per weight of the head to cast it for each chunk, where products cast their weights; 0: it is "
                "cast once",
                at<group, &Habits::chunk_weight_bytes>),
      }};
}

FrameworkOptionGroup adapters() {
  constexpr auto group = &Framework::adapters;
  using Habits = AdapterHabits;
  return {
      "adapters",
      "How low-rank adapters run in parallel with the products that they adapt (`training.lora`).",
      source_of<group>,
      {
          truth("wide",
                "fp32 next to weights of 16 bits, unless they are gathered in 16 bits: their input is cast to fp32, "
                "and each pass casts that and both weights in front of their products",
                at<group, &Habits::wide>),
          truth("scales", "a kernel multiplies their result by the scale, before another adds it",
                at<group, &Habits::scales>),
          truth("narrow_bases", "frozen weights may be kept in 4 or 8 bits (`training.lora.base`)",
                at<group, &Habits::narrow_bases>),
          truth("decomposed",
                "DoRA (`training.lora.decomposed`): the product of both weights is made by multiplying a unit matrix, "
                "and "
                "added to the weight for the norms of its columns",
                at<group, &Habits::decomposed>),
      }};
}

FrameworkOptionGroup recompute() {
  constexpr auto group = &Framework::recompute;
  using Habits = RecomputeHabits;
  return {"recompute",
          "What backward passes compute again, in addition to what the strategy says.",
          source_of<group>,
          {
              truth("groups", "several layers can be recomputed from one input (`recompute_method: uniform`)",
                    at<group, &Habits::groups>),
              truth("stops_early",
                    "recomputation of a layer ends with what backward reads last: its last product does not run again",
                    at<group, &Habits::stops_early>),
              truth("norms", "backward computes the normalizations of layers again, kept or not",
                    at<group, &Habits::norms>),
              truth("loss_softmax", "a fused loss keeps the logits, which its gradient overwrites",
                    at<group, &Habits::loss_softmax>),
          }};
}

FrameworkOptionGroup communication() {
  constexpr auto group = &Framework::communication;
  using Habits = CommunicationHabits;
  return {
      "communication",
      "How tensor ranks and pipeline stages exchange activations and their gradients.",
      source_of<group>,
      {
          truth("overlap_tensor_gradients",
                "tensor-parallel collectives of backward passes run at the same time as weight gradients",
                at<group, &Habits::overlap_tensor_gradients>),
          truth("scatters_in_pieces",
                "`strategy.overlap_tensor` also holds for what a product's result is summed and scattered over; else "
                "only for what is gathered before it",
                at<group, &Habits::scatters_in_pieces>),
          truth("overlap_pipeline",
                "with the interleaved schedule, transfers between stages run at the same time as compute",
                at<group, &Habits::overlap_pipeline>),
          truth("scatter_gather_pipeline",
                "without sequence parallelism, each tensor rank sends its share of the activation and the "
                "receivers gather (arXiv 2104.04473, section 4.1)",
                at<group, &Habits::scatter_gather_pipeline>),
          truth("copies_gathered",
                "with sequence parallelism, what tensor ranks gather is copied after the gather and what they "
                "reduce and scatter before it: tokens are not the outermost axis in memory",
                at<group, &Habits::copies_gathered>),
          truth("keeps_gathered",
                "what products gather of their inputs is kept for their weight gradients; else gathered again",
                at<group, &Habits::keeps_gathered>),
          truth("adds_before_reducing",
                "gradients that several products find for one tensor are added before tensor ranks reduce them; "
                "else each is reduced",
                at<group, &Habits::adds_before_reducing>),
          truth("gathers_logits",
                "each tensor rank gathers the logits of all classes before the loss; else the loss is divided over "
                "classes",
                at<group, &Habits::gathers_logits>),
      }};
}

std::vector<FrameworkOption> sharding_of_state() {
  constexpr auto group = &Framework::sharding;
  using Habits = ShardingHabits;
  return {
      stage("max_zero", "the highest stage of ZeRO", at<group, &Habits::max_zero>),
      stage("max_zero_with_pipeline", "the highest that runs with pipeline stages",
            at<group, &Habits::max_zero_with_pipeline>),
      stage("max_zero_with_overlap",
            "... whose reductions run during backward passes where the strategy asks for that; else after all passes",
            at<group, &Habits::max_zero_with_overlap>),
      stage("groups_from_zero", "the lowest that shards in groups of ranks (`strategy.zero_group`)",
            at<group, &Habits::groups_from_zero>),
      truth("second_copies", "groups of ranks may share a second copy of the parameters (`strategy.zero_second_group`)",
            at<group, &Habits::second_copies>),
      {"gather_scale_values", "values",
       "that share a scale where parameters are gathered in 8 bits (`strategy.quantized_gathers`); 0: it has no such "
       "gathers",
       at<group, &Habits::gather_scale_values>, 0, 1e6},
      truth("quantized_reductions", "gradients may be exchanged in 4 bits (`strategy.quantized_reductions`)",
            at<group, &Habits::quantized_reductions>),
      parameters("bucket_parameters", "of a bucket of gradients, where their reduction overlaps backward",
                 at<group, &Habits::bucket_parameters>),
      parameters("bucket_parameters_per_rank", "... and at least so many times the data-parallel ranks",
                 at<group, &Habits::bucket_parameters_per_rank>),
      truth("master_is_parameter",
            "FSDP: what is sharded is the fp32 master copy, its low-precision image exists while it is gathered only; "
            "else the shards are low-precision copies in addition to a master copy that the optimizer holds",
            at<group, &Habits::master_is_parameter>),
      truth("stage2_gathers_parameters",
            "stage 2 gathers before forward and keeps until backward is over (FSDP's SHARD_GRAD_OP), and there is no "
            "stage "
            "1; else parameters are replicated and gathered once a step",
            at<group, &Habits::stage2_gathers_parameters>),
      truth("registered_buffers",
            "buffers that are gathered and reduced may be registered with the library of collectives "
            "(`strategy.registered_buffers`)",
            at<group, &Habits::registered_buffers>),
      truth("registered_apart", "... from memory of their own, which does not grow in segments where the rest does",
            at<group, &Habits::registered_apart>),
      truth("root_unit", "embedding and head are gathered together first, kept, and reduced together last",
            at<group, &Habits::root_unit>),
      truth("alone",
            "a rank that shares its parameters with no other gathers and reduces them all the same, which copies them",
            at<group, &Habits::alone>),
      truth("broadcast_parameters", "stage 1: whole tensors belong to a rank, which broadcasts them after the step",
            at<group, &Habits::broadcast_parameters>),
      truth("all_reduce_gradients", "stage 1: gradients are all-reduced over all replicas, not reduce-scattered",
            at<group, &Habits::all_reduce_gradients>),
      truth("reduces_fp32", "gradients are reduced as fp32 copies, whatever they are kept in; else as they are kept",
            at<group, &Habits::reduces_fp32>),
      {"step_s_per_parameter", "s",
       "stage 1 with pipeline stages: of what a rank holds, in addition to kernels and the network's time",
       at<group, &Habits::step_s_per_parameter>, 0, 1e-3},
      parameters("reuse_parameters",
                 "parameters that are used again within so many others are kept, else gathered again; 0: always kept",
                 at<group, &Habits::reuse_parameters>),
  };
}

std::vector<FrameworkOption> sharding_traffic() {
  constexpr auto group = &Framework::sharding;
  using Habits = ShardingHabits;
  return {
      truth("overlaps_gathers", "else a block's gather starts after the block before, with its reduction",
            at<group, &Habits::overlaps_gathers>),
      truth("prefetch_forward", "the next block's gather is issued before a block's forward kernels; else after",
            at<group, &Habits::prefetch_forward>),
      truth("prefetch_backward", "... before its backward kernels; else after", at<group, &Habits::prefetch_backward>),
      truth("host_waits_for_gathers", "the rate limiter (two gathers in flight) holds back the host, not a stream",
            at<group, &Habits::host_waits_for_gathers>),
      truth("gather_waits_for_pass", "the first gather of a forward pass starts after all work before it",
            at<group, &Habits::gather_waits_for_pass>),
      truth("reduction_blocks", "a block's passes go on when its gradients are reduced",
            at<group, &Habits::reduction_blocks>),
      bytes(
          "gather_cast_bytes",
          "moved per parameter of a rank's fp32 shard in front of a gather in another precision: the cast, and a copy "
          "into the gathered buffer",
          at<group, &Habits::gather_cast_bytes>),
      bytes("gather_copy_bytes", "moved per parameter after a gather, into parameter tensors",
            at<group, &Habits::gather_copy_bytes>),
      bytes("reduce_copy_bytes", "... in front of a reduction, into the reduced buffer, with scaling",
            at<group, &Habits::reduce_copy_bytes>),
      bytes("reduce_cast_bytes", "... where that changes the precision", at<group, &Habits::reduce_cast_bytes>),
      bytes("quantizer_cast_bytes",
            "moved per value in front of quantizing a gather, and again after it, in trainings that are not in fp16",
            at<group, &Habits::quantizer_cast_bytes>),
      rate("max_gather_bytes_per_s",
           "by the count of buses, that the gather of one unit does not exceed between nodes, or racks with one "
           "scale-up "
           "network; 0: no such limit",
           at<group, &Habits::max_gather_bytes_per_s>),
      rate("max_reduce_bytes_per_s", "... its reduction", at<group, &Habits::max_reduce_bytes_per_s>),
  };
}

FrameworkOptionGroup sharding() {
  std::vector<FrameworkOption> options = sharding_of_state();
  for (const FrameworkOption& option : sharding_traffic()) options.push_back(option);
  return {"sharding", "How data-parallel ranks reduce gradients and share state (ZeRO).",
          source_of<&Framework::sharding>, std::move(options)};
}

FrameworkOptionGroup parallelism() {
  constexpr auto group = &Framework::parallelism;
  using Habits = ParallelismHabits;
  return {
      "parallelism",
      "Which ways of dividing a model it implements, in addition to replicas and what they share.",
      source_of<group>,
      {
          truth("tensor", "layers over tensor-parallel ranks", at<group, &Habits::tensor>),
          truth("pipeline", "the model over stages", at<group, &Habits::pipeline>),
          truth("context", "sequences over context-parallel ranks", at<group, &Habits::context>),
          truth("context_by_document",
                "each document of a batch over as many of the data and context ranks as its length asks "
                "(`strategy.context_tokens`)",
                at<group, &Habits::context_by_document>),
          truth("expert", "experts over expert-parallel ranks", at<group, &Habits::expert>),
          truth("replicates_heads",
                "where tensor ranks outnumber key/value heads, several compute the same one; else it refuses them",
                at<group, &Habits::replicates_heads>),
          truth("nanobatches",
                "a layer runs two halves of a microbatch at once: one computes while the other communicates",
                at<group, &Habits::nanobatches>),
          truth("data_last",
                "ranks may be numbered with the stages of a replica before the next replica (`strategy.rank_order`)",
                at<group, &Habits::data_last>),
          truth("weight_shards",
                "weights of tensor ranks over neighbouring replicas, which gather them for each pass "
                "(`strategy.weight_shards`, `strategy.expert_weight_shards`)",
                at<group, &Habits::weight_shards>),
          truth("expert_rank_capacity",
                "the experts of a rank may have room for a fixed number of rows, whose true number only the device "
                "knows (`strategy.expert_rank_capacity`)",
                at<group, &Habits::expert_rank_capacity>),
          truth("expert_stash",
                "kernels of experts in scaled blocks join products and activation, and mark the rows that they keep, "
                "which may wait in pages (`strategy.expert_stash`)",
                at<group, &Habits::expert_stash>),
      }};
}

FrameworkOptionGroup offload() {
  constexpr auto group = &Framework::offload;
  using Habits = OffloadHabits;
  return {
      "offload",
      "How part of the optimizer's state is kept on the host and updated there (arXiv 2101.06840). Bytes are per "
      "offloaded parameter.",
      source_of<group>,
      {
          stage("max_zero", "the highest stage of ZeRO that does, from 1 on; 0: none does",
                at<group, &Habits::max_zero>),
          {"shares_from_zero", "",
           "from this stage on a share of the state may be offloaded, below all of it or nothing",
           at<group, &Habits::shares_from_zero>, 1, 3},
          bytes("gradient_bytes", "to the host", at<group, &Habits::gradient_bytes>),
          bytes("parameter_bytes", "back", at<group, &Habits::parameter_bytes>),
          bytes("traffic_bytes",
                "through the host's memory: Adam reads the parameter, its gradient and two moments and writes all "
                "but the gradient, in fp32",
                at<group, &Habits::traffic_bytes>),
          bytes("beside_bytes", "held there in addition to the state: the gradient in fp32",
                at<group, &Habits::beside_bytes>),
          bytes("kept_bytes", "that stay on the device all the same: a master copy", at<group, &Habits::kept_bytes>),
          {"bandwidth_share", "", "of the host's memory bandwidth that the step reaches",
           at<group, &Habits::bandwidth_share>, 0, 1},
          truth("overlaps", "a tensor is updated while others are copied", at<group, &Habits::overlaps>),
          truth("copies_beside_passes", "gradients that are reduced during passes are copied there too",
                at<group, &Habits::copies_beside_passes>),
          truth(
              "parameters",
              "shards of parameters may lie there too (`strategy.offload_parameters`), and are copied to the device in "
              "front of each gather",
              at<group, &Habits::parameters>),
          truth("together", "parameters, gradients and the whole optimizer go there together, or none of them",
                at<group, &Habits::together>),
          truth("modules", "activations that single modules of layers keep may wait there (`strategy.offload_modules`)",
                at<group, &Habits::modules>),
          {"module_elements", "elements", "of a rank's tensor from which on it waits there",
           at<group, &Habits::module_elements>, 0, kMaxCount},
          truth("disks",
                "with ZeRO 3, the optimizer's state and shards of parameters may lie on disks of the host "
                "(`strategy.optimizer_on_disk`, `strategy.parameters_on_disk`)",
                at<group, &Habits::disks>),
          bytes("disk_read_bytes", "read from disks for a step: the parameter, two moments and the gradient, in fp32",
                at<group, &Habits::disk_read_bytes>),
          bytes("disk_write_bytes", "written to them: all four", at<group, &Habits::disk_write_bytes>),
          parameters("disk_piece_parameters",
                     "of a rank are read, updated and written at once, in buffers of the host's memory",
                     at<group, &Habits::disk_piece_parameters>),
          parameters("disk_kept_parameters", "of a rank's shards stay in the host's memory all the same",
                     at<group, &Habits::disk_kept_parameters>),
          {"disk_buffer_bytes", "bytes", "of the buffers of a rank that its shards of parameters are read into",
           at<group, &Habits::disk_buffer_bytes>, 0, kMaxPlatform},
      }};
}

std::vector<FrameworkOption> host_times() {
  constexpr auto group = &Framework::host;
  using Habits = HostHabits;
  return {
      seconds("forward_s", "to issue one kernel of a forward pass", at<group, &Habits::forward_s>),
      seconds("backward_s", "... of a backward pass (no interpreter between kernels)", at<group, &Habits::backward_s>),
      seconds("auxiliary_s", "... a cast inside the call of another kernel: default recalled, to be confirmed",
              at<group, &Habits::auxiliary_s>),
      seconds("graph_s", "... to replay one CUDA graph: default recalled, to be confirmed",
              at<group, &Habits::graph_s>),
      seconds("expert_s", "... one more expert of a grouped product: its weight, split and launch",
              at<group, &Habits::expert_s>),
      seconds("routing_s", "... the small kernels that choose experts and count their tokens, each way",
              at<group, &Habits::routing_s>),
      seconds("dispatch_s", "... what sends rows to experts and back, captured routing or not, each way",
              at<group, &Habits::dispatch_s>),
      seconds("pass_s", "... at the start of every pass of a stage: engine, batch, bookkeeping",
              at<group, &Habits::pass_s>),
      seconds("checkpoint_s",
              "... to recompute one layer, in addition to its kernels: random states, contexts, a graph of its own",
              at<group, &Habits::checkpoint_s>),
      seconds("ring_step_s",
              "... one more step of ring attention, in addition to its kernel: parts of keys and values, sums of "
              "partial results",
              at<group, &Habits::ring_step_s>),
      seconds("collective_s", "... one collective of a pass", at<group, &Habits::collective_s>),
      seconds("peer_s", "... and more for each other rank of its group: the slowest host of all",
              at<group, &Habits::peer_s>),
      seconds("blocking_s", "... where launches block, to wait for a kernel and return",
              at<group, &Habits::blocking_s>),
      seconds("unit_s", "... the gather or reduction of one block's parameters", at<group, &Habits::unit_s>),
      seconds("step_s",
              "from the last gradient to the first kernel of the next iteration, in addition to the optimizer's "
              "kernels: step, "
              "logging, next batch",
              at<group, &Habits::step_s>),
      seconds("step_tensor_s", "... and for each tensor of parameters of a stage", at<group, &Habits::step_tensor_s>),
      seconds("step_piece_s",
              "... and to put each rank's piece of each where it belongs, of those that are gathered after the step",
              at<group, &Habits::step_piece_s>),
      seconds("stall_s",
              "per rank and iteration, what all wait for one host that pauses on its own: Python's garbage collection "
              "where ranks do not align it",
              at<group, &Habits::stall_s>),
  };
}

FrameworkOptionGroup host() {
  constexpr auto group = &Framework::host;
  using Habits = HostHabits;
  std::vector<FrameworkOption> options = host_times();
  options.push_back(truth("waits_for_routing",
                          "dropless: it reads the counts of tokens before it issues what needs them",
                          at<group, &Habits::waits_for_routing>));
  options.push_back(truth("waits_for_clamp",
                          "it copies a constant to the device in front of a clamped activation, which waits for it",
                          at<group, &Habits::waits_for_clamp>));
  options.push_back(truth("waits_for_lengths",
                          "it reads the length of the longest sequence before it issues fused attention",
                          at<group, &Habits::waits_for_lengths>));
  options.push_back(truth("waits_for_pipeline",
                          "it synchronizes on each transfer between stages that is not overlapped",
                          at<group, &Habits::waits_for_pipeline>));
  options.push_back(
      truth("waits_for_passes", "it waits after each pass, to time it", at<group, &Habits::waits_for_passes>));
  return {"host", "How long the host takes to issue work, and what it waits for.", source_of<group>,
          std::move(options)};
}

FrameworkOptionGroup memory() {
  constexpr auto group = &Framework::memory;
  using Habits = MemoryHabits;
  return {
      "memory",
      "What gradients and the optimizer keep and move, per parameter, and what the software itself takes.",
      source_of<group>,
      {
          bytes("gradient_bytes", "buffer that gradients accumulate in and are reduced from, bf16",
                at<group, &Habits::gradient_bytes>),
          bytes("gradient_bytes_fp16", "... fp16", at<group, &Habits::gradient_bytes_fp16>),
          bytes("accumulation_bytes",
                "moved to add one microbatch's gradient where no product does, bf16; 0: read both numbers, write "
                "the sum",
                at<group, &Habits::accumulation_bytes>),
          bytes("optimizer_bytes", "fp32 master copy and two Adam moments, bf16", at<group, &Habits::optimizer_bytes>),
          bytes("optimizer_bytes_fp16", "... fp16", at<group, &Habits::optimizer_bytes_fp16>),
          bytes("optimizer_traffic_bytes", "moved through memory by one step, bf16: norm, clipping, Adam, copies",
                at<group, &Habits::optimizer_traffic_bytes>),
          bytes("optimizer_traffic_bytes_fp16", "... fp16", at<group, &Habits::optimizer_traffic_bytes_fp16>),
          truth("frees_gradients",
                "gradients are freed after each optimizer step, and come with the next backward pass; else their "
                "buffers stay",
                at<group, &Habits::frees_gradients>),
          bytes("reduced_copy_bytes",
                "held per parameter of one bucket (`sharding.bucket_parameters`) of gradients that replicas reduce "
                "after all passes, in addition to the gradients",
                at<group, &Habits::reduced_copy_bytes>),
          bytes("loss_copy_bytes",
                "held per logit while a loss of several kernels runs, in addition to the logits and the softmax that "
                "it keeps",
                at<group, &Habits::loss_copy_bytes>),
          bytes("loss_gradient_copy_bytes",
                "... while its backward pass runs, in addition to what was kept and the gradient of the logits",
                at<group, &Habits::loss_gradient_copy_bytes>),
          truth("loss_overwrites_logits", "a loss of one kernel writes the gradient of the logits over the logits",
                at<group, &Habits::loss_overwrites_logits>),
          bytes("chunk_sum_bytes",
                "held per element of what a chunked loss sums up in its backward pass, in addition to the sums: "
                "gradients of the head, unless they are fp32 anyway, and of its input",
                at<group, &Habits::chunk_sum_bytes>),
          {"platform_bytes", "bytes",
           "of a device, whatever the model: context, communicators, workspaces and fragmentation",
           at<group, &Habits::platform_bytes>, 0, kMaxPlatform},
          {"workspace_bytes", "bytes",
           "... of which the framework's own allocator holds so many, workspaces of libraries: they count where peaks "
           "of that allocator are compared",
           at<group, &Habits::workspace_bytes>, 0, kMaxPlatform},
          truth("low_rank_gradients",
                "optimizers may keep states for projections of gradients (`training.low_rank_gradients`)",
                at<group, &Habits::low_rank_gradients>),
          truth("caching_allocator",
                "PyTorch's caching allocator gives out memory, with its default settings: what it reserves is "
                "predicted by replaying what it is asked for",
                at<group, &Habits::caching_allocator>),
          truth("expandable_segments", "... whose segments grow (`expandable_segments:True`)",
                at<group, &Habits::expandable_segments>),
      }};
}

struct Text {
  const FrameworkOption& option;

  std::string operator()(const bool* value) const { return *value ? "true" : "false"; }
  std::string operator()(const int* value) const { return fmt::format("{}", *value); }
  std::string operator()(const NormKernels* value) const {
    return norm_kernel_names()[static_cast<std::size_t>(*value)];
  }
  std::string operator()(const std::vector<std::string>* value) const {
    return value->empty() ? "none" : fmt::format("{}", fmt::join(*value, ", "));
  }
  std::string operator()(const std::vector<FusedChain>* value) const {
    std::vector<std::string> chains;
    for (const FusedChain& chain : *value) chains.push_back(fmt::format("{}", fmt::join(chain.words, " ")));
    return chains.empty() ? "none" : fmt::format("{}", fmt::join(chains, ", "));
  }
  std::string operator()(const std::vector<PlainKernel>* value) const {
    std::vector<std::string> kernels;
    for (const PlainKernel& kernel : *value) {
      const std::string cycles = kernel.cycles > 0 ? fmt::format(" or {:.3g} cycles", kernel.cycles) : "";
      kernels.push_back(fmt::format("{:g} bytes{}{}", kernel.bytes, cycles, kernel.per_expert ? " per expert" : ""));
    }
    return kernels.empty() ? "none" : fmt::format("{}", fmt::join(kernels, ", "));
  }
  std::string operator()(const std::vector<AttentionCopies>* value) const {
    std::vector<std::string> copies;
    for (const AttentionCopies& entry : *value) {
      const std::string exchange = entry.context.empty() ? "" : fmt::format(" with {}", entry.context);
      const std::string least = entry.sequences > 1 ? fmt::format(", {} sequences or more", entry.sequences) : "";
      copies.push_back(fmt::format("{}{}{}: {:g} kernels forward, {:g} backward", fmt::join(entry.attention, " "),
                                   exchange, least, entry.forward.kernels, entry.backward.kernels));
    }
    return copies.empty() ? "none" : fmt::format("{}", fmt::join(copies, "; "));
  }
  std::string operator()(const double* value) const {
    if (option.unit == "s" && *value >= 1e-6) return format_seconds(*value);
    return fmt::format("{:.4g}{}{}", *value, option.unit.empty() ? "" : " ", option.unit);
  }
};

}  // namespace

const std::vector<FrameworkOptionGroup>& framework_options() {
  static const std::vector<FrameworkOptionGroup> table = {fusion(),        kernels(),     adapters(), recompute(),
                                                          communication(), parallelism(), sharding(), offload(),
                                                          host(),          memory()};
  return table;
}

std::string habit_text(const Framework& framework, const FrameworkOption& option) {
  Framework copy = framework;  // option.field() needs a non-const framework
  return std::visit(Text{option}, option.field(copy));
}

const std::vector<std::string>& fusion_words() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> all = {"bias", "add", "subtract", "multiply", "divide", "scale"};
    for (std::string& name : block::operator_names()) all.push_back(std::move(name));
    return all;
  }();
  return words;
}

const std::vector<std::string>& filled_words() {
  static const std::vector<std::string> words = {"linear", "normalization", "attention", "rotary", "copies"};
  return words;
}

const std::vector<std::string>& norm_kernel_names() {
  static const std::vector<std::string> names = {"separate", "plain", "fused"};
  return names;
}

}  // namespace mirfak
