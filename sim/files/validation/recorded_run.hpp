#pragma once

#include "cluster/hardware.hpp"
#include "recording/recording.hpp"
#include "scenario/scenario.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// The host's time to issue one kernel: medians of the times between two launches. Waiting for the GPU lengthens medians
// less than means.
struct RecordedHost {
  double forward_s = 0;
  double backward_s = 0;
  std::size_t launches = 0;
  std::string source;  // "Nsight or Kineto file, its steps"
};

// Times of a profiler's steps and of the simulated iteration, in seconds: means.
struct RecordedPart {
  std::string name;
  double measured_s = 0;    // over all steps
  double predicted_s = 0;   // by the uncorrected profiles
  double corrected_s = 0;   // with the correction by all steps
  double error_before = 0;  // mean absolute error of the judged steps, by the profiles
  double error_after = 0;   // the same steps' mean absolute error, corrected by the fitted steps
  double spread = 0;        // longest / shortest step - 1
};

// The time factors of a machine under a framework, fitted to the recorded steps of a run.
struct RecordedFit {
  std::string like;  // the node type's name in the scenario
  std::string title;
  Correction correction;
  std::size_t fitted = 0;  // number of every second step, for the judgement; the correction is by all steps
  std::size_t judged = 0;
  std::vector<RecordedPart> parts;  // the GPU's kernels without communication; the whole step
  std::vector<std::string> notes;   // parts that could not be determined and stay as in the profiles
};

// Returns the host's issue times of the recordings; nullopt if they do not distinguish forward from backward passes, or
// have no launches in steps.
std::optional<RecordedHost> recorded_host(std::span<const Recording> recordings);

// Returns a framework file: the scenario's framework with the measured issue times. Error(input) if the scenario does
// not name a framework by a word or a path.
std::string recorded_framework_yaml(const Scenario& scenario, const RecordedHost& host);

// Fits the time factors of the scenario's nodes to the steps of its recorded ranks. `framework`: the framework for
// which the correction holds. Error(input): fewer than two steps, several node types or a corrected one, differing
// stages of which not every rank is recorded, or kernels beyond kMostTimesAsLong of the predicted.
RecordedFit fit_recorded_run(const Scenario& scenario, std::span<const Recording> recordings,
                             const std::string& framework);

// Returns the corrected node type of the fit, as a profile.
std::string recorded_node_yaml(const RecordedFit& fit);

}  // namespace mirfak
