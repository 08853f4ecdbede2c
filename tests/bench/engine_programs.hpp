#pragma once

#include "program/program.hpp"

#include <cstdint>

namespace mirfak {

// xorshift64*: a random number costs about a nanosecond, which a measured loop can bear.
class FastRandom {
 public:
  explicit FastRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1dULL;
  }
  // The delays of all hold models: uniform in [1 ps, 2.1 ms].
  Picoseconds delay() { return static_cast<Picoseconds>(next() >> 33) + 1; }

 private:
  std::uint64_t state_;
};

// As many pending events as streams: each stream is a chain of tasks of random duration, and the chains are
// interleaved in the program as a round-robin lowering would.
Program hold_program(std::uint32_t streams, std::uint32_t tasks_per_stream);

// 1F1B on one stream per stage, durations varying by a few percent.
Program one_forward_one_backward(std::uint32_t stages, std::uint32_t microbatches);

}  // namespace mirfak
