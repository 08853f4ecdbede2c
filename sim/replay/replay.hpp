#pragma once

#include "base/csv.hpp"
#include "engine/timeline.hpp"
#include "replay/measured_trace.hpp"
#include "replay/recorded_steps.hpp"
#include "replay/step_graph.hpp"
#include "replay/step_program.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// Operations that are all that is said here; what is left out says nothing.
struct OperationSet {
  std::optional<int> rank;
  std::optional<int> data;
  std::optional<int> stage;
  std::string type;  // a name, or a category, of operation_kinds.hpp; empty: any

  bool holds(const MeasuredRank& of, OperationKindId kind) const;
  friend bool operator==(const OperationSet&, const OperationSet&) = default;
};

struct Speed {
  OperationSet of;
  double factor = 1;  // above 0; of two that hold for an operation both count
};

// What is not as it was recorded.
struct WhatIf {
  std::vector<OperationSet> ideal;   // these take what their type takes without stragglers
  std::vector<OperationSet> except;  // though not these
  std::vector<Speed> speeds;         // computation, and communication whose type is named, is this much faster
};

// How long operations of each kind take without stragglers.
struct IdealDuration {
  OperationKindId kind = 0;
  std::size_t operations = 0;  // of the trace
  double seconds = 0;
};

// The table `optype`, `ideal_s`. Error(input) for an unknown or repeated operation, and one below 0.
std::vector<IdealDuration> read_ideal_durations(const CsvTable& table);

// The steps of a trace, executed in virtual time. An operation takes its own time: from the moment at which the last
// of its group began until its end, as recorded; launch gaps between operations are left out (J. Lin et al.,
// "Understanding Stragglers in Large Model Training Using What-if Analysis", OSDI'25).
class Replay {
 public:
  // `ideal`: of each kind in the trace one. nullopt: the mean of the own times of all of a kind, or for communication
  // their median. Error(input) with the place for graphs that do not fit the trace, and steps of more than 100 days.
  Replay(MeasuredTrace trace, StepGraph graph, std::optional<std::vector<IdealDuration>> ideal = {});

  const MeasuredTrace& trace() const { return trace_; }
  const std::vector<IdealDuration>& ideal() const { return ideal_; }  // in the order of operation_kinds()
  std::size_t steps() const { return trace_.steps.size(); }
  std::size_t tasks() const { return step_.program.size(); }

  double measured_s(std::size_t step) const;              // the last end in the trace
  std::vector<double> times_s(const WhatIf& what) const;  // of each step
  double mean_time_s(const WhatIf& what) const;
  // When every operation of a step begins and ends; and its program.
  Program program(std::size_t step, const WhatIf& what) const;

 private:
  void find_own_times();
  void take_ideal(std::vector<IdealDuration> stated);
  void find_ideal();
  void check_length(double seconds, std::size_t step) const;
  // By instance: how each takes its time.
  struct Rule {
    bool ideal = false;
    double speed = 1;
  };
  std::vector<Rule> rules(const WhatIf& what) const;
  void set_durations(Program& program, std::size_t step, const std::vector<Rule>& rules) const;
  OperationKindId kind_of(std::size_t instance) const;
  double own_s(std::size_t step, std::size_t instance) const { return own_s_[step * recorded_.instances() + instance]; }

  MeasuredTrace trace_;
  StepGraph graph_;
  RecordedSteps recorded_;
  StepProgram step_;
  std::vector<double> own_s_;  // by step and instance
  std::vector<IdealDuration> ideal_;
  std::vector<double> ideal_s_;  // by kind
};

}  // namespace mirfak
