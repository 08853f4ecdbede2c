#pragma once

#include <cstdint>

namespace mirfak {

// wanted ? one : other, without a branch. For what is a matter of chance, and would be mispredicted every other time;
// compilers turn the plain expression into a branch where they think it shorter.
inline std::int64_t choose(bool wanted, std::int64_t one, std::int64_t other) {
  return other ^ ((one ^ other) & -static_cast<std::int64_t>(wanted));
}

}  // namespace mirfak
