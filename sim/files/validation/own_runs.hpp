#pragma once

#include "calibration/factor_fit.hpp"
#include "cluster/hardware.hpp"
#include "validation/validate_runs.hpp"

#include <span>
#include <string>
#include <vector>

namespace mirfak {

// One of a user's own runs, and its predictions by three states of knowledge.
struct OwnRun {
  Location where;
  double measured_s = 0;
  double predicted_s = 0;  // by the uncorrected profiles
  double left_out_s = 0;   // corrected by the other runs
  double corrected_s = 0;  // corrected by all
};

// The time factors of a machine under a framework, fitted to the user's own runs.
struct OwnRunsFit {
  std::string like;  // the node type's name in the scenarios
  std::string title;
  Correction correction;
  std::vector<OwnRun> runs;

  double error_before() const;    // mean absolute errors
  double error_left_out() const;  // 0 for a single run
  double error_after() const;
};

// Fits the runs that were simulated and measured; they must have their sensitivities, one node type and one framework.
// `source` names the runs ("own.csv"). Error(input) at a run that differs from the first in type or framework, or that
// runs on several types or on a type that is corrected already; without a place if no run counts, and if ranges.yaml
// lacks the spread that own runs are weighed against.
OwnRunsFit fit_own_runs(std::span<const ValidatedRun> runs, const std::string& source);

// Returns the type of the scenario's first nodes, by a name that scenarios in other folders can use.
std::string node_type_of(const Scenario& scenario);

// Returns the profile of a node type like another with a correction, without the first comment of the profile.
std::string correction_yaml(const std::string& like, const std::string& title, const Correction& correction);

// Returns the corrected node type of `fit` as a profile.
std::string corrected_node_yaml(const OwnRunsFit& fit);

}  // namespace mirfak
