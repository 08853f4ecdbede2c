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
  double without_stragglers_s = 0;  // every operation takes what its type takes without stragglers
  std::optional<double> what_if_s;
};

// How much of the slowdown lies with some operations.
struct Blame {
  OperationSet of;
  std::string name;
  std::vector<int> ranks;  // of a worker, the recorded ones
  double slowdown = 1;     // with only these as recorded: of the mean step without stragglers, how many times as long
  double without_s = 0;    // mean step with these idealised and all others as recorded
  double only_s = 0;       // mean step with only these as recorded
  double score = 1;        // of a worker: the smaller of the slowdowns of its data rank and its stage
};

// Of the slowdown, which share goes when some operations are idealised, and which appears when only they are not.
// Empty: there is no slowdown.
std::optional<double> removed_share(const Blame& blame, double replayed_s, double ideal_s);
std::optional<double> added_share(const Blame& blame, double replayed_s, double ideal_s);

// What the paper's what-if analysis says of a trace (J. Lin et al., OSDI'25).
struct StragglerAnalysis {
  std::vector<StepTimes> steps;
  double mean_measured_s = 0;
  double mean_replayed_s = 0;
  double mean_without_stragglers_s = 0;
  std::optional<double> mean_what_if_s;
  double slowdown = 1;         // replayed over without stragglers
  double launch_slowdown = 1;  // measured over replayed

  std::vector<Blame> categories;  // of operations, in the order of the table
  std::vector<Blame> data_ranks;
  std::vector<Blame> stages;
  std::vector<Blame> workers;       // data rank and stage, by descending score
  Blame last_stage;                 // M_S: a partition in which the last stage has too much
  Blame slowest_workers;            // M_W: the 3 % with the highest score, rounded up
  std::size_t counted_workers = 0;  // of these, how many
};

// `what`: a question besides; nullopt: none. Runs on all cores; the same bits on any number.
StragglerAnalysis analyse_stragglers(const Replay& replay, const std::optional<WhatIf>& what);

}  // namespace mirfak
