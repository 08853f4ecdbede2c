// Requirements of a fuzz target on the code that it feeds. A broken one is said before the program aborts, so that the
// log of a search shows more than a stack.

#pragma once

#include "base/error.hpp"

#include <cstdio>
#include <cstdlib>

namespace mirfak {

// std::source_location is not there with every libFuzzer's compiler (clang 14 with libstdc++); its two builtins are.
inline void require(bool condition, const char* says = "", const char* file = __builtin_FILE(),
                    int line = __builtin_LINE()) {
  if (condition) return;
  std::fprintf(stderr, "%s:%d: does not hold. %s\n", file, line, says);
  std::abort();
}

// Bad input is refused at its place, as bad input.
inline void require_refusal(const Error& error, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  require(error.kind() == ErrorKind::input && error.where().known(), error.what(), file, line);
}

}  // namespace mirfak
