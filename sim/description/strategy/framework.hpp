#pragma once

#include "graph/backward.hpp"
#include "graph/fusion.hpp"
#include "strategy/attention_copies.hpp"

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Behavior of a training framework under a strategy: kernels that it fuses, communication that it overlaps, speed of
// its host side, memory that it keeps. These habits of the software hold for every model and cluster. They are grouped
// by subject and read from files (framework_catalog.hpp).
//
// The meaning, unit and range of each habit are stated once, in framework_options.cpp; the reader of the files and the
// reference in hw_profiles/frameworks/README.md follow that table. The `source` of a group names the origin of the
// group's values; if it is empty, Framework::source applies.

// Operators that run as one fused kernel.
struct FusionHabits {
  std::vector<std::string> attention;  // names of kernels, the preferred one first
  bool rotary = false;
  bool cross_entropy = false;
  FusionRules rules;
  bool gradient_accumulation = false;
  bool bias_sums = false;
  NormKernels norms = NormKernels::separate;
  std::string source;

  // True if consecutive operators that compute exactly these words, in this order, run as one kernel.
  bool fuses(std::span<const std::string_view> words) const;
  bool fuses(std::initializer_list<std::string_view> words) const {
    return fuses(std::span(words.begin(), words.end()));
  }

  friend bool operator==(const FusionHabits&, const FusionHabits&) = default;
};

// Further work that kernels do or leave out.
struct KernelHabits {
  bool chained_gelu = false;
  bool chained_rms_norm = false;
  std::vector<PlainKernel> norm_input_cast;
  double logit_metric_bytes = 0;
  bool gathers_masked_tokens = false;
  bool pads_expert_rows = false;
  std::vector<PlainKernel> expert_bias;
  std::vector<PlainKernel> expert_bias_gradient;
  bool casts_weights = false;
  int vocabulary_multiple = 128;
  std::vector<AttentionCopies> attention_copies;
  std::vector<std::string> fills_results;
  std::vector<std::string> ordered_attention;
  bool chunked_loss = false;
  bool chunks_loss_by_width = false;
  int loss_chunk_rows = 0;
  int loss_chunk_classes = 0;
  bool recomputes_chunks = false;
  double chunk_gradient_bytes = 0;
  double chunk_weight_bytes = 0;
  std::string source;

  friend bool operator==(const KernelHabits&, const KernelHabits&) = default;
};

// Low-rank adapters of linear layers (training.lora).
struct AdapterHabits {
  bool wide = false;
  bool scales = false;
  bool narrow_bases = false;
  bool decomposed = false;
  std::string source;

  friend bool operator==(const AdapterHabits&, const AdapterHabits&) = default;
};

// Recomputation in backward passes, in addition to the recomputation that the strategy states.
struct RecomputeHabits {
  bool groups = false;
  bool stops_early = false;
  bool norms = false;
  bool loss_softmax = false;
  std::string source;

  friend bool operator==(const RecomputeHabits&, const RecomputeHabits&) = default;
};

// Exchange of activations and their gradients among tensor-parallel ranks and between pipeline stages.
struct CommunicationHabits {
  bool overlap_tensor_gradients = false;
  bool scatters_in_pieces = true;
  bool overlap_pipeline = false;
  bool scatter_gather_pipeline = false;
  bool copies_gathered = false;
  bool keeps_gathered = false;
  bool adds_before_reducing = false;
  bool gathers_logits = false;
  std::string source;

  friend bool operator==(const CommunicationHabits&, const CommunicationHabits&) = default;
};

// Reduction of gradients and sharding of state (ZeRO) among data-parallel ranks.
struct ShardingHabits {
  int max_zero = 3;
  int max_zero_with_pipeline = 3;
  int max_zero_with_overlap = 3;
  int groups_from_zero = 1;
  bool second_copies = false;
  double gather_scale_values = 0;
  double quantizer_cast_bytes = 0;
  bool quantized_reductions = false;
  bool registered_buffers = false;
  bool registered_apart = false;
  double bucket_parameters = 40e6;
  double bucket_parameters_per_rank = 0;
  bool master_is_parameter = false;
  bool stage2_gathers_parameters = false;
  bool root_unit = false;
  bool alone = false;
  bool overlaps_gathers = true;
  bool prefetch_forward = false;
  bool prefetch_backward = false;
  bool host_waits_for_gathers = false;
  bool gather_waits_for_pass = false;
  bool broadcast_parameters = false;
  double gather_cast_bytes = 0;
  double gather_copy_bytes = 0;
  double reduce_copy_bytes = 0;
  double reduce_cast_bytes = 0;
  bool all_reduce_gradients = false;
  bool reduces_fp32 = false;
  double max_gather_bytes_per_s = 0;
  double max_reduce_bytes_per_s = 0;
  bool reduction_blocks = false;
  double step_s_per_parameter = 0;
  double reuse_parameters = 0;
  std::string source;

  friend bool operator==(const ShardingHabits&, const ShardingHabits&) = default;
};

// Kinds of parallelism that the framework implements, in addition to data-parallel replicas and their sharding.
struct ParallelismHabits {
  bool tensor = true;
  bool pipeline = true;
  bool context = true;
  bool context_by_document = false;
  bool expert = true;
  bool replicates_heads = true;
  bool nanobatches = false;
  bool data_last = false;
  bool weight_shards = false;
  bool expert_rank_capacity = false;
  bool expert_stash = false;
  std::string source;

