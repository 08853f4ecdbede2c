#pragma once

#include "calibration/table_kind.hpp"
#include "cost/collective_model.hpp"

namespace mirfak {

// Columns of tables of collectives on the GPUs of one node, with bytes as nccl-tests counts them.
inline constexpr std::string_view kCollectiveColumns = "collective,n_gpus,n_nodes,bytes,time_us";

bool is_collective_table(const CsvTable& table);

// The middle of the repeated measurements of one collective.
struct MeasuredCollective {
  CollectiveKind kind{};
  int ranks = 0;
  double bytes = 0;  // see ReshardStep
  NcclVersion version = NcclVersion::v2_28;
  double seconds = 0;
};

// Returns the rows of one node that `target` selects: all_reduce, all_gather, reduce_scatter and alltoall, in the order
// of (collective, ranks, bytes); other collectives, rows over several nodes and rows below 64 bytes (warm-up) are left
// out. A value of the column nccl_version that begins with 2.29 or more counts as release 2.29. Error(input) at the
// field of a fault.
std::vector<MeasuredCollective> read_collective_table(const CsvTable& table, const CalibrationTarget& target);

// Fits the sections protocols, exchange and in_switch_reduction.fit of a scale-up link, each if the tables have rows
// that NCCL runs in that way, and the section of fit_sends(). --gpu states the GPU generation that NCCL sees.
std::vector<FittedSection> fit_collective_tables(std::span<const CsvTable> tables, const CalibrationTarget& target);

}  // namespace mirfak
