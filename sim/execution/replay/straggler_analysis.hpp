#pragma once

#include "replay/replay.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mirfak {

struct StepTimes {
  int step = 0;
  double measured_s = 0;
  double replayed_s = 0;            // without launch gaps
  double without_stragglers_s = 0;  // every operation takes the time that its type takes without stragglers
  std::optional<double> what_if_s;
};

// Part of the slowdown that some operations cause.
struct Blame {
  OperationSet of;
  std::string name;
  std::vector<int> ranks;  // recorded ranks of a worker
  double slowdown = 1;     // mean step with only these as recorded, over the mean step without stragglers
  double without_s = 0;    // mean step with these idealised and all others as recorded
  double only_s = 0;       // mean step with only these as recorded
  double score = 1;        // for a worker: the smaller of the slowdowns of its data rank and its stage
};

// Shares of the slowdown: removed_share() is the share that disappears when only these operations are idealised,
// added_share() the share that appears when only these are not. nullopt: there is no slowdown.
std::optional<double> removed_share(const Blame& blame, double replayed_s, double ideal_s);
std::optional<double> added_share(const Blame& blame, double replayed_s, double ideal_s);

// Result of the paper's what-if analysis of a trace (J. Lin et al., OSDI'25).
struct StragglerAnalysis {
  std::vector<StepTimes> steps;
  double mean_measured_s = 0;
  double mean_replayed_s = 0;
  double mean_without_stragglers_s = 0;
  std::optional<double> mean_what_if_s;
  double slowdown = 1;         // replayed time over time without stragglers
  double launch_slowdown = 1;  // measured time over replayed time

  std::vector<Blame> categories;  // categories of operations, in the order of the table
  std::vector<Blame> data_ranks;
  std::vector<Blame> stages;
  std::vector<Blame> workers;       // data rank and stage, by descending score
  Blame last_stage;                 // M_S: large if the last stage has too much work
  Blame slowest_workers;            // M_W: the 3 % with the highest score, rounded up
  std::size_t counted_workers = 0;  // number of workers in `slowest_workers`
};

// Analyses the stragglers of a trace. `what`: an additional question; nullopt: none. Runs on all cores; the result has
// the same bits on any number of cores.
StragglerAnalysis analyse_stragglers(const Replay& replay, const std::optional<WhatIf>& what);

}  // namespace mirfak
