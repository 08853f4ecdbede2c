#pragma once

#include "cluster/hardware.hpp"

namespace mirfak::measure {

// How a GPU runs kernels: what they compute in.
struct GpuPrecision {
  Precision wide = Precision::bf16;    // of all kernels but ...
  Precision narrow = Precision::bf16;  // ... products marked so (KernelWork::narrow): the same, or fp8
};

// How an executor on GPUs runs plans.
struct GpuSettings {
  GpuPrecision precision;
  bool loopback = false;  // all ranks on one GPU
  bool graphs = false;    // an iteration is one CUDA graph, else its tasks are handed to streams one by one
};

}  // namespace mirfak::measure
