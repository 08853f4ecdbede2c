#pragma once

#include <string>
#include <vector>

namespace mirfak {

// Names of the generations of fused attention: "flash-1", "flash-2", "flash-3" (arXiv 2205.14135, 2307.08691,
// 2407.08608), "triton" (the first of these in Triton 2.0), "cudnn" (its fused attention, 9.x) and "trtllm" (the
// context kernels of TensorRT-LLM, which the published sweeps are of). Profiles of GPUs say how fast each is there,
// frameworks which they prefer.
const std::vector<std::string>& attention_kernel_names();

}  // namespace mirfak
