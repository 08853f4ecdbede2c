#pragma once

namespace mirfak {

// Power that a kernel bound by memory draws at any clock, as a share of the GPU's power limit ex factory. Recalled, to
// be confirmed: 270 to 300 of 400 W while an A100 streams.
inline constexpr double kMemoryBoundDraw = 0.7;

}  // namespace mirfak
