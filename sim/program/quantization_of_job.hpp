#pragma once

#include "cost/kernel_model.hpp"
#include "graph/quantization.hpp"
#include "program/job.hpp"

#include <optional>

namespace mirfak {

// How the linear layers of a job's transformer layers are quantized, as Transformer Engine does it on the cluster's
// GPUs; nullopt where they run in the precision of activations.
std::optional<Quantization> quantization_of(const Job& job);

// In which precisions the job's kernels compute.
KernelPrecision kernel_precision(const Job& job);

// Whether the GPU multiplies in the job's formats: microscaling needs tensor cores that apply its scales (Blackwell).
bool can_train(const GpuSpec& gpu, const Job& job);

}  // namespace mirfak
