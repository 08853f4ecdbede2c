#pragma once

#include "capture/captured_communication.hpp"
#include "capture/operator_price.hpp"
#include "chakra/chakra_program.hpp"
#include "cluster/cluster.hpp"
#include "cost/range_widths.hpp"
#include "engine/timeline.hpp"
#include "strategy/framework.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Cluster and tables that price captured programs. References must outlive the results.
struct CapturePricing {
  const Cluster& cluster;  // rank r runs on device r
  const OperatorTable& table;
  const Framework& framework;           // OperatorTable::framework
  const RangeWidths* ranges = nullptr;  // how far measured steps lie from predicted ones; nullptr: not known
};

// A piece of work of a rank: a node of its trace, which is a task of the program.
struct CapturedTask {
  std::int32_t event = -1;      // index of the rank's events; -1: the host after the last of them
  bool on_host = false;         // the host issues it, or waits
  std::uint32_t issued_by = 0;  // kernels and communication: index of the host's task
  double multiprocessors = 0;   // share of the GPU's multiprocessors that it keeps
};

// A rank that has events, priced.
struct PricedRank {
  std::size_t rank = 0;   // index of Capture::ranks
  std::size_t group = 0;  // of the cluster's nodes: index of Cluster::groups()
  std::vector<CapturedTask> tasks;
  std::vector<double> clock;     // of each kernel, in the order of their launch: share of the full clock
  std::vector<double> energy_j;  // of each kernel, above the draw of a GPU that waits
  double kernel_energy_j = 0;    // of all kernels, above the draw of a GPU that waits
};

// The program of a capture, executed on a cluster.
struct CapturedProgram {
  // By group of the cluster's nodes, then by entry of Capture::operators, at the full clock; empty: no rank is there.
  std::vector<std::vector<OperatorPrice>> prices;
  std::vector<PricedRank> ranks;
  ChakraProgram joined;  // task_of: by index of `ranks`, then of PricedRank::tasks
  Timeline timeline;
  std::vector<std::string> notes;

  const OperatorPrice& price(const PricedRank& rank, const CaptureEvent& event) const {
    return prices[rank.group][event.entry];
  }
};

// Executes what the captured ranks launch.
//  - A kernel begins when the host has issued it, the work before it on its stream has ended, and so have events and
//    communication that its stream waits for.
//  - Kernels that run at once on several streams of a GPU share its multiprocessors; communication keeps those of its
//    channels.
//  - The host takes a time for each operator that it dispatches, for each kernel that it launches and for each
//    collective. Where it blocks, it goes on when the work of the stream, or of the whole device, has ended.
//  - Clocks are those that GPUs hold under their power limit, averaged over tens of milliseconds (kernel_clocks.hpp).
//  - Ranks have the factors of cluster.perturbations: kernels and the host's work take longer on the rank, and
//    communication as long as with the largest factor among its ranks. A rank whose events the capture leaves out, as
//    they are those of another rank, has no factors: see with_events_of_each().
// Error(input) as of matched_communication(), for ranks that the cluster has no GPUs for or that share one, and for
// ranks that wait for each other in a circle. Error(infeasible) for kernels that do not run on the GPU.
CapturedProgram captured_program(const Capture& capture, const CapturePricing& pricing);

// The same, with the traces that were joined, by index of CapturedProgram::ranks: the durations of their nodes are
// those of which tasks begin, before several streams share a GPU.
CapturedProgram captured_program(const Capture& capture, const CapturePricing& pricing,
                                 std::vector<ChakraTrace>& traces);

// The highest clock of each kernel as a share of the full clock, by index of CapturedProgram::ranks and in the order of
// PricedRank::clock.
using KernelLimits = std::vector<std::vector<double>>;

// Executes the captured program again with other highest clocks of its kernels. `executed`: of the same capture and
// pricing.
void execute_at(const Capture& capture, const CapturePricing& pricing, const KernelLimits& limits,
                CapturedProgram& executed);

}  // namespace mirfak
