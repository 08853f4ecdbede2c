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

// Why a task takes longer than the cost models say: what slows it, and then what gives it more to do.
enum class Cause : std::uint8_t { rank, node, port, iteration, jitter, tokens, experts };
inline constexpr std::size_t kCauses = 7;
std::string_view name_of(Cause cause);

// One of many iterations. The mirrored one takes, wherever the other takes the value below which a share u of a
// distribution lies, that below which 1 - u lies: where one has a slow rank, the other has a fast one.
struct SampleNumber {
  std::uint64_t seed = 1;
  std::uint32_t number = 0;
  bool mirrored = false;
  // Of several that the same machines run one after the other: factors of ranks, nodes and ports are those of the
  // sample, all others are drawn anew.
  std::uint32_t iteration = 0;
};

// What unevenly popular experts do to a program. Of its passes with mixtures of experts, each draws for every layer how
// many rows the rank with the fullest experts has, over the mean rank: of `loads` of the stage, ascending, each as
// likely. Its duration is that of the program where all ranks have as many and that of `fullest`, the same tasks in the
// same order where the fullest has `load`, and by the mean over layers in proportion between these, or beyond.
struct SampledExperts {
  struct Stage {
    std::vector<double> loads;  // empty: no ranks divide experts
    double load = 1;
    int replicas = 1;         // in a row that exchange rows with each other
    int groups = 1;           // of ranks that do, among the ranks of these replicas; the fullest of all decides
    std::vector<int> layers;  // with experts, of each chunk
  };
  std::vector<Stage> stages;
  std::vector<Picoseconds> fullest;  // by task
};

// The factors of one sample.
struct SampledFactors {
  // Of a rank, or of the ranks of a group that act together.
  struct Together {
    TimeFactors rank;
    TimeFactors node;
    double port = 1;
    std::array<std::uint32_t, kTimeFactors> slowest{};  // whose factors these are, for each kind of time
  };
  SampleNumber sample;
  TimeFactors iteration;  // of all ranks
  std::vector<Together> of_rank;
  std::vector<Together> of_group;
  std::vector<double> tokens;         // by replica and microbatch
  std::vector<double> loads;          // of experts, by place: see SampledProgram::expert_place()
  std::vector<PassTaskTimes> passes;  // by place: SampledProgram::place_of()
};

// A program with explicit ranks, whose tasks take other times in every sample of a cluster's perturbations: the fixed
// factors of Perturbations and, of each distribution, a number that is drawn for (seed, sample, rank or node or task)
// alone, so that samples may be made in any order. A task takes
//   duration x sum over the kinds of its time of share x rank x node x port x iteration x jitter x tokens
//   x experts,
// rank, node and port those of the slowest in its group, where it has one; port of communication that leaves a node;
// tokens of what belongs to a microbatch, squared for attention, and not of gradients. In a group of several replicas
// the longest microbatch counts; experts as SampledExperts says. A pass as one task takes what its kernels and
// collectives make of rank, node, port and iteration (FoldedPassTimes), and of that the rest; two passes beside each
// other are stretched as a whole.
class SampledProgram {
 public:
  // The factors of `cluster` must not be in the durations yet.
  SampledProgram(const Program& program, const Cluster& cluster, SampledExperts experts = {},
                 FoldedPassTimes passes = {});

  void draw(const SampleNumber& sample, SampledFactors& out) const;
  // What a task takes.
  Picoseconds lasting(TaskId task, const SampledFactors& factors) const;
  // How many times as long what slows it makes it: by so much less it takes of links at a time. With more to do it
  // takes as much for longer.
  double slower(TaskId task, const SampledFactors& factors) const;
  // What each cause adds to the duration, over that: shares in proportion to the logarithms of its factors, which sum
  // to all that is added; and whose rank or port it is.
  struct Excess {
    std::array<double, kCauses> of{};
    std::array<std::uint32_t, kCauses> rank{};
  };
  Excess excess(TaskId task, const SampledFactors& factors) const;

 private:
  // How the time of a class divides.
  struct Shares {
    TimeFactors of{0, 0, 0};
    double attention = 0;  // of it, a part of compute
    double gradients = 0;  // of it, a part of communication
    double rest = 0;
  };
  struct Factors {
    std::array<TimeFactors, kCauses> of;
    std::array<std::uint32_t, kTimeFactors> slowest{};

    TimeFactors& at(Cause cause) { return of[static_cast<std::size_t>(cause)]; }
  };
  // Causes [first, last).
  struct Causes {
    std::size_t first = 0;
    std::size_t last = kCauses;
  };
  // A task of a pass that is one task of the device.
  struct PassPart {
    std::size_t pass = kNoPass;  // among passes_.all()
    PassTask task{};
  };
  static constexpr std::size_t kNoPass = static_cast<std::size_t>(-1);
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

  const Program& program_;
  const Perturbations& perturbations_;
  std::vector<Shares> shares_;                        // by class
  std::vector<TaskId> together_;                      // by task: acting_together()
  std::vector<int> node_of_rank_;                     // by index into Program::ranks
  std::vector<RankFactors> fixed_;                    // ... too
  std::vector<bool> leaves_node_;                     // by group
  std::vector<std::vector<std::uint32_t>> replicas_;  // by group: of its ranks, each once
  std::size_t microbatches_ = 0;                      // one more than the last
  std::size_t replica_count_ = 0;
  SampledExperts experts_;
  std::size_t chunks_ = 0;  // the most of a stage that has experts
  FoldedPassTimes passes_;
  std::vector<PassPart> pass_of_class_;
  std::vector<std::size_t> first_place_;    // of each pass
  std::vector<std::size_t> place_in_plan_;  // of each pass, among those of its plan
  std::vector<std::vector<std::uint32_t>> ranks_of_place_;
  std::vector<double> by_load_;  // by task: how much longer it takes for each 1 that its load is above 1
};

}  // namespace mirfak
