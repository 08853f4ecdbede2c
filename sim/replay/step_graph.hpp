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

// What an operation of one data rank is called in tables of dependencies: "forward-compute_3_1".
struct OperationName {
  OperationKindId kind = 0;
  std::int32_t number = 0;
  std::int32_t place = 0;

  std::string text() const;
  friend auto operator<=>(const OperationName&, const OperationName&) = default;
};

// What number and place are. Where stages hold several chunks of the model, stage and microbatch name no pass.
enum class Naming : std::uint8_t {
  by_stage,     // microbatch, or which of its kind where it has none; stage
  by_part,      // the same; of a pass the part of the model instead of the stage
  by_sequence,  // which of its kind; stage
};
inline constexpr std::array kNamings = {Naming::by_stage, Naming::by_part, Naming::by_sequence};
OperationName name_of(const MeasuredOperation& operation, const MeasuredTrace& trace, Naming naming);

struct GraphOperation {
  OperationName name;
  Location where;
  std::vector<std::uint32_t> after;  // operations of the same data rank
};

// Operations that are one: a send with its receive, a collective. It begins when the last of them is ready.
struct OperationGroup {
  std::vector<std::uint32_t> members;
  bool across_data = false;  // with those of all data ranks
};

// What waits for what in a step of one data rank: the same in all steps and for all data ranks.
struct StepGraph {
  std::vector<GraphOperation> operations;
  std::vector<OperationGroup> groups;  // each operation is in one at most

  std::vector<std::size_t> group_of_operations() const;  // groups.size(): in none
};

// Reads the tables `op`, `depends_on` (empty: nothing), and `group`, `op`, `across_dp` (1: the group spans all data
// ranks). Error(input) with the place for names that say no operation, an operation in two groups, or in a group but
// not in the table of dependencies.
StepGraph read_step_graph(const CsvTable& dependencies, const CsvTable& groups);

}  // namespace mirfak
