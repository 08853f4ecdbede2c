#pragma once

#include "base/csv.hpp"
#include "replay/measured_trace.hpp"

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mirfak {

// Name of an operation of one data rank in tables of dependencies: "forward-compute_3_1".
struct OperationName {
  OperationKindId kind = 0;
  std::int32_t number = 0;
  std::int32_t place = 0;

  std::string text() const;
  friend auto operator<=>(const OperationName&, const OperationName&) = default;
};

// Meaning of number and place in an operation's name. If stages hold several chunks of the model, stage and microbatch
// do not identify a pass.
enum class Naming : std::uint8_t {
  by_stage,     // microbatch, or index within the kind if there is none; stage
  by_part,      // as by_stage, but a pass has the part of the model instead of the stage
  by_sequence,  // index within the kind; stage
};
inline constexpr std::array kNamings = {Naming::by_stage, Naming::by_part, Naming::by_sequence};
OperationName name_of(const MeasuredOperation& operation, const MeasuredTrace& trace, Naming naming);

struct GraphOperation {
  OperationName name;
  Location where;
  std::vector<std::uint32_t> after;  // operations of the same data rank
};

// Operations that act as one: a send with its receive, a collective. The group begins when its last operation is ready.
struct OperationGroup {
  std::vector<std::uint32_t> members;
  bool across_data = false;  // together with the same operations of all data ranks
};

// Dependencies between the operations in a step of one data rank: the same in all steps and for all data ranks.
struct StepGraph {
  std::vector<GraphOperation> operations;
  std::vector<OperationGroup> groups;  // each operation is in at most one group
};

// Reads the tables `op`, `depends_on` (empty: nothing), and `group`, `op`, `across_dp` (1: the group spans all data
// ranks). Error(input) with the place for names that are not names of operations, for an operation in two groups, and
// for an operation in a group but not in the table of dependencies.
StepGraph read_step_graph(const CsvTable& dependencies, const CsvTable& groups);

}  // namespace mirfak
