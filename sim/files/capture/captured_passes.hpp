#pragma once

#include "capture/captured_program.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mirfak {

enum class CapturedPassKind : std::uint8_t { forward, backward, other };

// A pass of a rank: kernels that follow each other on the stream on which it computes, between two points at which the
// rank and others wait for each other or the phase changes. Recomputation is part of the backward pass.
struct CapturedPass {
  std::size_t rank = 0;  // index of CapturedProgram::ranks
  CapturedPassKind kind{};
  std::size_t first = 0;             // its first kernel: index of PricedRank::tasks
  std::size_t last = 0;              // its last kernel
  std::vector<std::size_t> kernels;  // all that are launched meanwhile, on any stream: indices of PricedRank::clock

  Picoseconds start(const CapturedProgram& executed) const;
  Picoseconds end(const CapturedProgram& executed) const;
};

// An executed capture as a program of whole passes and of messages.
struct PassProgram {
  // One rank for each of CapturedProgram::ranks, in its order; it stands for those that did the same. Tasks of passes
  // have classes of their own, as have messages and all other tasks together. Executed, each pass begins and ends when
  // it does in the capture: what else a rank does between passes (gradients on their way, the host, the optimizer) is a
  // task of as long as it takes there.
  Program program;
  std::vector<CapturedPass> passes;  // by rank, then in their order
  std::vector<TaskId> task_of;       // by pass
};

// Divides the execution of a capture into passes. Error(infeasible) if captured ranks meet inside passes of a
// microbatch, as those of a tensor-parallel group do: `capture` names the module.
PassProgram pass_program(const Capture& capture, const CapturedProgram& executed);

}  // namespace mirfak
