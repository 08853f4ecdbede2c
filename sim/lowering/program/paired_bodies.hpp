#pragma once

#include "program/body.hpp"

#include <vector>

namespace mirfak {

// A forward and a backward body of different microbatches that run in parallel on the streams of one rank: kernels take
// turns, and the communication of one body overlaps with the kernels of the other (DeepSeek-V3, arXiv 2412.19437,
// figure 4). The steps of each body keep their order. The step that can start first goes first; of two steps that can
// start together, the one whose body reaches its next communication sooner. A kernel that overlaps with a collective of
// the other body takes longer if the collective holds multiprocessors (lost_beside).
struct PairedBody {
  Body body;
  // Origin of a step: its body, and its index there.
  struct Origin {
    bool backward = false;
    int step = 0;
  };
  std::vector<Origin> origins;
};
// `memory_bytes_per_s`: bandwidth of a memory that kernels share with collectives of the other body, too; 0: kernels
// lose multiprocessors alone. `alone`: steps at the start of the backward body that run before all others.
PairedBody pair_bodies(const Body& forward, const Body& backward, double memory_bytes_per_s = 0, std::size_t alone = 0);

// Additional time of a kernel that begins `left` before a collective of the other body ends. `kernel.device`: the time
// of the kernel alone. A kernel needs u of the memory's bandwidth, and the collective leaves 1 - m of it: the kernel
// loses the larger of the collective's share of the multiprocessors and 1 - (1 - m) / u.
Picoseconds lost_beside(const BodyStep& collective, Picoseconds left, const BodyStep& kernel,
                        double memory_bytes_per_s);

}  // namespace mirfak