  friend bool operator==(const ParallelismHabits&, const ParallelismHabits&) = default;
};

// Part of the optimizer's state that is kept and updated on the host (arXiv 2101.06840).
struct OffloadHabits {
  int max_zero = 0;
  int shares_from_zero = 1;
  double gradient_bytes = 4;
  double parameter_bytes = 4;
  double traffic_bytes = 28;
  double beside_bytes = 4;
  double kept_bytes = 0;
  double bandwidth_share = 0;
  bool overlaps = false;
  bool copies_beside_passes = false;
  bool parameters = false;
  bool together = false;
  bool modules = false;
  double module_elements = 0;
  bool disks = false;
  double disk_read_bytes = 16;
  double disk_write_bytes = 16;
  double disk_piece_parameters = 1e9;
  double disk_kept_parameters = 0;
  double disk_buffer_bytes = 0;
  std::string source;

  friend bool operator==(const OffloadHabits&, const OffloadHabits&) = default;
};

// Time that the host takes to issue work, and events that the host waits for.
struct HostHabits {
  double forward_s = 0;
  double backward_s = 0;
  double auxiliary_s = 15e-6;
  double graph_s = 20e-6;
  double expert_s = 0;
  double routing_s = 0;
  double dispatch_s = 0;
  double pass_s = 0;
  double checkpoint_s = 0;
  double ring_step_s = 0;
  double collective_s = 0;
  double peer_s = 0;
  double blocking_s = 60e-6;
  double unit_s = 0;
  double step_s = 0;
  double step_tensor_s = 0;
  double step_piece_s = 0;
  double stall_s = 0;
  bool waits_for_routing = false;
  bool waits_for_clamp = false;
  bool waits_for_lengths = false;
  bool waits_for_pipeline = false;
  bool waits_for_passes = false;
  std::string source;

  friend bool operator==(const HostHabits&, const HostHabits&) = default;
};

// Bytes that gradients and the optimizer keep and move, and memory that the software itself takes.
struct MemoryHabits {
  double gradient_bytes = 4;
  double gradient_bytes_fp16 = 4;
  double accumulation_bytes = 0;
  double optimizer_bytes = 12;
  double optimizer_bytes_fp16 = 12;
  double optimizer_traffic_bytes = 34;
  double optimizer_traffic_bytes_fp16 = 34;
  bool frees_gradients = false;
  double reduced_copy_bytes = 0;
  double loss_copy_bytes = 0;
  double loss_gradient_copy_bytes = 0;
  bool loss_overwrites_logits = true;
  double chunk_sum_bytes = 0;
  bool low_rank_gradients = false;
  double platform_bytes = 0;
  double workspace_bytes = 0;
  bool caching_allocator = false;
  bool expandable_segments = false;
  std::string source;

  friend bool operator==(const MemoryHabits&, const MemoryHabits&) = default;
};

// Origin of one habit, if the source of its group does not state it. For a fitted value, the note also names the tables
// of runs that the value was fitted to, the held-out tables, and the prediction error on the held-out tables.
struct HabitNote {
  // Value that the other tables of runs choose when one of the tables in `chosen_on` is left out.
  struct LeftOut {
    std::string source;  // name of the table of runs that is left out
    double value = 0;    // true is 1, false is 0

    friend bool operator==(const LeftOut&, const LeftOut&) = default;
  };

  std::string habit;  // "host.forward_s"
  std::string value;  // formatted for readers, with its unit
  std::string source;
  std::vector<std::string> chosen_on;
  std::vector<std::string> judged_on;
  std::vector<LeftOut> without;
  // Mean, as a share of the measured time: on judged_on, or on chosen_on if judged_on is empty.
  std::optional<double> error;

  friend bool operator==(const HabitNote&, const HabitNote&) = default;
};

// Notes of a framework, at most one per habit. Copies share their notes until one copy changes them, because searches
// copy jobs often.
class HabitNotes {
 public:
  std::span<const HabitNote> all() const {
    return notes_ ? std::span<const HabitNote>(*notes_) : std::span<const HabitNote>();
  }
  auto begin() const { return all().begin(); }
  auto end() const { return all().end(); }

  void add(HabitNote note);
  void remove(const std::string& habit);

  friend bool operator==(const HabitNotes& a, const HabitNotes& b);

 private:
  std::vector<HabitNote>& own();  // notes that no other copy shares

  std::shared_ptr<std::vector<HabitNote>> notes_;
};

struct Framework {
  std::string name;
  std::string source;              // origin of the habits
  std::vector<std::string> likes;  // frameworks that it inherits from, the nearest first
  std::string program;             // list of its program's options (hw_profiles/launch/options/); "": there is none
  FusionHabits fusion;
  KernelHabits kernels;
  AdapterHabits adapters;
  RecomputeHabits recompute;
  CommunicationHabits communication;
  ParallelismHabits parallelism;
  ShardingHabits sharding;
  OffloadHabits offload;
  HostHabits host;
  MemoryHabits memory;
  HabitNotes notes;

  bool is_like(const std::string& other) const;  // true if it is `other` or inherits from `other`

  friend bool operator==(const Framework&, const Framework&) = default;
};

}  // namespace mirfak
