#pragma once

#include <algorithm>

namespace mirfak {

// Exponent with which the draw of a busy device grows with the clock (voltage falls with the clock). It is 2.3 to 2.8
// on an A100 between 0.93 and 1 of its highest clock: 200 + 287 c^4.7 W, fitted to the profiles of Perseus (arXiv
// 2312.06902).
inline constexpr double kPowerExponent = 2.3;

// Power that a kernel bound by memory draws at any clock, as a share of the GPU's power limit ex factory. Recalled, to
// be confirmed: 270 to 300 of 400 W while an A100 streams.
inline constexpr double kMemoryBoundDraw = 0.7;

// Power limit, as a share of the limit ex factory, under which the voltage is at its floor (gpu_throttle.hpp).
// Zeus's sweeps of limits (NSDI'23; V100, A40, RTX 6000; training that draws 0.9 of the limit ex factory) take 1.11
// times as long at 0.7 and 1.18 to 1.22 times at 0.58 to 0.6, and the law of clocks says 1.12 and 1.19 to 1.21
// (kPowerExponent). At 0.5 they take 1.43 to 1.64 times as long, and the law would say 1.29.
inline constexpr double kVoltageFloorLimit = 0.55;

// Returns the power that a kernel bound by memory draws under a limit, both as shares of the limit ex factory. Under a
// limit below kMemoryBoundDraw the controller lowers the clock of the cores until the kernel keeps the limit, and
// memory keeps its speed down to kVoltageFloorLimit.
inline double memory_bound_draw(double limit_share) { return std::min(kMemoryBoundDraw, limit_share); }

}  // namespace mirfak
