#pragma once

#include "engine/sampled_program.hpp"
#include "program/job.hpp"
#include "simulation/order_statistics.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace mirfak {

inline constexpr int kMostSamples = 10'000'000;
// Throws Error(input), which names --samples, unless `samples` is from 2 to kMostSamples.
void check_samples(int samples);

struct SpreadOptions {
  int samples = 1000;                 // 2 to kMostSamples
  std::optional<std::uint64_t> seed;  // nullopt: the seed of the scenario's perturbations
  bool antithetic = true;             // every second sample mirrors the one before it
  int threads = 0;                    // 0: all cores
};

// One of the sampled iterations.
struct SampledIteration {
  double time_s = 0;
  // Time that each cause adds to the tasks along the critical path, in total.
  std::array<double, kCauses> excess_s{};
  std::optional<Cause> cause;            // the cause that adds most; nullopt: none adds any time
  std::optional<std::uint32_t> binding;  // rank with most added time on that path: an index into Program::ranks
  double waste_j = 0;                    // energy of GPUs while they wait longer than without factors
};

// Number of samples in which a rank binds.
struct BindingRank {
  std::uint32_t rank = 0;
  std::uint32_t stage = 0;
  int samples = 0;
};

// Many iterations of a job, each with its own draw of cluster.perturbations.
struct Spread {
  std::uint64_t seed = 0;
  bool antithetic = true;
  double without_s = 0;       // time with no factors at all
  bool passes_alone = false;  // exchanges in passes had shared ports for themselves (sampled_lowering())
  std::vector<SampledIteration> samples;
  SampleMean time;
  double independent_error_s = 0;         // error of the mean if as many samples were independent
  double deviation_s = 0;                 // standard deviation of samples
  std::vector<SampleQuantile> quantiles;  // 0.5, 0.95, 0.99
  std::array<int, kCauses> binds{};       // samples in which a cause adds most
  std::array<double, kCauses> mean_excess_s{};
  std::vector<BindingRank> ranks;  // by falling number of samples
  std::vector<int> stages;         // samples in which a rank of the stage binds
  double mean_waste_j = 0;
};

// Samples iterations. Every rank of the program is explicit, and the program is made once: a sample puts other
// durations into it and executes it, by the sweep if no links are shared. The result has the same bits for one seed on
// any number of threads. Error(infeasible) if ranks share GPUs, or if nothing is drawn.
Spread sample_iterations(const Job& job, const SpreadOptions& options);

}  // namespace mirfak
