#pragma once

#include "base/error.hpp"
#include "training/run.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// A number of iterations at the start with fewer sequences than training.global_batch.
struct RampStep {
  std::int64_t iterations = 0;
  std::int64_t global_batch = 0;
  Location where;
};

// A share of the iterations of the full batch, at the end of a training, in another precision.
struct LastIterations {
  double share = 0;
  std::string precision;  // a value of training.precision
  Location where;
};

// One kind of checkpoints.
struct CheckpointPlan {
  std::optional<double> interval_s;  // absent: the best interval
  bool asynchronous = false;
  std::optional<double> write_s;  // absent: bytes over the bandwidth of the storage
  double stall_s = 0;             // asynchronous: time of a copy from which the rest is written
  std::optional<double> read_s;   // absent: equal to write_s if that follows from bytes; else 0
  double bytes = 0;               // size of the state; 0: the state of the job
  double storage_bandwidth = 0;   // bytes/s of all storage together; 0: not stated
  double node_bandwidth = 0;      // bytes/s of one node to the storage; 0: no limit
  bool sharded = true;            // all nodes write their parts; else one node writes all
  int survives = 0;               // in memory: survives failures of at most this many nodes
  Location where;
};

// Contents of the scenario's section `operations`: events of a training other than its iterations.
struct Operations {
  std::int64_t iterations = 0;  // number in the whole training; 0: follows from training.tokens or gpu_hours
  double gpu_hours = 0;         // GPU hours of the iterations, without failures; 0: not stated
  std::vector<RampStep> ramp;
  std::optional<LastIterations> last;
  Failures failures;  // failures of the whole cluster
  double detection_s = 0;
  double restart_s = 0;
  double repair_s = 0;
  int spares = 0;
  int quorum = 1;                        // learners that have to train for any of them to go on
  double reconfiguration_s = 0;          // time that learners wait when one of them goes or comes back
  std::optional<Location> quorum_where;  // place of the first of these two keys
  bool shrinks = false;                  // if nodes are missing, the job goes on with fewer replicas
  std::optional<CheckpointPlan> storage;
  std::optional<CheckpointPlan> memory;
  EvaluationPause evaluation;
  Maintenance maintenance;
  double nameplate_power_w = 0;  // power of a GPU for energy as model cards count it; 0: its power limit
  Location where;                // place of the section
  Location failures_where;
};

}  // namespace mirfak
