#pragma once

#include "recording/kernel_classes.hpp"
#include "recording/recording.hpp"
#include "trace/trace_file.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// Seconds of one rank and iteration, on average over the recorded steps; absent: that side does not know the thing.
struct RecordedAgainst {
  std::string name;
  std::optional<double> predicted_s;
  std::optional<double> measured_s;
};

// A prediction beside what a profiler recorded of one rank.
struct RecordingComparison {
  std::string predicted;  // names of the files
  std::string measured;
  std::uint32_t rank = 0;     // of the prediction
  bool rank_is_said = false;  // by the recording; else the prediction's first rank stands for it
  std::size_t steps = 0;      // recorded; 0: the whole recording stands for one iteration
  double shortest_s = 0;      // of the recorded steps
  double longest_s = 0;
  RecordedAgainst iteration;
  std::vector<RecordedAgainst> totals;   // GPU computing, communication, and of it exposed
  std::vector<RecordedAgainst> classes;  // by class; operators of none under their names
  std::vector<RecordedAgainst> streams;
  // The time of the longest chain, in parts that add up to the iteration. Of a recording the chain of one rank: at
  // every moment the GPU's computing, else its communication, else the host alone.
  std::vector<RecordedAgainst> path;
  bool has_operators = false;  // whether the prediction has kernels of its own (--detail operators)
};

// The rank of `predicted` that the recording names (or that stands for it, else the first) against the mean of its
// steps. The recording knows kernels, the prediction operators: `classes` says of which class those are. One of none
// stands under its own name, with what is predicted alone.
RecordingComparison compare_with_recording(const TraceFile& predicted, const Recording& recording,
                                           const KernelClasses& classes);

}  // namespace mirfak
