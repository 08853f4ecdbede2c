#pragma once

#include "base/error_statistics.hpp"
#include "trace/trace_file.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Predicted and measured time of some tasks, or of some rank.
struct ComparedTime {
  std::string name;
  std::size_t tasks = 0;
  double predicted_s = 0;
  double measured_s = 0;

  double difference_s() const { return measured_s - predicted_s; }
};

// Division of a compute stream's time in an iteration: means over the ranks of a stage, or one rank.
struct ComparedRank {
  int number = 0;  // number of the stage or rank
  ComparedTime kernels;
  ComparedTime communication;  // time of all communication streams, whether or not the compute stream waits for them
  ComparedTime waiting;        // time in which the compute stream waits
};

// The chain of tasks that ends last; each task starts after the end of the task before it, by dependency or stream.
struct CriticalPath {
  std::size_t tasks = 0;
  std::vector<ComparedTime> kinds;  // the path's time by kind of task; only `predicted_s` or only `measured_s` is set
  double waiting_s = 0;             // time between tasks: 0 in a prediction
};

struct TraceComparison {
  std::string predicted;  // names of the files
  std::string measured;
  std::size_t tasks = 0;
  PredictedPair iteration;              // seconds
  std::optional<PredictedPair> energy;  // joules of the iteration, all GPUs; absent if not measured
  MeasuredRange range;                  // range of the measured iterations
  double communication_s = 0;           // median of the measured communication tasks
  ErrorStatistics kernels;              // task by task, over compute tasks that take time in both traces
  ErrorStatistics operators;            // over the sums by name of task, collectives included
  std::vector<ComparedTime> kinds;      // by kind of task
  std::vector<ComparedTime> names;      // by kind and name, the largest difference first
  std::vector<ComparedRank> stages;
  std::vector<ComparedRank> ranks;
  CriticalPath predicted_path;
  CriticalPath measured_path;
  std::vector<ComparedTime> causes;  // causes of the iteration's difference: both paths by kind, and waiting; they
                                     // add up to it
};

// Compares two traces of one program task by task; `measured` is a measured trace. Error(input) with the difference if
// the two traces are of different models, training, strategies or tasks.
TraceComparison compare_traces(const TraceFile& predicted, const TraceFile& measured);

}  // namespace mirfak
