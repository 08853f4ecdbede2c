#pragma once

#include "program/data_parallel.hpp"

#include <vector>

namespace mirfak {

// Exchanges of ZeRO++ (arXiv 2306.10209), as DeepSpeed runs them (deepspeedai/DeepSpeed v0.19.8,
// runtime/zero/partition_parameters.py, runtime/comm/coalesced_collectives.py). P parameters of w bytes on N ranks, of
// which L share a node and h share a second copy; s values share a scale of 4 bytes:
//   qwZ   a gather brings every rank (1 + 4/s) P bytes, not w P, as one collective of values and one of scales. Kernels
//         quantize a rank's P/N (or P/h) values, and give P values back.
//   hpZ   the first forward pass of an iteration gathers among all N ranks, and each rank keeps P/h of what arrives
//         until the step; all later passes gather among h ranks.
//   qgZ   each tensor of several axes crosses in 4 bits: P/2 bytes are exchanged among the L ranks of a node, which sum
//         what they get and exchange P/(2 L) bytes with the ranks in the same place of the other N/L nodes, which sum
//         again. Scales, one for each `hidden` values, cross in exchanges of their own. All other tensors, and those
//         that 2 N does not divide, are reduced and scattered in their own format. Inside one node nothing is
//         quantized.
// Parameters of experts, which all replicas hold here, are as all others.

// True if gradients cross in 4 bits: where the strategy asks for that and replicas lie in several nodes.
bool reduces_quantized(const Job& job);
// True if the gradient of a tensor of several axes can cross in 4 bits.
bool is_quantizable(const Job& job, double elements);

std::vector<ReplicaCollective> quantized_reduction(const Job& job, const HeldParameters& held);
// `width`: bytes of a parameter that is gathered without quantization.
std::vector<ReplicaCollective> gather_of_copies(const Job& job, double width, const HeldParameters& held,
                                                GatheredFrom from);

// Number of ranks that share the copy that a gather reads.
int holders_of(const Job& job, GatheredFrom from);
// Bytes of a stage's second copy on one rank; 0 without one.
double second_copy_bytes(const Job& job, const StageParameters& of);

// Bytes of buffers in narrow formats: the values that arrive for a part of a pass, and the two ends of an exchange of
// the largest gradient.
double exchange_buffers(const Job& job, double arriving, double largest);

// A kernel around an exchange: its name, the bytes that all its launches move, and their number.
struct ExchangeKernel {
  const char* name = "";
  double bytes = 0;
  int launches = 1;
};
// Returns the kernels that quantize the values that a gather sends, and give back the values that arrive.
std::vector<ExchangeKernel> gather_kernels(const Job& job, const HeldParameters& gathered, GatheredFrom from);
// Returns the kernels that quantize, sum and give back gradients.
std::vector<ExchangeKernel> reduction_kernels(const Job& job, const HeldParameters& reduced);

}  // namespace mirfak
