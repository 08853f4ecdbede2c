#pragma once

#include "program/body.hpp"
#include "program/job.hpp"
#include "sharding/partition.hpp"

namespace mirfak {

// Optimizer steps in a subspace of the gradients (GaLore, arXiv 2403.03507; jiaweizzhao/GaLore@1317b5f, galore_torch).
// The optimizer has states for r n values of a matrix of m rows and n columns, m <= n, and an m x r projector. A
// step projects the gradient and takes the update back, a product of 2 r m n FLOP each; every k-th step finds the
// projector by a singular value decomposition of the gradient, in fp32. Embeddings, the head, norms and biases have
// whole states.
//
// With quantized projectors (Q-GaLore, arXiv 2407.08296; q-galore-torch 1.0, q_galore_projector.py) a value is a byte,
// whatever its bits, with a scale and a zero for every 256; each of the two products makes whole values first: a cast,
// a difference and a product, each a kernel. Its searches come more rarely where subspaces stay alike, which data
// decide.

// Values that the matrices of a block have, on one device.
struct LowRankState {
  double elements = 0;    // of the matrices
  double projected = 0;   // of projections of their gradients: r times the longer side
  double projectors = 0;  // r times the shorter side
};
LowRankState low_rank_state(const PartitionedBlock& block, int rank);
// Bytes that a value of a projector is kept in, with its share of scales.
double projector_bytes(const Job& job);

// Work on a block's matrices in addition to the optimizer's own, once an iteration.
struct LowRankStep {
  double seconds = 0;   // products, and the share of a search that falls on an iteration
  double search_s = 0;  // one search for all projectors
  double energy_j = 0;  // above the energy of waiting
  double flop = 0;
  double bytes = 0;
};
LowRankStep price_low_rank_step(const Job& job, const PartitionedBlock& block, const KernelModel& kernels);

}  // namespace mirfak
