#pragma once

#include "recording/kernel_classes.hpp"
#include "recording/recording.hpp"
#include "trace/trace_file.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// Seconds of one rank and iteration, on average over the recorded steps; absent: one side has no such time.
struct RecordedAgainst {
  std::string name;
  std::optional<double> predicted_s;
  std::optional<double> measured_s;
};

// Comparison of a prediction with a profiler's recording of one rank.
struct RecordingComparison {
  std::string predicted;  // names of the files
  std::string measured;
  std::uint32_t rank = 0;     // rank of the prediction
  bool rank_is_said = false;  // true: the recording names the rank; false: the prediction's first rank stands for it
  std::size_t steps = 0;      // number of recorded steps; 0: the whole recording counts as one iteration
  double shortest_s = 0;      // shortest of the recorded steps
  double longest_s = 0;
  RecordedAgainst iteration;
  std::vector<RecordedAgainst> totals;   // GPU computing, communication, and exposed communication
  std::vector<RecordedAgainst> classes;  // by class; operators without a class under their own names
  std::vector<RecordedAgainst> streams;
  // The time of the longest chain, in parts that add up to the iteration. For a recording the chain of one rank: at
  // every moment the GPU's computing, else its communication, else the host alone.
  std::vector<RecordedAgainst> path;
  bool has_operators = false;  // true: the prediction has kernels of its own (--detail operators)
};

// Compares the rank of `predicted` that the recording names (else the first rank) with the mean of the recorded steps.
// The recording has kernels, the prediction has operators: `classes` gives the class of both. An operator without a
// class has a row under its own name, with a predicted time only.
RecordingComparison compare_with_recording(const TraceFile& predicted, const Recording& recording,
                                           const KernelClasses& classes);

}  // namespace mirfak
