#pragma once

#include "replay/step_graph.hpp"

#include <cstdint>
#include <vector>

namespace mirfak {

// The operations of a trace in the order of a graph: for each step, data rank and recorded peer the operation that the
// graph means. An instance is an operation of the graph on one replica.
struct RecordedSteps {
  struct Replica {
    int data = 0;
    int peer = 0;
  };

  std::vector<Replica> replicas;          // all peers of the first data rank, then of the next
  std::vector<int> stage_of;              // by operation of the graph
  std::vector<std::uint32_t> rank_of;     // by instance: an index into MeasuredTrace::ranks
  std::vector<std::uint32_t> operations;  // by step and instance: an index into MeasuredTrace::operations

  std::size_t instances() const { return rank_of.size(); }
  std::uint32_t operation(std::size_t step, std::size_t instance) const {
    return operations[step * instances() + instance];
  }
};

// Finds the recorded operations of a graph. Error(input) at an operation that the graph lacks, that occurs twice, or
// that is on another stage than elsewhere; and at the place in the graph of an operation that a step or rank lacks.
RecordedSteps match_steps(const MeasuredTrace& trace, const StepGraph& graph);

// Returns a naming by which every operation of a rank and step has a name of its own. Error(input) at two operations
// that have the same name in every naming.
Naming distinct_naming(const MeasuredTrace& trace);

}  // namespace mirfak
