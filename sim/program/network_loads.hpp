#pragma once

#include "network/routes.hpp"
#include "program/job.hpp"
#include "program/program.hpp"
#include "program/stage_plan.hpp"

#include <span>
#include <vector>

namespace mirfak {

// What a program's communication may have to share.
struct SharedNetwork {
  bool ports = false;        // each rank's share of its node's network ports
  Routes* routes = nullptr;  // links between switches; null: they have room for all that the ports send
};

// What a job's transfers and collectives would take of every link that there is: a table of links by what groups of
// ranks do.
struct NetworkLoads {
  // Ranks of a stage do one thing at a time for their replicas; of transfers, on the way to one other stage; inside
  // passes, with one group.
  struct Slot {
    int stage = 0;
    GroupingId way = kAlone;  // of a transfer, the grouping with the stage that receives; inside passes their own
    StreamKind stream{};

    friend auto operator<=>(const Slot&, const Slot&) = default;
  };
  // Classes of tasks that take the same.
  struct Row {
    Slot slot;
    GroupingId grouping = kAlone;
    std::uint32_t first_entry = 0;  // of its groups' entries, one after the other
  };
  // Of a rank's share of the ports, 2 * rank out and 2 * rank + 1 in; of the fabric kFabric + its number among the
  // routes'.
  using Wire = std::uint32_t;
  static constexpr Wire kFabric = Wire{1} << 31U;
  // What one group of a row takes of a link.
  struct Cell {
    Wire wire = 0;
    std::uint32_t row = 0;
    std::uint32_t entry = 0;
    double bytes_per_s = 0;
  };

  std::vector<Row> rows;
  std::vector<Cell> cells;
  std::uint32_t entries = 0;
  std::vector<std::uint32_t> entry_of_class;  // the first of each class; kNoTraffic: none
  std::uint32_t ranks = 0;                    // of the program
  std::vector<Link> ports;                    // of each rank, out and in; empty: not asked for
  Routes* routes = nullptr;
};

// The share of links between switches that one group of the cluster's ranks takes, where a rank of a folded program
// stands for several.
struct RealGroupLoads {
  std::uint32_t row = 0;   // NetworkLoads::rows
  std::vector<int> ranks;  // of the cluster, ascending
  struct Use {
    NetworkLoads::Wire wire = 0;
    double bytes_per_s = 0;
  };
  std::vector<Use> uses;
};

// In a folded program a rank stands for others, which act when it does: links between switches carry what all of these
// send.
NetworkLoads network_loads(const Program& program, const Job& job, std::span<const StagePlan> plans,
                           const SharedNetwork& network, bool folded);

// The same of a folded program, one by one: what adds up to its cells.
std::vector<RealGroupLoads> real_group_loads(const Program& program, const Job& job, std::span<const StagePlan> plans,
                                             Routes* routes);

}  // namespace mirfak
