#pragma once

#include "program/body.hpp"
#include "program/job.hpp"
#include "sharding/partition.hpp"

#include <vector>

namespace mirfak {

// Work of Muon on a block's matrices in addition to its momentum, once an iteration on one device.
struct Orthogonalization {
  double seconds = 0;
  double largest_s = 0;  // for one matrix: ranks share work by whole matrices
  double energy_j = 0;   // above the energy of waiting
  double flop = 0;
  double bytes = 0;
};

// Returns rows and columns of a layer's matrices that products multiply by, as m and n; batch: number of experts; k has
// no meaning. None of embeddings and output projections.
std::vector<GemmShape> matrices_of(const PartitionedBlock& block);

// Elements, on one device, of a layer's matrices that products multiply by. Muon does not apply to embeddings, output
// projections, norms and biases (arXiv 2502.16982, section 2).
double matrix_elements(const PartitionedBlock& block);

// Prices five Newton-Schulz iterations in 16 bits, X <- a X + (b A + c A A) X with A = X X^T, for each matrix on a
// device. Each expert has a matrix of its own; a tensor that packs several weights counts as one matrix. With m <= n
// its rows and columns, one iteration takes 4 m^2 n + 2 m^3 FLOP. A tensor rank treats its part of a matrix as a whole
// one (Megatron-LM: --muon-tp-mode blockwise).
Orthogonalization price_orthogonalization(const PartitionedBlock& block, const KernelModel& kernels);

}  // namespace mirfak
