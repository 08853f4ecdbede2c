#pragma once

#include "base/error.hpp"
#include "training/run.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// So many iterations with fewer sequences than training.global_batch, at the start.
struct RampStep {
  std::int64_t iterations = 0;
  std::int64_t global_batch = 0;
  Location where;
};

// One kind of checkpoints.
struct CheckpointPlan {
  std::optional<double> interval_s;  // absent: the best one
  bool asynchronous = false;
  std::optional<double> write_s;  // absent: bytes over the bandwidth of the storage
  double stall_s = 0;             // asynchronous: for a copy that the rest is written from
  std::optional<double> read_s;   // absent: as write_s where that follows from bytes; else 0
  double bytes = 0;               // of the state; 0: as the job has it
  double storage_bandwidth = 0;   // bytes/s of all storage together; 0: not stated
  double node_bandwidth = 0;      // ... of one node towards it; 0: no limit
  bool sharded = true;            // all nodes write their parts; else one writes all
  int survives = 0;               // in memory: failures that take no more nodes
  Location where;
};

// What the scenario's section `operations` says: what happens to a training beside its iterations.
struct Operations {
  std::int64_t iterations = 0;  // of the whole training; 0: as many as training.tokens take, or gpu_hours
  double gpu_hours = 0;         // that iterations take, failures apart; 0: not said
  std::vector<RampStep> ramp;
  Failures failures;  // of the whole cluster
  double detection_s = 0;
  double restart_s = 0;
  double repair_s = 0;
  int spares = 0;
  bool shrinks = false;  // where nodes are missing, the job goes on with fewer replicas
  std::optional<CheckpointPlan> storage;
  std::optional<CheckpointPlan> memory;
  EvaluationPause evaluation;
  Maintenance maintenance;
  double nameplate_power_w = 0;  // of a GPU, for energy as model cards count it; 0: its power limit
  Location where;                // of the section
  Location failures_where;
};

}  // namespace mirfak
