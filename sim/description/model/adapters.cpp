// Sizes of bitsandbytes' formats (bitsandbytes 0.46, functional.py: quantize_4bit with blocks of 64, and nested absmax
// in blocks of 256; QLoRA, arXiv 2305.14314, section 3: 0.5 bits a weight for constants in fp32, 0.127 bits in 8 bits).
#include "model/adapters.hpp"

#include "graph/dequantization.hpp"

namespace mirfak {

namespace {

constexpr double kConstantBytes = 4;  // fp32
constexpr double kBlock = 64;         // weights of one constant
constexpr double kNestedBlock = 256;  // constants in 8 bits of one constant in fp32

}  // namespace

const std::vector<std::string>& frozen_base_names() {
  static const std::vector<std::string> names = {"as-trained", "nf4", "nf4-double", "int8"};
  return names;
}

NarrowWeights frozen_weights(FrozenBase base) {
  switch (base) {
    case FrozenBase::nf4:
      return {0.5 + kConstantBytes / kBlock, 1};
    case FrozenBase::nf4_double:
      return {0.5 + (1 + kConstantBytes / kNestedBlock) / kBlock, 2};  // constants are widened by a kernel of their own
    case FrozenBase::int8:
      return {1, 1};  // and a constant for each row, which is a few thousandths of a percent
    case FrozenBase::as_trained:
      break;
  }
  return {};
}

}  // namespace mirfak
