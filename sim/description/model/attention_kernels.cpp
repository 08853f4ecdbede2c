#include "model/attention_kernels.hpp"

namespace mirfak {

const std::vector<std::string>& attention_kernel_names() {
  static const std::vector<std::string> names = {"flash-1", "triton", "flash-2", "flash-3",
                                                 "cudnn",   "trtllm", "aiter",   "aotriton"};
  return names;
}

}  // namespace mirfak
