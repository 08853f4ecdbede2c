#pragma once

#include <chrono>

namespace mirfak {

// Clock that times work of the program itself, for reports and time limits.
using WallClock = std::chrono::steady_clock;
inline double seconds_since(WallClock::time_point begin) {
  return std::chrono::duration<double>(WallClock::now() - begin).count();
}

}  // namespace mirfak
