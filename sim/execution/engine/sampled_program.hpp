#pragma once

#include "cluster/cluster.hpp"
#include "program/folded_passes.hpp"
#include "program/program.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace mirfak {

// Cause for which a task takes longer than the cost models predict. The causes up to jitter slow the task; tokens,
// experts and images give it more to do.
enum class Cause : std::uint8_t { rank, node, port, iteration, jitter, tokens, experts, images };
inline constexpr std::size_t kCauses = 8;
std::string_view name_of(Cause cause);

// Number of one of many iterations. Wherever the original takes the value below which a share u of a distribution lies,
// the mirrored iteration takes the value below which 1 - u lies: where the original has a slow rank, the mirrored one
// has a fast rank.
struct SampleNumber {
  std::uint64_t seed = 1;
  std::uint32_t number = 0;
  bool mirrored = false;
  // Index among several iterations that the same machines run one after the other: factors of ranks, nodes and ports
  // are those of the sample, all other factors are drawn anew.
  std::uint32_t iteration = 0;
};

// Effect of unevenly popular experts on a program. Each pass with mixtures of experts draws, for every layer, the ratio
// of the rows of the rank with the fullest experts to the rows of the mean rank, from `loads` of the stage, all equally
// likely. The duration of a pass is a linear function of the mean ratio over layers: at ratio 1 it is that of the
// program, where all ranks have equally many rows; at ratio `load` it is that of `fullest`, which has the same tasks in
// the same order; other ratios are interpolated or extrapolated.
struct SampledExperts {
  struct Stage {
    std::vector<double> loads;  // ascending; empty: no ranks divide experts
    double load = 1;
    int replicas = 1;  // neighbouring replicas that exchange rows with each other
    int groups = 1;  // groups of ranks that exchange rows, among the ranks of these replicas; the fullest group decides
    std::vector<int> layers;  // number of layers with experts, of each chunk
  };
  std::vector<Stage> stages;
  std::vector<Picoseconds> fullest;  // durations by task
};

// Effect of numbers of images on a program: every sequence of a microbatch draws its own. The duration of a task is a
// linear function of the microbatch's images over their mean: at ratio 1 it is that of the program, at ratio 2 it is
// `twice`, which belongs to the same tasks in the same order.
struct SampledImages {
  struct Count {
    double up_to = 1;   // share of the sequences that have this many images, or that counts before it have
    double images = 0;  // over the mean
  };
  std::vector<Count> counts;       // ascending; empty: numbers of images are not drawn
  std::size_t sequences = 1;       // of a microbatch, on a replica of the stage with most replicas
  std::vector<Picoseconds> twice;  // durations by task
};

// Factors of one sample.
struct SampledFactors {
  // Factors of a rank, or of the ranks of a group that act together.
  struct Together {
    TimeFactors rank;
    TimeFactors node;
    double port = 1;
    std::array<std::uint32_t, kTimeFactors> slowest{};  // rank whose factors these are, for each kind of time
  };
  SampleNumber sample;
  TimeFactors iteration;  // the same for all ranks
  std::vector<Together> of_rank;
  std::vector<Together> of_group;
  std::vector<double> tokens;         // by replica and microbatch
  std::vector<double> loads;          // loads of experts, by place: see SampledProgram::expert_place()
  std::vector<double> images;         // over their mean, by replica and microbatch
  std::vector<PassTaskTimes> passes;  // by place: SampledProgram::place_of()
};

// A program with explicit ranks, whose tasks take other times in every sample of a cluster's perturbations. The times
// follow from the fixed factors of Perturbations and, for each distribution, from a number that is drawn for (seed,
// sample, rank or node or task) alone, so that samples may be made in any order. A task takes
//   duration x sum over the kinds of its time of share x rank x node x port x iteration x jitter x tokens
//   x experts x images.
// The factors rank, node and port are those of the slowest rank in the task's group, if the task has a group. The
// factor port applies to communication that leaves a node. The factor tokens applies to tasks that belong to a
// microbatch, squared for attention, and not to gradients; in a group of several replicas the longest microbatch
// counts. The factors experts and images are described at SampledExperts and SampledImages. A pass as one task takes
// the time that FoldedPassTimes computes from its kernels and collectives for rank, node, port and iteration, times the
// other factors; two passes that overlap each other are stretched as a whole.
class SampledProgram {
 public:
  // The durations of `program` must not contain the factors of `cluster` yet.
  SampledProgram(const Program& program, const Cluster& cluster, SampledExperts experts = {},
                 FoldedPassTimes passes = {}, SampledImages images = {});

  void draw(const SampleNumber& sample, SampledFactors& out) const;
  // Returns the duration of a task with these factors.
  Picoseconds lasting(TaskId task, const SampledFactors& factors) const;
  // Returns the factor by which causes that slow a task lengthen it; the bandwidth that the task takes of links is
  // divided by this factor. A task with more to do takes the same bandwidth for longer.
  double slower(TaskId task, const SampledFactors& factors) const;
  // Time that each cause adds to a task, relative to the task's duration. The shares of the causes follow from the
  // logarithms of their factors, and sum to all that is added. `rank` names the rank whose factor or port it is.
  struct Excess {
    std::array<double, kCauses> of{};
    std::array<std::uint32_t, kCauses> rank{};
  };
  Excess excess(TaskId task, const SampledFactors& factors) const;

