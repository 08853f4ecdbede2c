// Private to the room.
#pragma once

namespace mirfak {

// Returns the largest number up to `most` that `accepts` accepts, or 0; it accepts all numbers up to that number.
template <typename Accepts>
int largest(int most, const Accepts& accepts) {
  int accepted = 0;
  while (accepted < most) {
    const int middle = accepted + (most - accepted + 1) / 2;
    accepts(middle) ? accepted = middle : most = middle - 1;
  }
  return accepted;
}

}  // namespace mirfak
