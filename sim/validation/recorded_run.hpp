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

// How long the host takes to issue one kernel: medians of the times between two launches, which its waiting for the GPU
// lengthens less than it does means.
struct RecordedHost {
  double forward_s = 0;
  double backward_s = 0;
  std::size_t launches = 0;
  std::string source;  // "Nsight or Kineto file, its steps"
};

// What a profiler's steps and the simulated iteration take, in seconds: means.
struct RecordedPart {
  std::string name;
  double measured_s = 0;    // over all steps
  double predicted_s = 0;   // as the profiles say
  double corrected_s = 0;   // with what all steps say
  double error_before = 0;  // mean absolute errors of the judged steps: as the profiles say,
  double error_after = 0;   // ... and with what the fitted steps, none of them, say
  double spread = 0;        // longest / shortest step - 1
};

// What the recorded steps of a run say of the machine under a framework.
struct RecordedFit {
  std::string like;  // the node type, as the scenario names it
  std::string title;
  Correction correction;
  std::size_t fitted = 0;  // every second step, for the judgement; the correction is by all
  std::size_t judged = 0;
  std::vector<RecordedPart> parts;  // the GPU's kernels without communication; the whole step
  std::vector<std::string> notes;   // what could not be told and stays as in the profiles
};

// The host's issue times of the recordings; nullopt where they do not tell forward from backward passes, or have no
// launches in steps.
std::optional<RecordedHost> recorded_host(std::span<const Recording> recordings);

// A framework file: that of the scenario, with the measured issue times. Error(input) where the scenario does not name
// a framework by a word or a path.
std::string recorded_framework_yaml(const Scenario& scenario, const RecordedHost& host);

// Fits the time factors of the scenario's nodes to the steps of its recorded ranks. `framework` names what the
// correction holds under. Error(input): fewer than two steps, several node types or a corrected one, stages that
// differ of which not every rank is recorded, or kernels beyond kMostTimesAsLong of the predicted.
RecordedFit fit_recorded_run(const Scenario& scenario, std::span<const Recording> recordings,
                             const std::string& framework);

// The node type that the fit makes, as a profile.
std::string recorded_node_yaml(const RecordedFit& fit);

}  // namespace mirfak
