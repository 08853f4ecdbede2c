#pragma once

#include "cost/kernel_model.hpp"
#include "graph/quantization.hpp"
#include "program/job.hpp"

#include <optional>
#include <string>

namespace mirfak {

// Quantization of the linear layers in a job's transformer layers, as Transformer Engine does it on the cluster's GPUs;
// nullopt if these layers run in the precision of activations.
std::optional<Quantization> quantization_of(const Job& job);

// Precisions in which the job's kernels compute.
KernelPrecision kernel_precision(const Job& job);

// A number format of the job in which a GPU cannot compute.
struct FormatObstacle {
  std::string key;      // key that states the format: "training.precision"
  std::string message;  // "NVIDIA H100 cannot compute in mxfp8"
};

// Returns the format in which the GPU cannot compute; none: it can train the job. Scales of small groups need tensor
// cores that apply them (GpuSpec::scaled_formats), attention in 8 bits figures of such kernels, and linear layers in a
// narrow format whose scales attention can take over.
std::optional<FormatObstacle> format_obstacle(const GpuSpec& gpu, const Job& job);

}  // namespace mirfak
