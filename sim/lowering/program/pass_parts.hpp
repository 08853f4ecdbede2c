#pragma once

#include "program/data_parallel.hpp"
#include "program/job.hpp"
#include "program/stage_plan.hpp"

#include <span>
#include <vector>

namespace mirfak {

// Some consecutive blocks of a pass, [first, last) in the order of the pass, with the parameters (of one rank) that are
// gathered before them and the parameters whose gradients are reduced after them.
struct PassPart {
  int first = 0;
  int last = 0;
  HeldParameters gathers;
  HeldParameters casts;  // gathered parameters that an optimizer steps: their shards have its precision
  HeldParameters reduces;
  HeldParameters parts = {};                 // parameters of which replicas hold the same parts (weight_exchange.hpp)
  GatheredFrom from = GatheredFrom::shards;  // copy that such parts gather from, all but the first of an iteration
};

// Cuts a pass of a chunk into parts at collectives of the replicas; the consecutive parts make up the pass. Empty if no
// collectives cut it. A backward pass that reduces in buckets only after its last microbatch is cut here as well.
std::vector<PassPart> split_pass(const Job& job, const ChunkPlan& chunk, Pass::Kind kind);

// The kernels that a framework runs around the collectives of a part: casts of shards, copies of gathered parameters,
// copies of gradients into the buffer that is reduced, scaling, casts. Empty if the framework has none.
Body replica_copies(const Job& job, const StageCosts& costs, const PassPart& part);

// Seconds that kernels lose. While a collective of `beside_s` seconds holds a share of the multiprocessors, kernels of
// `device_s` progress at a rate of 1 - share: when the collective ends, they are late by share x beside_s; kernels that
// end earlier are late by less.
double lost_beside(double beside_s, double share, double device_s);

// True if a stage's passes wait for each reduction: if every backward pass reduces and the framework blocks. False if
// the strategy overlaps reductions with the last backward pass.
bool reductions_block(const Framework& framework, const DataParallelPlan& plan);

// Collectives that overlap with kernels: their seconds, and these seconds times the share of multiprocessors that they
// hold.
struct HeldBeside {
  double seconds = 0;
  double held_s = 0;
};
// Collectives of one part of a pass that passes do not wait for.
struct PartCollectives {
  HeldBeside gather;
  HeldBeside reduce;
};
std::vector<PartCollectives> collectives_of(const Job& job, const StageCosts& costs, const StageParameters& parameters,
                                            std::span<const PassPart> parts);

// The collectives that overlap with the kernels of a part: the gather for the next part and the reduction of the
// previous part. If passes that communicate follow each other, these are taken to be as large as the part's own. A
// stage's first chunk begins first and ends last: nothing overlaps with the gather before its first forward pass, or
// with the reduction after its last backward pass. `parts`: all parts of the pass.
PartCollectives collectives_beside(const DataParallelPlan& plan, int chunk, std::span<const PartCollectives> parts,
                                   std::size_t part);

// The seconds that kernels of `device_s` take longer in parallel with collectives, whose channels hold multiprocessors.
double lost_to_collectives(const PartCollectives& beside, double device_s);

}  // namespace mirfak
