#pragma once

#include "capture/capture_simulation.hpp"
#include "comparison/result_difference.hpp"

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>
#include <vector>

namespace mirfak {

// One of the two captured programs of a difference, executed.
struct ComparedCapture {
  CapturedScenario scenario;
  CaptureSimulation simulation;
  std::string name;
};

// Executes one side of a difference. `own`: "key=value" texts that are set for this side alone and that its name, which
// is that of its file or else of the capture, includes. Errors as of read_captured_scenario() and simulate().
ComparedCapture compared_capture(Document document, std::span<const std::string> own, const CaptureSources& sources);

// Work of an operator, a module or communication in both runs, on the rank of each whose kernels take longest.
struct ComparedWork : ComparedKernel {  // `name` says all of it, for people
  std::string operation;                // "aten::mm", "all_reduce"; empty: a module
  std::string module;                   // numbers in paths are "*"
  std::string phase;                    // empty: communication of all phases
};

// Differences between two captured programs, or between one and itself on another cluster, B against A.
struct CaptureDifference {
  std::vector<KeyDifference> keys;
  std::vector<ComparedFigure> figures;     // figures of an iteration that captures have
  std::vector<ComparedFigure> activities;  // add up to the iteration time on both sides
  // Largest difference first. Calls of an operator with other tensors in the same place count as the same.
  std::vector<ComparedWork> operators;
  std::vector<ComparedWork> modules;
  std::vector<ComparedWork> communication;
  std::vector<ComparedFigure> memory;  // parts of the fullest rank's memory, which add up to it
  std::vector<std::string> notes;      // of both; equal ones once
};
CaptureDifference capture_difference(const ComparedCapture& a, const ComparedCapture& b);

// Output of `mirfak diff` for captures (keys of JSON: README.md of this folder).
std::string capture_difference_text(const ComparedCapture& a, const ComparedCapture& b,
                                    const CaptureDifference& difference);
nlohmann::ordered_json capture_difference_json(const ComparedCapture& a, const ComparedCapture& b,
                                               const CaptureDifference& difference);
std::string capture_difference_csv(const CaptureDifference& difference);

}  // namespace mirfak
