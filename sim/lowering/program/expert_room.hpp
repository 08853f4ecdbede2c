#pragma once

#include "program/blocks_of_job.hpp"
#include "program/stage_plan.hpp"

#include <vector>

namespace mirfak {

// Memory that the rows of a rank's experts take over the memory of the rows that come to the rank with most
// (Strategy::expert_rank_capacity over expert_load()); 1 without such a room.
double expert_room(const Job& job);

// Gives all rows of experts that room in memory.
void make_room(OperatorGraph& graph, double room);

// True for kernels that run over all rows that there is room for: activations of experts that no joined kernel computes
// (fuses_experts(), expert_room_rules.hpp), which are not told how many rows there are. Products, casts and exchanges
// read the rows of each expert from the device.
bool runs_over_room(const Job& job, const OperatorGraph& graph, const Operator& op);

// Rows of one layer's experts that wait in pages between forward and backward (Strategy::expert_stash): all that the
// experts keep. Bytes on one device, for one microbatch.
struct StashedRows {
  std::vector<double> filled;  // each tensor's rows that came, which kernels copy
  double room = 0;             // in the buffers that kernels write and read
  double balanced = 0;         // of evenly chosen experts, which pages are counted by

  double copied() const;
};
StashedRows stashed_rows(const Job& job, const PartitionedBlock& block, const DeviceMesh& mesh);

// Share of the rows for which the pages on the device have no room, so that they wait on the host: 1 - expert_stash /
// expert_load(), if positive. Passes that run in a steady order fill freed pages first, so each has this share.
double spilled_share(const Job& job);

// Copies of one layer's rows to pages, or back, in one pass.
struct StashCopies {
  double device_s = 0;  // reading and writing the device's memory with nothing beside
  double host_s = 0;    // over the link to the host
  double bytes = 0;     // read and written in the device's memory
  double energy_j = 0;

  double alone_s() const { return device_s + host_s; }
};
StashCopies stash_copies(const Job& job, const StashedRows& rows, const StageCosts& costs);

// Seconds that a pass of a block loses to such copies. They run from the layer's experts to those of the next layer,
// beside all that is no kernel of experts, and the next experts wait for their end (paged_stash.py,
// wait_for_stash_to_complete). The copies and the kernel beside them share the bandwidth of the memory evenly, except
// for what one of them does not ask for: a kernel that moves u of what the memory can takes max(1, 2 u) times as long.
// The layers of a row are alike, so those beside one layer's copies stand for the steps of its own body.
double lost_to_stash_s(const PartitionedBlock& block, const Body& body, const std::vector<const BlockStep*>& steps,
                       const StashCopies& copies, double memory_bytes_per_s);

// Step in which a pass of a chunk waits for copies of pages, with their bytes and their energy; nothing without pages.
std::vector<BodyStep> stash_steps(const Job& job, const ShardedBlocks& blocks, const StagePlan& plan, int chunk,
                                  Pass::Kind kind);

// Share of an iteration of `seconds` that copies of pages would cost beyond what is counted if no kernel ran beside
// them, on average over stages: what no source says is how many multiprocessors they take. 0 without pages.
double unhidden_stash_share(const Job& job, double seconds);

}  // namespace mirfak
