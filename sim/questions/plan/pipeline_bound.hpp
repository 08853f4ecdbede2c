#pragma once

#include "plan/priced_branch.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace mirfak {

// Lower bound of an iteration that follows from a strategy's passes alone, executed without contention. With the passes
// f, b of one microbatch through each chunk, x a transfer, m microbatches and stages s = 0 .. p - 1:
//   first pass     start(s) >= start(s - 1) + f(s - 1, 0) + x
//   all passes     end(s)   >= start(s) + m sum over chunks of (f + b), and the transfers that passes wait for
//                  end(s)   >= the host's work on all passes, from start(s) on if the host waits for what arrives
//   last passes    end(s)   >= end(s + 1) + x + b(s, 0)
// This is the closed form (m v + p - 1)(f + b)/v for uniform stages, and more where stages differ. After the passes
// come the reduction of gradients that overlaps with nothing, the norm that all ranks wait for, the optimizer step and
// the gather.
struct PipelineBound {
  std::vector<Picoseconds> end;  // end of the passes of each stage and class of replicas (LayoutCosts)
  Picoseconds last = 0;          // latest of the ends
  double energy_j = 0;           // passes of all ranks, above the energy of waiting
};
// `terms`: those of the passes (PricedBranch::fastest or settled).
PipelineBound pipeline_bound(const PricedBranch& branch, const PipelineChoice& choice, const PlaceTerms& terms);

// Passes of one stage for the replicas of one class, `own`.
struct StagePasses {
  std::vector<PassTerms> chunks;  // one pass of each chunk
  Picoseconds busy = 0;           // all passes of all microbatches, and the transfers that passes wait for
  Picoseconds issued = 0;         // least time from the beginning of the host's work to the end of the last pass
  Picoseconds first = 0;          // first pass of the first chunk, from the arrival of what it waits for
  Picoseconds last = 0;           // last pass of the first chunk, likewise
  Picoseconds outlasts = 0;       // KindTerms::host_outlasts
  bool host_waits = false;        // the host issues a pass after what the pass waits for has arrived
  bool awaits_sends = false;      // a pass waits for what the pass before it sends
  Picoseconds on = 0;             // shortest transfer of a chunk to the next stage
  Picoseconds back = 0;           // shortest transfer of a chunk to the stage before
  double energy_j = 0;            // energy of one microbatch

  // Returns the least time from the beginning of the host's work on a pass to the end of the pass.
  Picoseconds issued_in(Picoseconds host) const { return host - std::min(host, outlasts); }
};
std::vector<StagePasses> stage_passes(const PricedBranch& branch, const PipelineChoice& choice, int own,
                                      const PlaceTerms& terms);

// Raises `end` because the last pass of a stage follows that of the next stage. `end`: for each place (LayoutCosts).
void follow_backward(const PricedBranch& branch, std::span<const StagePasses> stages, int own,
                     std::vector<Picoseconds>& end);

// Returns the blocks of every stage's chunks.
std::vector<std::vector<ChunkPlan>> chunks_of(const PricedBranch& branch, const PipelineChoice& choice);

// Returns a lower bound of the iteration of a whole strategy. `states`: for each stage and class of replicas.
Picoseconds iteration_bound(const PricedBranch& branch, const PipelineBound& passes, std::span<const StateTerms> states,
                            const StateChoice& choice);

}  // namespace mirfak
