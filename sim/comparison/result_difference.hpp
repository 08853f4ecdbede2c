#pragma once

#include "comparison/kernel_seconds.hpp"
#include "comparison/key_difference.hpp"
#include "simulation/iteration.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// One of the two that are compared.
struct ComparedRun {
  std::string name;  // "llama2-70b-h100.yaml", with what it is overridden by
  const Scenario* scenario = nullptr;
  const Simulation* simulation = nullptr;
};

// A figure of both; absent: not known, or one of them does not have it.
struct ComparedFigure {
  std::string key;    // as in JSON, unit included: "iteration_time_s", "gemm_s", "activations_bytes"
  std::string title;  // for people
  std::optional<double> a;
  std::optional<double> b;

  // Of what adds up, something that is not there counts nothing.
  double difference() const { return b.value_or(0) - a.value_or(0); }
};

// Where the time of one GPU of a stage goes, on average over the ranks of its replicas. The four add up to the
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

// The same kernels of both, or kernels that one has.
struct ComparedKernel {
  TaskKind kind{};
  std::string name;
  std::optional<KernelSeconds> a;
  std::optional<KernelSeconds> b;

  double difference() const { return (b ? b->seconds : 0) - (a ? a->seconds : 0); }
};

// What measurements would say of which of the two takes less time.
enum class RangeVerdict {
  equal,      // to the picosecond
  unknown,    // nothing is known of the ranges
  overlap,    // the ranges of both overlap
  separated,  // they do not
};

// Where the seconds of two scenarios differ, B against A.
struct ResultDifference {
  RangeVerdict verdict{};
  std::vector<KeyDifference> keys;
  std::vector<ComparedFigure> figures;     // of the iteration (stored_values), those of both
  std::vector<ComparedFigure> activities;  // add up to the iteration time on both sides
  std::vector<ComparedStage> stages;
  std::vector<ComparedKernel> kernels;        // with the optimizer; the largest difference first
  std::vector<ComparedKernel> communication;  // collectives and transfers, hidden ones too; the same
  std::vector<ComparedFigure> memory;         // of the fullest GPU of each; parts add up to its peak
  std::vector<std::string> notes;             // what is left out, and why
};

ResultDifference result_difference(const ComparedRun& a, const ComparedRun& b);

}  // namespace mirfak
