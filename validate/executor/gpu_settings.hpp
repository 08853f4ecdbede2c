#pragma once

#include "cost/kernel_model.hpp"

namespace mirfak::measure {

// Settings with which an executor on GPUs runs plans.
struct GpuSettings {
  KernelPrecision precision;
  bool loopback = false;  // all ranks on one GPU
  bool graphs = false;    // an iteration is one CUDA graph, else its tasks are handed to streams one by one
};

}  // namespace mirfak::measure
