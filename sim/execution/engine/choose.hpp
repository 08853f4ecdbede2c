#pragma once

#include <cstdint>

namespace mirfak {

// Returns `one` if `wanted`, else `other`, without a branch: for random conditions, which would be mispredicted every
// other time. Compilers turn the plain conditional expression into a branch where they expect it to be shorter.
inline std::int64_t choose(bool wanted, std::int64_t one, std::int64_t other) {
  return other ^ ((one ^ other) & -static_cast<std::int64_t>(wanted));
}

}  // namespace mirfak
