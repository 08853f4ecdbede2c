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
  std::optional<std::uint32_t> binding;  // rank with most added time on that path: an index into SampleSubject::ranks
  double waste_j = 0;                    // energy of GPUs while they wait longer than without factors
};

// Number of samples in which a rank binds.
struct BindingRank {
  std::uint32_t rank = 0;
  std::optional<std::uint32_t> stage;  // nullopt: the program has no stages
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
  std::vector<int> stages;         // samples in which a rank of the stage binds; empty: there are no stages
  double mean_waste_j = 0;
};

// A program that is executed with the factors of samples. References must outlive it.
struct SampleSubject {
  const Program& program;         // its durations have no factors
  const SampledProgram& sampled;  // of the same tasks
  // Ranks whose factors are drawn: those of `program` in their order, and others with which these act together.
  const std::vector<ProgramRank>& ranks;
  std::vector<double> waiting_w;  // by index into Program::ranks: draw of a GPU that waits
  bool has_stages = true;         // ProgramRank::stage means something
  bool thins_traffic = true;      // a task that factors lengthen takes less of the links that it shares
};

// Executes samples of a program. `options` has a seed. Error(infeasible) for a sample of more than 100 days.
Spread sample_program(const SampleSubject& subject, const SpreadOptions& options);

// Throws Error(infeasible) if nothing is drawn (`draws`), or ranks share GPUs.
void check_sampled(const Cluster& cluster, bool draws);

// Samples iterations. Every rank of the program is explicit, and the program is made once: a sample puts other
// durations into it and executes it, by the sweep if no links are shared. The result has the same bits for one seed on
// any number of threads. Error(infeasible) if ranks share GPUs, or if nothing is drawn.
Spread sample_iterations(const Job& job, const SpreadOptions& options);

}  // namespace mirfak
