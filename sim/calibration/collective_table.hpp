#pragma once

#include "calibration/table_kind.hpp"
#include "cost/collective_model.hpp"

namespace mirfak {

// Tables of collectives on the GPUs of one node, as nccl-tests counts them.
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

// The rows of one node that `target` selects: all_reduce, all_gather, reduce_scatter and alltoall, in the order of
// (collective, ranks, bytes); others, rows over several nodes and those below 64 bytes (warm-up) are left out. A column
// nccl_version that begins with 2.29 or more counts as that release. Error(input) at the field of a fault.
std::vector<MeasuredCollective> read_collective_table(const CsvTable& table, const CalibrationTarget& target);

// Sections protocols, exchange and in_switch_reduction.fit of a scale-up link, each where the tables have rows that
// NCCL runs so; and what fit_sends() says. --gpu says which GPU generation NCCL sees.
std::vector<FittedSection> fit_collective_tables(std::span<const CsvTable> tables, const CalibrationTarget& target);

}  // namespace mirfak
