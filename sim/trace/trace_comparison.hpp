#pragma once

#include "base/error_statistics.hpp"
#include "trace/trace_file.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Time that some tasks take, or some rank spends, predicted and measured.
struct ComparedTime {
  std::string name;
  std::size_t tasks = 0;
  double predicted_s = 0;
  double measured_s = 0;

  double difference_s() const { return measured_s - predicted_s; }
};

// Where a compute stream spends an iteration; means over the ranks of a stage, or one rank.
struct ComparedRank {
  int number = 0;  // of the stage or rank
  ComparedTime kernels;
  ComparedTime communication;  // of all streams that communicate, whether compute waits or not
  ComparedTime waiting;        // the compute stream's
};

// The chain of tasks that ends last, each starting when the one before it, by dependency or stream, has ended.
struct CriticalPath {
  std::size_t tasks = 0;
  std::vector<ComparedTime> kinds;  // time of the path by kind of task; `predicted_s` or `measured_s` alone
  double waiting_s = 0;             // between tasks: none in a prediction
};

struct TraceComparison {
  std::string predicted;  // names of the files
  std::string measured;
  std::size_t tasks = 0;
  PredictedPair iteration;              // seconds
  std::optional<PredictedPair> energy;  // joules of the iteration, all GPUs; absent where it was not measured
  MeasuredRange range;                  // of the measured iterations
  double communication_s = 0;           // median of the measured tasks that communicate
  ErrorStatistics kernels;              // task by task, of compute tasks that take time in both
  ErrorStatistics operators;            // ... of the sums by name of task, collectives included
  std::vector<ComparedTime> kinds;      // by kind of task
  std::vector<ComparedTime> names;      // by kind and name, by how much they differ
  std::vector<ComparedRank> stages;
  std::vector<ComparedRank> ranks;
  CriticalPath predicted_path;
  CriticalPath measured_path;
  std::vector<ComparedTime> causes;  // of the difference of the iteration: both paths by kind, and waiting; they
                                     // add up to it
};

// Compares two traces of one program task by task; `measured` was measured. Error(input) that says what differs where
// the two are of other models, training, strategies or tasks.
TraceComparison compare_traces(const TraceFile& predicted, const TraceFile& measured);

}  // namespace mirfak
