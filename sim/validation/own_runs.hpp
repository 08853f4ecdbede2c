#pragma once

#include "calibration/factor_fit.hpp"
#include "cluster/hardware.hpp"
#include "validation/validate_runs.hpp"

#include <span>
#include <string>
#include <vector>

namespace mirfak {

// One of a user's own runs, and what each state of knowledge predicts of it.
struct OwnRun {
  Location where;
  double measured_s = 0;
  double predicted_s = 0;  // by the profiles
  double left_out_s = 0;   // corrected by the other runs
  double corrected_s = 0;  // corrected by all
};

// What the time factors of a machine under a framework are, as its own runs tell.
struct OwnRunsFit {
  std::string like;  // the node type, as its scenarios name it
  std::string title;
  Correction correction;
  std::vector<OwnRun> runs;

  double error_before() const;    // mean absolute errors
  double error_left_out() const;  // 0 with a single run
  double error_after() const;
};

// Fits the runs that were simulated and measured, which need their sensitivities: one node type, one framework.
// `source` names them ("own.csv"). Error(input) at a run that differs from the first in type or framework, that runs on
// several types or on one that is corrected already; without a place where no run counts, and where ranges.yaml does
// not say what own runs are weighed against.
OwnRunsFit fit_own_runs(std::span<const ValidatedRun> runs, const std::string& source);

// The type of the scenario's first nodes, as scenarios that stand elsewhere would name it.
std::string node_type_of(const Scenario& scenario);

// A node type like another with a correction: the profile without its first comment.
std::string correction_yaml(const std::string& like, const std::string& title, const Correction& correction);

// The node type that `fit` makes of its own, as a profile.
std::string corrected_node_yaml(const OwnRunsFit& fit);

}  // namespace mirfak
