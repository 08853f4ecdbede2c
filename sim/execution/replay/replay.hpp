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

// The operations for which everything stated here holds; members that are left out do not restrict the set.
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
  double factor = 1;  // above 0; if two speeds hold for an operation, both count
};

// Changes to the times that were recorded.
struct WhatIf {
  std::vector<OperationSet> ideal;   // these take the time that their type takes without stragglers
  std::vector<OperationSet> except;  // exceptions from `ideal`
  std::vector<Speed> speeds;         // factor by which computation, and communication whose type is named, is faster
};

// Time that operations of one kind take without stragglers.
struct IdealDuration {
  OperationKindId kind = 0;
  std::size_t operations = 0;  // number in the trace
  double seconds = 0;
};

// Reads the table `optype`, `ideal_s`. Error(input) for an unknown or repeated operation, and for a time below 0.
std::vector<IdealDuration> read_ideal_durations(const CsvTable& table);

// The steps of a trace, executed in virtual time. An operation takes its own time: from the moment at which the last
// operation of its group began until its end, as recorded; launch gaps between operations are left out (J. Lin et al.,
// "Understanding Stragglers in Large Model Training Using What-if Analysis", OSDI'25).
class Replay {
 public:
  // `ideal`: one entry for each kind in the trace. nullopt: the mean of the own times of all operations of a kind, or
  // for communication their median. Error(input) with the place for graphs that do not fit the trace, and for steps of
  // more than 100 days.
  Replay(MeasuredTrace trace, StepGraph graph, std::optional<std::vector<IdealDuration>> ideal = {});

  const MeasuredTrace& trace() const { return trace_; }
  const std::vector<IdealDuration>& ideal() const { return ideal_; }  // in the order of operation_kinds()
  std::size_t steps() const { return trace_.steps.size(); }
  std::size_t tasks() const { return step_.program.size(); }

  double measured_s(std::size_t step) const;              // the last end in the trace
  std::vector<double> times_s(const WhatIf& what) const;  // one for each step
  double mean_time_s(const WhatIf& what) const;
  // Returns the program of a step with the durations of the what-if; its execution says when every operation runs.
  Program program(std::size_t step, const WhatIf& what) const;

 private:
  void find_own_times();
  void take_ideal(std::vector<IdealDuration> stated);
  void find_ideal();
  void check_length(double seconds, std::size_t step) const;
  // Rule by which an instance takes its time.
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
