#pragma once

#include <algorithm>

namespace mirfak {

// Power that a kernel bound by memory draws at any clock, as a share of the GPU's power limit ex factory. Recalled, to
// be confirmed: 270 to 300 of 400 W while an A100 streams.
inline constexpr double kMemoryBoundDraw = 0.7;

// Lowest power limit that is modelled, as a share of the limit ex factory. Zeus's sweeps of limits (NSDI'23; V100, A40,
// RTX 6000; training that draws 0.9 of the limit ex factory) take 1.11 times as long at 0.7 and 1.18 to 1.22 times at
// 0.58 to 0.6, and the law of clocks says 1.12 and 1.19 to 1.21 (kPowerExponent). At 0.5 they
// take 1.43 to 1.64 times as long, and the law says 1.29: there the voltage falls no further.
inline constexpr double kLowestLimitShare = 0.55;

// Returns the power that a kernel bound by memory draws under a limit, both as shares of the limit ex factory. Under a
// limit below kMemoryBoundDraw the controller lowers the clock of the cores until the kernel keeps the limit, and
// memory keeps its speed.
inline double memory_bound_draw(double limit_share) { return std::min(kMemoryBoundDraw, limit_share); }

}  // namespace mirfak
