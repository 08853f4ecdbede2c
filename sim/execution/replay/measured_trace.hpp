#pragma once

#include "base/csv.hpp"
#include "replay/operation_kinds.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace mirfak {

// A rank that was recorded. Often only one rank of a tensor-parallel group is recorded.
struct MeasuredRank {
  int number = 0;
  int data = 0;   // data-parallel rank
  int stage = 0;  // pipeline stage
  int peer = 0;   // index among the recorded ranks with this data rank and stage
};

struct MeasuredOperation {
  OperationKindId kind = 0;
  std::uint32_t rank = 0;        // an index into MeasuredTrace::ranks
  std::uint32_t step = 0;        // an index into MeasuredTrace::steps
  std::int32_t sequence = 0;     // index among operations of its kind on this rank in this step
  std::int32_t microbatch = -1;  // -1: none
  std::int32_t chunk = -1;       // index among the stage's model chunks; -1: none
  std::int32_t part = -1;        // index among the chunks of all stages; -1: none
  double start_s = 0;            // since the start of the step
  double duration_s = 0;         // includes waiting for others
  int line = 0;                  // line in the file

  double end_s() const { return start_s + duration_s; }
  // Number within its kind, as tables of dependencies count.
  std::int32_t number() const { return microbatch >= 0 ? microbatch : sequence; }
};

// Operations of the ranks of a training in some of its steps, which need not follow each other.
struct MeasuredTrace {
  std::string name;
  std::vector<MeasuredRank> ranks;  // ascending by number
  std::vector<int> steps;           // ascending
  std::vector<MeasuredOperation> operations;
  int peers = 1;   // recorded ranks of each data rank and stage
  int stages = 0;  // one more than the last stage

  std::vector<int> data_ranks() const;  // ascending
  Location where(const MeasuredOperation& operation) const { return {name, operation.line, 1}; }
};

// Reads a table with the columns dp_rank, stage, rank, step, optype, start_ts (s), duration (s), seq_id, mc, mb_id and
// gmc; other columns are ignored. Error(input) with the place for operations of unknown type, for durations below 0,
// for a rank that changes its place, and if data ranks and stages do not have equally many ranks.
MeasuredTrace read_measured_trace(const CsvTable& table);
MeasuredTrace read_measured_trace(const std::filesystem::path& path);  // plain or compressed by gzip

}  // namespace mirfak
