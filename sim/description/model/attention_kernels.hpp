#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Returns the names of the generations of fused attention: "flash-1", "flash-2", "flash-3" (arXiv 2205.14135,
// 2307.08691, 2407.08608), "triton" (flash-1 in Triton 2.0), "cudnn" (its fused attention, 9.x), "trtllm" (the
// context kernels of TensorRT-LLM, which the published sweeps time), and for AMD's GPUs "aiter" (AMD's assembly
// kernels, which Transformer Engine and Primus run) and "aotriton" (PyTorch's scaled_dot_product_attention). Profiles
// of GPUs state the speed of each generation, frameworks state which generations they prefer.
const std::vector<std::string>& attention_kernel_names();

// Returns whether kernels of this name compute in 8 bits: "cudnn-fp8" (one scale per tensor) and "cudnn-mxfp8" (one per
// 32 elements) do.
bool attention_in_8_bits(std::string_view name);

// Returns the names of the kernels in 8 bits of the same makers, in the same order: "cudnn@blackwell" becomes
// "cudnn-fp8@blackwell", or "cudnn-mxfp8@blackwell" if `micro_scaled`. A maker may have none.
std::vector<std::string> attention_in_8_bits_of(std::span<const std::string> kernels, bool micro_scaled);

}  // namespace mirfak
