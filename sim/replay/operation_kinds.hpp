#pragma once

#include "program/program.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Where an operation stands in a step, if no table of dependencies says so.
enum class OperationRole : std::uint8_t {
  gather,   // before the first pass
  pass,     // forward or backward of a microbatch
  receive,  // from the neighbouring stage, in front of a pass
  send,     // to it, behind a pass
  finish,   // behind the last pass, in the order of the table
};

// With whom, if no table of groups says so.
enum class OperationMeets : std::uint8_t {
  nobody,
  peer,      // the neighbouring stage
  replicas,  // the same stage of all data ranks
  stages,    // the stages of this data rank that have it
  everyone,  // all stages of all data ranks
};

// What an operation of a recorded step is. The table of operation_kinds.cpp is all that is known of their names.
struct OperationKind {
  std::string_view name;      // in traces
  std::string_view category;  // in reports: both ends of a transfer have one
  StreamKind stream{};
  TaskKind task{};
  OperationRole role{};
  OperationMeets meets{};
  bool mean = false;  // without stragglers each takes the mean of all that were recorded; otherwise their median
};

using OperationKindId = std::uint8_t;

std::span<const OperationKind> operation_kinds();
std::optional<OperationKindId> find_operation_kind(std::string_view name);
std::vector<std::string> operation_kind_names();
std::vector<std::string> operation_categories();  // each once, in the order of the table

}  // namespace mirfak
