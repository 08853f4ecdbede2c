#pragma once

#include "network/routes.hpp"
#include "program/job.hpp"
#include "program/program.hpp"
#include "program/stage_plan.hpp"

#include <span>
#include <vector>

namespace mirfak {

// Parts of the network that a program's communication may have to share.
struct SharedNetwork {
  bool ports = false;        // each rank's share of its node's network ports
  Routes* routes = nullptr;  // links between switches; null: they have room for all traffic of the ports
};

// Loads of every link by a job's transfers and collectives: a table with a column for each link and a row for each
// activity that groups of ranks perform.
struct NetworkLoads {
  // Activities of which a stage's ranks run only one at a time: collectives for their replicas, transfers to one other
  // stage, or exchanges with one group inside passes.
  struct Slot {
    int stage = 0;
    GroupingId way = kAlone;  // transfer: grouping with the receiving stage; exchange in a pass: its own grouping
    StreamKind stream{};

    friend auto operator<=>(const Slot&, const Slot&) = default;
  };
  // Classes of tasks with equal loads.
  struct Row {
    Slot slot;
    GroupingId grouping = kAlone;
    std::uint32_t first_entry = 0;  // first of the entries of its groups, which are contiguous
  };
  // Number of a link. The ports of a rank: 2 * rank out and 2 * rank + 1 in; a link of the fabric: kFabric + its number
  // in Routes::links().
  using Wire = std::uint32_t;
  static constexpr Wire kFabric = Wire{1} << 31U;
  // Load of one link by one group of a row.
  struct Cell {
    Wire wire = 0;
    std::uint32_t row = 0;
    std::uint32_t entry = 0;
    double bytes_per_s = 0;
  };

  std::vector<Row> rows;
  std::vector<Cell> cells;
  std::uint32_t entries = 0;
  std::vector<std::uint32_t> entry_of_class;  // first entry of each class; kNoTraffic: none
  std::uint32_t ranks = 0;                    // number of the program's ranks
  std::vector<Link> ports;                    // ports of each rank, out and in; empty: not asked for
  Routes* routes = nullptr;
};

// Loads of links between switches by one group of the cluster's ranks, where a rank of a folded program stands for
// several ranks.
struct RealGroupLoads {
  std::uint32_t row = 0;   // index into NetworkLoads::rows
  std::vector<int> ranks;  // ranks of the cluster, ascending
  struct Use {
    NetworkLoads::Wire wire = 0;
    double bytes_per_s = 0;
  };
  std::vector<Use> uses;
};

// Computes the loads of a program. A rank of a folded program stands for other ranks, which act at the same time: links
// between switches carry the traffic of all of them.
NetworkLoads network_loads(const Program& program, const Job& job, std::span<const StagePlan> plans,
                           const SharedNetwork& network, bool folded);

// Computes the loads of a folded program group by group: their sums are the cells of network_loads().
std::vector<RealGroupLoads> real_group_loads(const Program& program, const Job& job, std::span<const StagePlan> plans,
                                             Routes* routes);

}  // namespace mirfak
