// Times that the operands of an operator move through memory where a framework runs it as several plain kernels, over
// those of one kernel. Private to the room.
#pragma once

namespace mirfak {

// 0.5 x (1 + tanh(c (x + 0.044715 x^3))), every operation a kernel: 18 tensors are moved where one kernel moves 2.
// Automatic differentiation moves 28 where one kernel moves 3.
inline constexpr double kChainedGelu = 18.0 / 2;
inline constexpr double kChainedGeluGradient = 28.0 / 3;

// The loss (Megatron-LM's vocab_parallel_cross_entropy): logits are cast to fp32 and then read or written by max,
// subtract, exp, sum and divide, 38 bytes per logit where one pass moves 6. The softmax is kept in fp32 for backward,
// which scales it in place and casts it: 14 bytes.
inline constexpr double kSeparateLoss = 38.0 / 6;
inline constexpr double kSeparateLossGradient = 14.0 / 6;

// A weight kept in fp32: 4 bytes read and 2 written, in units of the 2 that a weight has in products.
inline constexpr double kCast = 3;

}  // namespace mirfak
