#pragma once

#include "program/program.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Position of an operation in a step, if no table of dependencies states it.
enum class OperationRole : std::uint8_t {
  gather,   // before the first pass
  pass,     // forward or backward of a microbatch
  receive,  // from the neighbouring stage, before a pass
  send,     // to the neighbouring stage, after a pass
  finish,   // after the last pass, in the order of the table
};

// Partners with whom an operation is done, if no table of groups states them.
enum class OperationMeets : std::uint8_t {
  nobody,
  peer,      // the neighbouring stage
  replicas,  // the same stage of all data ranks
  stages,    // the stages of this data rank that have the operation
  everyone,  // all stages of all data ranks
};

// Description of an operation of a recorded step. The table in operation_kinds.cpp is all that is known of the names of
// operations.
struct OperationKind {
  std::string_view name;      // name in traces
  std::string_view category;  // name in reports: both ends of a transfer have the same category
  StreamKind stream{};
  TaskKind task{};
  OperationRole role{};
  OperationMeets meets{};
  bool mean = false;  // duration without stragglers: mean of all recorded operations; false: their median
};

using OperationKindId = std::uint8_t;

std::span<const OperationKind> operation_kinds();
std::optional<OperationKindId> find_operation_kind(std::string_view name);
std::vector<std::string> operation_kind_names();
std::vector<std::string> operation_categories();  // each once, in the order of the table

}  // namespace mirfak
