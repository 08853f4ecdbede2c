#pragma once

#include "cluster/carbon.hpp"
#include "training/calendar.hpp"
#include "training/failures.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace mirfak {

// What the time of a training goes into. All parts together are its time from start to finish.
enum class TimePart {
  training,     // iterations whose results last
  rework,       // iterations, and saves, whose results a failure takes
  slowed,       // what lasting iterations take longer on fewer replicas
  saving,       // training waits for a state to be saved
  evaluation,   // ... for an evaluation
  detection,    // from a failure until it is noticed
  waiting,      // for nodes to come back
  restart,      // of the job
  reading,      // of the state that a restart begins with
  maintenance,  // planned
};
inline constexpr std::size_t kTimeParts = 10;
const std::vector<std::string>& time_part_names();  // in the order of the enumeration
using TimeParts = std::array<double, kTimeParts>;   // seconds
double total(const TimeParts& parts);

// Planned stops: after every so many seconds the state is saved and the machine is not to be had. 0: none.
struct Maintenance {
  double every_s = 0;
  double duration_s = 0;
};

// What is paid and drawn while a training lasts.
struct RunningCosts {
  double usd_per_node_s = 0;
  double idle_w = 0;    // of the machine while it does not train; spares, hosts and network are in this and in phases
  double around_w = 0;  // of that what is not GPUs': hosts and network, always
  double pue = 1;       // of the facility over the machine
  double cooling_w = 0;
  CarbonIntensity carbon;
};

// All that decides how a training goes.
struct TrainingCourse {
  WorkCalendar calendar;
  Failures failures = {};
  double detection_s = 0;
  double restart_s = 0;
  int nodes = 1;
  int spares = 0;
  // Where nodes are missing: 0: the job waits for them. Else it goes on with the replicas that are whole, and all of
  // the batch, and takes the others in as soon as their nodes are back.
  int nodes_per_replica = 0;
  Maintenance maintenance = {};
  RunningCosts costs = {};
};

// A stretch of a run, for drawings and traces.
struct RunSpan {
  double start_s = 0;
  double end_s = 0;
  TimePart part = TimePart::training;  // training: with the saves and evaluations in it
  int cause = -1;                      // of the failure that ended it, or that it follows from
  std::int64_t iteration = 0;          // finished, and not lost, at its end
};

struct CauseCount {
  std::int64_t count = 0;
  double lost_s = 0;  // work that is lost, detection, waiting, restart and reading after it
};

struct RunResult {
  TimeParts parts{};
  double finish_s = 0;  // the sum of the parts
  double cost_usd = 0;
  double energy_j = 0;           // of the machine
  double facility_energy_j = 0;  // of what it stands in too
  double co2_kg = 0;             // of that
  std::int64_t restarts = 0;
  std::vector<CauseCount> causes;  // of each of the course's
};

// One training, from event to event: what it takes grows with failures and planned stops, not with iterations or saves.
//
// Failures strike restarts too, which then begin anew; nodes in place fail at their rate whatever the job does, other
// causes not while it waits for nodes or is maintained. A state lasts that is saved: a failure takes the job back to
// the last one that outlives it. `spans`: nullptr: none are kept. Error(infeasible) where failures leave it no way to
// its end.
RunResult run_training(const TrainingCourse& course, RandomStream random, std::vector<RunSpan>* spans = nullptr);

}  // namespace mirfak
