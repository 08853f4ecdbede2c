#pragma once

#include "program/body.hpp"
#include "program/job.hpp"
#include "sharding/partition.hpp"

namespace mirfak {

// What Muon does with a block's matrices beside its momentum, once an iteration on one device.
struct Orthogonalization {
  double seconds = 0;
  double largest_s = 0;  // of one matrix: whole ones are divided over ranks
  double energy_j = 0;   // above that of waiting
  double flop = 0;
  double bytes = 0;
};

// Elements, on one device, of the matrices of a layer that products multiply by. Embeddings and output projections are
// none of Muon's, nor are norms and biases (arXiv 2502.16982, section 2).
double matrix_elements(const PartitionedBlock& block);

// Five Newton-Schulz iterations in 16 bits, X <- a X + (b A + c A A) X with A = X X^T, of each matrix on a device, of
// experts each by itself, what packs several weights as one: with m <= n its rows and columns 4 m^2 n + 2 m^3 FLOP an
// iteration. A tensor rank takes its part of a matrix for a whole one (Megatron-LM: --muon-tp-mode blockwise).
Orthogonalization price_orthogonalization(const PartitionedBlock& block, const KernelModel& kernels);

}  // namespace mirfak
