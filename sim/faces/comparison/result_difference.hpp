#pragma once

#include "comparison/kernel_seconds.hpp"
#include "comparison/key_difference.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// One of the two runs that are compared.
struct ComparedRun {
  std::string name;  // "llama2-70b-h100.yaml", with its overrides
  const Scenario* scenario = nullptr;
  const Simulation* simulation = nullptr;
};

// A figure of both runs. `a` or `b` is absent if the figure is not known or the run does not have it.
struct ComparedFigure {
  std::string key;    // key in JSON, unit included: "iteration_time_s", "gemm_s", "activations_bytes"
  std::string title;  // for people
  std::optional<double> a;
  std::optional<double> b;

  // Returns b - a. An absent figure counts as 0, which is right for parts of a sum.
  double difference() const { return b.value_or(0) - a.value_or(0); }
};

// Seconds of one GPU of a stage by use, on average over the ranks of the stage's replicas. The four parts add up to the
// iteration.
struct StageSeconds {
  double compute = 0;
  double communication = 0;  // exposed
  double host = 0;
  double bubble = 0;
};
struct ComparedStage {
  int stage = 0;
  std::optional<StageSeconds> a;
  std::optional<StageSeconds> b;
};

// Kernels of one name in both runs, or in only one of them.
struct ComparedKernel {
  TaskKind kind{};
  std::string name;
  std::optional<KernelSeconds> a;
  std::optional<KernelSeconds> b;

  double difference() const { return (b ? b->seconds : 0) - (a ? a->seconds : 0); }
};

// Verdict of the ranges: can measurements tell which run takes less time?
enum class RangeVerdict {
  equal,      // times are equal to the picosecond
  unknown,    // the range of a run is not known
  overlap,    // the ranges of both overlap
  separated,  // the ranges of both do not overlap
};

// Differences between the results of two scenarios, B against A.
struct ResultDifference {
  RangeVerdict verdict{};
  std::vector<KeyDifference> keys;
  std::vector<ComparedFigure> figures;     // figures of the iteration (stored_values) of both
  std::vector<ComparedFigure> activities;  // add up to the iteration time on both sides
  std::vector<ComparedStage> stages;
  std::vector<ComparedKernel> kernels;        // with the optimizer; largest difference first
  std::vector<ComparedKernel> communication;  // collectives and transfers, hidden ones too; largest difference first
  std::vector<ComparedFigure> memory;         // parts of the peak of each run's fullest GPU, which add up to the peak
  std::vector<std::string> notes;             // parts that are left out and why; notes of the scenarios
};

ResultDifference result_difference(const ComparedRun& a, const ComparedRun& b);

}  // namespace mirfak
