#pragma once

#include <algorithm>
#include <cstdint>

namespace mirfak {

// Returns the sequences of a microbatch of so many tokens, if all have the same length (at most as long as that):
// as many as the tokens hold, in microbatches of equal size; `share`: sequences of a rank.
inline std::int64_t whole_sequences(std::int64_t share, std::int64_t tokens, std::int64_t length) {
  std::int64_t most = std::min(share, tokens / length);
  while (share % most != 0) --most;
  return most;
}

}  // namespace mirfak
