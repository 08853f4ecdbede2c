#pragma once

#include "cluster/cluster.hpp"
#include "program/program.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace mirfak {

// Why a task takes longer than the cost models say.
enum class Cause : std::uint8_t { rank, node, port, iteration, jitter, tokens };
inline constexpr std::size_t kCauses = 6;
std::string_view name_of(Cause cause);

// One of many iterations. The mirrored one takes, wherever the other takes the value below which a share u of a
// distribution lies, that below which 1 - u lies: where one has a slow rank, the other has a fast one.
struct SampleNumber {
  std::uint64_t seed = 1;
  std::uint32_t number = 0;
  bool mirrored = false;
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
  std::vector<double> tokens;  // by replica and microbatch
};

// A program with explicit ranks, whose tasks take other times in every sample of a cluster's perturbations: the fixed
// factors of Perturbations and, of each distribution, a number that is drawn for (seed, sample, rank or node or task)
// alone, so that samples may be made in any order. A task takes
//   duration x sum over the kinds of its time of share x rank x node x port x iteration x jitter x tokens,
// rank, node and port those of the slowest in its group, where it has one; port of communication that leaves a node;
// tokens of what belongs to a microbatch, squared for attention, and not of gradients. In a group of several replicas
// the longest microbatch counts.
class SampledProgram {
 public:
  // The factors of `cluster` must not be in the durations yet.
  SampledProgram(const Program& program, const Cluster& cluster);

  void draw(const SampleNumber& sample, SampledFactors& out) const;
  // How much longer a task takes, 1: as without any factors.
  double factor(TaskId task, const SampledFactors& factors) const;
  // What each cause adds to that: shares in proportion to the logarithms of its factors, so that they sum to
  // factor() - 1; and whose rank or port it is.
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
  };
  Factors factors_of(TaskId task, const SampledFactors& factors) const;
  TimeFactors tokens_of(TaskId task, const Shares& shares, const SampledFactors& factors) const;
  double drawn(const std::optional<Distribution>& from, const SampleNumber& sample, std::uint32_t purpose,
               std::uint64_t entity) const;
  TimeFactors drawn(const DrawnFactors& from, const SampleNumber& sample, std::uint32_t purpose,
                    std::uint64_t entity) const;
  void draw_ranks(SampledFactors& out) const;
  void draw_groups(SampledFactors& out) const;
  void draw_tokens(SampledFactors& out) const;

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
};

}  // namespace mirfak
