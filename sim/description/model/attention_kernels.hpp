#pragma once

#include <string>
#include <vector>

namespace mirfak {

// Returns the names of the generations of fused attention: "flash-1", "flash-2", "flash-3" (arXiv 2205.14135,
// 2307.08691, 2407.08608), "triton" (flash-1 in Triton 2.0), "cudnn" (its fused attention, 9.x), "trtllm" (the
// context kernels of TensorRT-LLM, which the published sweeps time), and for AMD's GPUs "aiter" (AMD's assembly
// kernels, which Transformer Engine and Primus run) and "aotriton" (PyTorch's scaled_dot_product_attention). Profiles
// of GPUs state the speed of each generation, frameworks state which generations they prefer.
const std::vector<std::string>& attention_kernel_names();

}  // namespace mirfak
