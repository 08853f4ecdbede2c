#pragma once

#include "plan/pass_terms.hpp"
#include "program/data_parallel.hpp"

#include <tuple>
#include <vector>

namespace mirfak {

// One kind of pass of a chunk, cut into parts by collectives of the replicas.
struct CutPass {
  Picoseconds gather = 0;        // all gathers of its parts
  Picoseconds first_gather = 0;  // the first of these gathers
  Picoseconds reduce = 0;        // all reductions of its parts
  Picoseconds last_reduce = 0;   // the last of these reductions
  Picoseconds longer = 0;        // extra time against a pass that is not cut
  Picoseconds longer_later = 0;  // `longer` for a chunk that is not the stage's first
};

struct CutChunk {
  CutPass forward;
  CutPass backward;
  CutPass weights;  // the half of backward passes that makes gradients of weights, where the schedule splits them
};

// A stage's chunks, and when its replicas communicate.
struct CutStage {
  std::vector<CutChunk> chunks;
  DataParallelPlan plan;
};

// All that the cut passes of a branch's stage depend on: the terms of its passes, and numbers for its chunks, the state
// and the microbatches.
using CutStageKey = std::tuple<const KindTerms*, std::vector<int>>;

}  // namespace mirfak
