#pragma once

#include "cluster/carbon.hpp"
#include "training/calendar.hpp"
#include "training/failures.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace mirfak {

// Parts of the time of a training. All parts together are its time from start to finish.
enum class TimePart {
  training,     // iterations whose results last
  rework,       // iterations, and saves, whose results a failure takes
  slowed,       // additional time of lasting iterations on fewer replicas
  saving,       // training waits for a state to be saved
  evaluation,   // training waits for an evaluation
  detection,    // from a failure until it is noticed
  waiting,      // waiting for nodes to come back
  restart,      // restart of the job
  reading,      // reading of the state that a restart begins with
  maintenance,  // planned stops
};
inline constexpr std::size_t kTimeParts = 10;
const std::vector<std::string>& time_part_names();  // in the order of the enumeration
using TimeParts = std::array<double, kTimeParts>;   // seconds
double total(const TimeParts& parts);

// Planned stops: after every `every_s` seconds the state is saved and the machine is unavailable. 0: none.
struct Maintenance {
  double every_s = 0;
  double duration_s = 0;
};

// Prices and power while a training lasts.
struct RunningCosts {
  double usd_per_node_s = 0;
  double idle_w = 0;  // machine while it does not train; spares, hosts and network are in this and in phases
  // Parts that are not of GPUs, hosts and network: of idle_w, and of the power of phases.
  double around_idle_w = 0;
  double around_working_w = 0;
  double pue = 1;  // facility's energy over the machine's
  double cooling_w = 0;
  CarbonIntensity carbon;
};

// Everything that decides the course of a training.
struct TrainingCourse {
  WorkCalendar calendar;
  Failures failures = {};
  double detection_s = 0;
  double restart_s = 0;
  int nodes = 1;
  int spares = 0;
  // If nodes are missing: 0: the job waits for them. Else the job goes on with the whole batch on the replicas that are
  // complete, and takes the other replicas in as soon as their nodes are back.
  int nodes_per_replica = 0;
  // Learners that train apart, each with nodes, spares and failures as stated here; see learners.hpp.
  int learners = 1;
  int quorum = 1;                // learners that have to train for any of them to go on
  double reconfiguration_s = 0;  // time that learners wait when one of them goes or comes back
  Maintenance maintenance = {};
  RunningCosts costs = {};
};

// A stretch of a run, for drawings and traces.
struct RunSpan {
  double start_s = 0;
  double end_s = 0;
  TimePart part = TimePart::training;  // training: with the saves and evaluations in it
  int cause = -1;                      // failure that ended it, or that it follows from
  std::int64_t iteration = 0;          // iterations finished, and not lost, at its end
  std::int64_t first_iteration = 0;    // the same at its start
  double slowdown = 1;                 // how many times as long iterations take, on the replicas that are complete
  double energy_j = 0;                 // energy of the machine
};

struct CauseCount {
  std::int64_t count = 0;
  double lost_s = 0;  // lost work, and detection, waiting, restart and reading after it
};

struct RunResult {
  TimeParts parts{};
  double finish_s = 0;  // the sum of the parts
  double cost_usd = 0;
  double energy_j = 0;           // energy of the machine
  double around_j = 0;           // part of it that is of hosts and network
  double facility_energy_j = 0;  // energy of the machine and the facility around it
  double co2_kg = 0;             // emissions for the facility's energy
  std::int64_t restarts = 0;
  std::vector<CauseCount> causes;  // one for each cause of the course
};

// Runs one training from event to event: the time of this function grows with failures and planned stops, not with
// iterations or saves.
//
// Failures also strike restarts, which then begin anew. Nodes in place also fail while the job waits for nodes; other
// failures then have nothing to end. No failure strikes during maintenance. A saved state lasts: a failure takes the
// job back to the last state that outlives it. Several learners are run by run_learners(). `spans`: nullptr: none are
// kept. Error(infeasible) if failures leave the job no way to its end.
RunResult run_training(const TrainingCourse& course, RandomStream random, std::vector<RunSpan>* spans = nullptr);

}  // namespace mirfak
