#include "model/attention_kernels.hpp"

#include <algorithm>

namespace mirfak {

namespace {

constexpr std::string_view kIn8Bits = "fp8";

}  // namespace

const std::vector<std::string>& attention_kernel_names() {
  static const std::vector<std::string> names = {"flash-1",   "triton",      "flash-2", "flash-3", "cudnn",
                                                 "cudnn-fp8", "cudnn-mxfp8", "trtllm",  "aiter",   "aotriton"};
  return names;
}

bool attention_in_8_bits(std::string_view name) { return name.ends_with(kIn8Bits); }

std::vector<std::string> attention_in_8_bits_of(std::span<const std::string> kernels, bool micro_scaled) {
  std::vector<std::string> out;
  for (const std::string& name : kernels) {
    const std::size_t end = std::min(name.find('@'), name.size());
    std::string& narrow = out.emplace_back(name.substr(0, end));
    narrow += micro_scaled ? "-mx" : "-";
    narrow += kIn8Bits;
    narrow += name.substr(end);
  }
  return out;
}

}  // namespace mirfak