 private:
  // Shares of the kinds of time in the time of a class.
  struct Shares {
    TimeFactors of{0, 0, 0};
    double attention = 0;  // share of attention, a part of compute
    double gradients = 0;  // share of gradients, a part of communication
    double rest = 0;
  };
  struct Factors {
    std::array<TimeFactors, kCauses> of;
    std::array<std::uint32_t, kTimeFactors> slowest{};

    TimeFactors& at(Cause cause) { return of[static_cast<std::size_t>(cause)]; }
  };
  // A range of causes, [first, last).
  struct Causes {
    std::size_t first = 0;
    std::size_t last = kCauses;
  };
  // A task of a pass that is one task of the device: the pass, and the place of the task in it.
  struct PassPart {
    std::size_t pass = kNoPass;  // index into passes_.all()
    PassTask task{};
  };
  static constexpr std::size_t kNoPass = static_cast<std::size_t>(-1);
  // Replicas of the stage with most replicas whose sequences a replica of another stage has, [first, last).
  struct Replicas {
    std::size_t first = 0;
    std::size_t last = 0;
    friend auto operator<=>(const Replicas&, const Replicas&) = default;
  };
  Factors factors_of(TaskId task, const SampledFactors& factors) const;
  static double longer(const Shares& shares, const Factors& by, const Causes& causes);
  std::optional<Picoseconds> folded(TaskId task, const SampledFactors& factors) const;
  double longer(TaskId task, const Factors& by, const SampledFactors& factors, std::size_t last) const;
  void place_passes();
  std::size_t place_of(std::size_t pass, std::uint32_t rank) const;
  ActivityFactors in_passes(std::uint32_t rank, const SampledFactors& factors) const;
  void draw_passes(SampledFactors& out) const;
  TimeFactors tokens_of(TaskId task, const Shares& shares, const SampledFactors& factors) const;
  double drawn(const std::optional<Distribution>& from, const SampleNumber& sample, std::uint32_t purpose,
               std::uint64_t entity) const;
  TimeFactors drawn(const DrawnFactors& from, const SampleNumber& sample, std::uint32_t purpose,
                    std::uint64_t entity) const;
  void draw_ranks(SampledFactors& out) const;
  void draw_groups(SampledFactors& out) const;
  void draw_tokens(SampledFactors& out) const;
  void place_experts();
  std::size_t expert_place(std::size_t stage, std::size_t chunk, std::size_t group, std::size_t microbatch) const;
  void draw_experts(SampledFactors& out) const;
  static double drawn_load(const SampledExperts::Stage& of, const SampleNumber& sample, std::uint64_t entity);
  TimeFactors experts_of(TaskId task, const Shares& shares, const SampledFactors& factors) const;
  void place_images();
  void draw_images(SampledFactors& out) const;
  double images_of(const Replicas& replicas, std::size_t microbatch, const SampledFactors& factors) const;
  TimeFactors images_of(TaskId task, const Shares& shares, const SampledFactors& factors) const;

  const Program& program_;
  const Perturbations& perturbations_;
  std::vector<Shares> shares_;                        // by class
  std::vector<TaskId> together_;                      // by task: acting_together()
  std::vector<int> node_of_rank_;                     // by index into Program::ranks
  std::vector<RankFactors> fixed_;                    // fixed factors, by index into Program::ranks
  std::vector<bool> leaves_node_;                     // by group
  std::vector<std::vector<std::uint32_t>> replicas_;  // by group: replicas of its ranks, each once
  std::size_t microbatches_ = 0;                      // one more than the last microbatch
  std::size_t replica_count_ = 0;
  SampledExperts experts_;
  std::size_t chunks_ = 0;  // largest number of chunks of a stage that has experts
  FoldedPassTimes passes_;
  std::vector<PassPart> pass_of_class_;
  std::vector<std::size_t> first_place_;    // first place of each pass
  std::vector<std::size_t> place_in_plan_;  // index of each pass among those of its plan
  std::vector<std::vector<std::uint32_t>> ranks_of_place_;
  // Passes of every sample, if none of the factors that passes are folded with is drawn; else empty.
  std::vector<PassTaskTimes> equal_passes_;
  std::vector<double> by_load_;  // by task: relative increase of its duration for each 1 that its load is above 1
  SampledImages images_;
  std::vector<double> by_images_;                       // by task: the same for each 1 that its images are above 1
  std::vector<Replicas> images_of_rank_;                // by index into Program::ranks
  std::vector<std::vector<Replicas>> images_of_group_;  // by group: those of its ranks, each once
};

}  // namespace mirfak
