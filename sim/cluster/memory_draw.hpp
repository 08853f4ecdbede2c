#pragma once

namespace mirfak {

// What a kernel draws that waits for memory, as a share of the power limit that a GPU leaves its factory with, whatever
// the clock. Recalled, to be confirmed: 270 to 300 of 400 W while an A100 streams.
inline constexpr double kMemoryBoundDraw = 0.7;

}  // namespace mirfak
