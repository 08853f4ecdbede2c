#pragma once

#include "program/data_parallel.hpp"
#include "program/job.hpp"
#include "program/stage_plan.hpp"

#include <span>
#include <vector>

namespace mirfak {

// Some blocks of a pass in a row, [first, last) in the order of the pass, with the parameters (of one rank) that are
// gathered in front of them and those whose gradients are reduced behind them.
struct PassPart {
  int first = 0;
  int last = 0;
  HeldParameters gathers;
  HeldParameters reduces;
};

// Where collectives of the replicas cut a pass of a chunk; the parts in a row are the pass. Empty where they do not.
// A backward pass that reduces in buckets only after its last microbatch is cut here all the same.
std::vector<PassPart> split_pass(const Job& job, const ChunkPlan& chunk, Pass::Kind kind);

// The kernels that a framework runs around the collectives of a part: copies of what was gathered, of gradients into
// the buffer that is reduced, scaling, casts. Empty where it has none.
Body replica_copies(const Job& job, const StageCosts& costs, const PassPart& part);

// While a collective of `beside_s` seconds holds a share of the multiprocessors, kernels of `device_s` progress at a
// rate of 1 - share: they are behind by share x beside_s when it ends, or by as much as they do not end before it.
double lost_beside(double beside_s, double share, double device_s);

// True if a stage's passes wait for each reduction: of every backward pass where the framework blocks; not where the
// strategy overlaps them with the last one.
bool reductions_block(const Framework& framework, const DataParallelPlan& plan);

// Collectives that run beside kernels: for how long, and the share of the multiprocessors that they hold times that.
struct HeldBeside {
  double seconds = 0;
  double held_s = 0;
};
// Those of one part of a pass, where passes do not wait for them.
struct PartCollectives {
  HeldBeside gather;
  HeldBeside reduce;
};
std::vector<PartCollectives> collectives_of(const Job& job, const StageCosts& costs, const StageParameters& parameters,
                                            std::span<const PassPart> parts);

// The collectives that run while the kernels of a part do: the gather for the part behind it and the reduction of the
// part before it, taken to be as large as its own, as passes that communicate follow each other. A stage's first chunk
// begins first and ends last: beside the gather in front of its first forward pass, and the reduction behind its last
// backward pass, nothing runs. `parts`: of the pass.
PartCollectives collectives_beside(const DataParallelPlan& plan, int chunk, std::span<const PartCollectives> parts,
                                   std::size_t part);

// The seconds that kernels of `device_s` take longer beside such collectives, whose channels hold multiprocessors.
double lost_to_collectives(const PartCollectives& beside, double device_s);

}  // namespace mirfak
