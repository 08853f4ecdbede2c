#pragma once

#include "program/data_parallel.hpp"
#include "program/memory.hpp"
#include "program/pass_parts.hpp"

#include <vector>

namespace mirfak {

// Exchanges of weights that replicas divide (divided_weights.hpp). G neighbouring replicas share one copy of a weight,
// C = replicas / G hold the same part; w bytes of a weight, g of a gradient, P elements on the tensor rank:
//   each forward pass     gathers w P among the G replicas that share a copy, weight by weight
//   each backward pass    gathers them again, and once more what it recomputes; reduces and scatters g P among them
//   once an iteration     among the C replicas with the same part: gradients are reduced (and scattered with ZeRO 1),
//                         parameters gathered, g P/G and w P/G bytes, as replicas do with all parameters otherwise
// A rank holds w P/G, gradients of g P/G, and the optimizer's state of P/G, with ZeRO 1 of P/(G C). Experts have groups
// of their own. Embeddings are gathered in forward passes alone. Gradients of what stays whole are summed over the C
// replicas with the others, then over the G.
// Weights in MXFP8 cross in passes as they are kept, by rows in forward passes and by columns in backward passes; once
// an iteration they cross in 16 bits, and each rank makes its part anew.

// Returns the part of some parameters that one rank holds: as shard_of().
double part_of_rank(const Job& job, const HeldParameters& held, Sharding StateSharding::*lies);

// Collectives among replicas that share a copy of weights, for a part of a pass: `weights` on one tensor rank, whole.
std::vector<ReplicaCollective> weight_gather(double width, const HeldParameters& weights);
std::vector<ReplicaCollective> weight_reduction(const Job& job, const HeldParameters& weights);
// Collectives among replicas that hold the same part of weights, once an iteration: `held` by one tensor rank, whole.
std::vector<ReplicaCollective> gather_of_parts(const Job& job, const HeldParameters& held);
std::vector<ReplicaCollective> reduction_of_parts(const Job& job, const HeldParameters& held);
// Collectives that end the reduction of what stays whole, after all others.
std::vector<ReplicaCollective> reduction_of_whole(const Job& job, const HeldParameters& held);

// The kernels of a part of a pass: gradients are divided by G before they are reduced, and what arrives is added to the
// rank's own part (_prescale_wgrads_for_mean_rs and _wait_reduce_scatter).
Body weight_kernels(const Job& job, const StageCosts& costs, const PassPart& part);

// Parameters, gradients, optimizer state and buffers of a stage whose weights are divided; other members are 0. The
// buffers stay: one that a weight is gathered into, for each of StageParameters::buffers, one that its gradient is
// reduced from, and one that a rank's part of the gradient arrives in (GTPWeightCache, _wgrad_buf_pool). While the
// weights of one layer's experts are used, those of the next layer's arrive, in buffers of their own, unless whole
// iterations are graphs (section 3.4 of the document). Weights in MXFP8 are kept, and gathered, by rows and by columns
// in buffers of their own. Alignment of parts is not counted.
MemoryUse divided_state(const Job& job, const StageParameters& of);

}  // namespace mirfak
