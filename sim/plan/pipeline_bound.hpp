#pragma once

#include "plan/branch.hpp"

#include <span>
#include <vector>

namespace mirfak {

// No iteration of a strategy is shorter than what follows from its passes alone, executed without contention. With the
// passes f, b of one microbatch through each chunk, x a transfer, m microbatches and stages s = 0 .. p - 1:
//   first pass     start(s) >= start(s - 1) + f(s - 1, 0) + x
//   all passes     end(s)   >= start(s) + m sum over chunks of (f + b), and the transfers that passes wait for
//   last passes    end(s)   >= end(s + 1) + x + b(s, 0)
// the closed form (m v + p - 1)(f + b)/v of uniform stages, and more where stages differ. Behind them stand the
// reduction of gradients that hides behind nothing, the norm that all ranks wait for, the optimizer step and the
// gather.
struct PipelineBound {
  std::vector<Picoseconds> end;  // of the passes of each stage and class of replicas (LayoutCosts)
  Picoseconds last = 0;          // the latest
  double energy_j = 0;           // of all ranks' passes, above that of waiting
};
PipelineBound pipeline_bound(const Branch& branch, const PipelineChoice& choice);

// The passes of a stage's replicas of one class, `own`.
struct StagePasses {
  std::vector<PassTerms> chunks;  // one pass of each
  Picoseconds busy = 0;           // all passes of all microbatches, and transfers that they wait for
  Picoseconds issued = 0;         // before that the host has not issued the last pass
  bool awaits_sends = false;      // whether a pass waits for what the one before sends
  Picoseconds on = 0;             // a transfer to the next stage, of several chunks the shortest
  Picoseconds back = 0;           // to the one before
  double energy_j = 0;            // of one microbatch
};
std::vector<StagePasses> stage_passes(const Branch& branch, const PipelineChoice& choice, int own);

// A stage's last pass follows that of the stage behind it. `end`: of each place (LayoutCosts).
void follow_backward(const Branch& branch, std::span<const StagePasses> stages, int own, std::vector<Picoseconds>& end);

// The blocks of every stage's chunks.
std::vector<std::vector<ChunkPlan>> chunks_of(const Branch& branch, const PipelineChoice& choice);

// Of a whole strategy; `states`: of each stage and class of replicas.
Picoseconds iteration_bound(const Branch& branch, const PipelineBound& passes, std::span<const StateTerms> states,
                            const StateChoice& choice);

}  // namespace mirfak
