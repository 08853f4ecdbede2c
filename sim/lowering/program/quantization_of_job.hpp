#pragma once

#include "cost/kernel_model.hpp"
#include "graph/quantization.hpp"
#include "program/job.hpp"

#include <optional>

namespace mirfak {

// Quantization of the linear layers in a job's transformer layers, as Transformer Engine does it on the cluster's GPUs;
// nullopt if these layers run in the precision of activations.
std::optional<Quantization> quantization_of(const Job& job);

// Precisions in which the job's kernels compute.
KernelPrecision kernel_precision(const Job& job);

// True if the GPU multiplies in the job's formats: microscaling needs tensor cores that apply its scales (Blackwell).
bool can_train(const GpuSpec& gpu, const Job& job);

}  // namespace mirfak
