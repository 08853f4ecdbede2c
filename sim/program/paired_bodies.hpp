#pragma once

#include "program/body.hpp"

#include <vector>

namespace mirfak {

// A forward and a backward body of different microbatches that run beside each other on the streams of one rank:
// kernels take turns, and the communication of one hides behind the kernels of the other (DeepSeek-V3, arXiv
// 2412.19437, figure 4). Each keeps its own order; what can start first goes first, and of two that can start together
// what reaches its next communication sooner. A kernel beside a collective of the other that holds multiprocessors
// takes longer (lost_beside).
struct PairedBody {
  Body body;
  // Where each step is from: its index in the one body or the other.
  struct Origin {
    bool backward = false;
    int step = 0;
  };
  std::vector<Origin> origins;
};
PairedBody pair_bodies(const Body& forward, const Body& backward);

}  // namespace mirfak
