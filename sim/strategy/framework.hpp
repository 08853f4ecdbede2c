#pragma once

#include "graph/backward.hpp"
#include "graph/fusion.hpp"

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// What a training framework does with a strategy: which kernels it fuses, what it overlaps, how fast its host side
// issues work, what it keeps in memory. Habits of the software, the same for every model and cluster, grouped by
// subject and read from files (framework_catalog.hpp).
//
// What a habit means, its unit and its range stand once, in framework_options.cpp: the reader of the files and the
// reference in hw_profiles/frameworks/README.md follow that table. A group's `source` says what its values were read
// from or fitted to; where it is empty, Framework::source does.

// Which operators run as one kernel.
struct FusionHabits {
  std::vector<std::string> attention;  // kernels, the preferred one first
  bool rotary = false;
  bool cross_entropy = false;
  FusionRules rules;
  bool gradient_accumulation = false;
  bool bias_sums = false;
  NormKernels norms = NormKernels::separate;
  std::string source;

  // Whether operators in a row that compute these words, all of them there, are one kernel.
  bool fuses(std::span<const std::string_view> words) const;
  bool fuses(std::initializer_list<std::string_view> words) const {
    return fuses(std::span(words.begin(), words.end()));
  }
  // Whether a product does what this word names, where it follows one.
  bool ends_product(std::string_view word) const;

  friend bool operator==(const FusionHabits&, const FusionHabits&) = default;
};

// What else the kernels do or leave out.
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
  std::string source;

  friend bool operator==(const KernelHabits&, const KernelHabits&) = default;
};

// What backward passes compute again, beside what the strategy says.
struct RecomputeHabits {
  bool groups = false;
  bool stops_early = false;
  bool norms = false;
  bool loss_softmax = false;
  std::string source;

  friend bool operator==(const RecomputeHabits&, const RecomputeHabits&) = default;
};

// How tensor ranks and pipeline stages exchange activations and their gradients.
struct CommunicationHabits {
  bool overlap_tensor_gradients = false;
  bool scatters_in_pieces = true;
  bool overlap_pipeline = false;
  bool scatter_gather_pipeline = false;
  bool copies_gathered = false;
  bool keeps_gathered = false;
  bool adds_before_reducing = false;
  std::string source;

  friend bool operator==(const CommunicationHabits&, const CommunicationHabits&) = default;
};

// How data-parallel ranks reduce gradients and share state (ZeRO).
struct ShardingHabits {
  int max_zero = 3;
  int max_zero_with_pipeline = 3;
  int max_zero_with_overlap = 3;
  int groups_from_zero = 1;
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
  double gather_copy_bytes = 0;
  double reduce_copy_bytes = 0;
  double reduce_cast_bytes = 0;
  bool all_reduce_gradients = false;
  double max_gather_bytes_per_s = 0;
  double max_reduce_bytes_per_s = 0;
  bool reduction_blocks = false;
  double step_s_per_parameter = 0;
  double reuse_parameters = 0;
  std::string source;

  friend bool operator==(const ShardingHabits&, const ShardingHabits&) = default;
};

// Which ways of dividing a model it implements, beside replicas and what they share.
struct ParallelismHabits {
  bool tensor = true;
  bool pipeline = true;
  bool context = true;
  bool expert = true;
  bool replicates_heads = true;
  std::string source;

  friend bool operator==(const ParallelismHabits&, const ParallelismHabits&) = default;
};

// How part of the optimizer's state is kept on the host and updated there (arXiv 2101.06840).
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
  std::string source;

  friend bool operator==(const OffloadHabits&, const OffloadHabits&) = default;
};

// How long the host takes to issue work, and what it waits for.
struct HostHabits {
  double forward_s = 0;
  double backward_s = 0;
  double auxiliary_s = 15e-6;
  double graph_s = 20e-6;
  double expert_s = 0;
  double routing_s = 0;
  double dispatch_s = 0;
  double pass_s = 0;
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
  bool waits_for_pipeline = false;
  bool waits_for_passes = false;
  std::string source;

  friend bool operator==(const HostHabits&, const HostHabits&) = default;
};

// What gradients and the optimizer keep and move, and what the software itself takes.
struct MemoryHabits {
  double gradient_bytes = 4;
  double gradient_bytes_fp16 = 4;
  double accumulation_bytes = 0;
  double optimizer_bytes = 12;
  double optimizer_bytes_fp16 = 12;
  double optimizer_traffic_bytes = 34;
  double optimizer_traffic_bytes_fp16 = 34;
  bool frees_gradients = false;
  double loss_copy_bytes = 0;
  double loss_gradient_copy_bytes = 0;
  bool loss_overwrites_logits = true;
  double platform_bytes = 0;
  double workspace_bytes = 0;
  std::string source;

  friend bool operator==(const MemoryHabits&, const MemoryHabits&) = default;
};

// Where one habit is from, where that is not said by its group's source. Of a value that was fitted: to what, what was
// held out, and how far the prediction is off there.
struct HabitNote {
  // What the other sources choose, without one that it was chosen on.
  struct LeftOut {
    std::string source;  // the name of a table of runs
    double value = 0;    // of true and false 1 and 0

    friend bool operator==(const LeftOut&, const LeftOut&) = default;
  };

  std::string habit;  // "host.forward_s"
  std::string value;  // as people read it, with its unit
  std::string source;
  std::vector<std::string> chosen_on;
  std::vector<std::string> judged_on;
  std::vector<LeftOut> without;
  std::optional<double> error;  // mean, as a share of the measured time: on judged_on, or where empty on chosen_on

  friend bool operator==(const HabitNote&, const HabitNote&) = default;
};

// The notes of a framework, one of a habit at most. Copies share them until one changes: searches copy jobs often.
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
  std::vector<HabitNote>& own();  // shared with no other copy

  std::shared_ptr<std::vector<HabitNote>> notes_;
};

struct Framework {
  std::string name;
  std::string source;              // what the habits were read from
  std::vector<std::string> likes;  // the frameworks from which it inherits, the nearest first
  FusionHabits fusion;
  KernelHabits kernels;
  RecomputeHabits recompute;
  CommunicationHabits communication;
  ParallelismHabits parallelism;
  ShardingHabits sharding;
  OffloadHabits offload;
  HostHabits host;
  MemoryHabits memory;
  HabitNotes notes;

  bool is_like(const std::string& other) const;  // is it, or inherits from it

  friend bool operator==(const Framework&, const Framework&) = default;
};

}  // namespace mirfak
