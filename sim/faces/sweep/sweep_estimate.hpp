#pragma once

#include "sweep/run_sweep.hpp"

#include <cstdint>
#include <string>

namespace mirfak {

// The estimated cost of a run of a sweep, or of a shard of it: points of all parts of the sweep are simulated for a
// second or two, and the other points are assumed to cost as much.
struct SweepEstimate {
  std::uint64_t points = 0;   // points of the shard
  std::uint64_t sampled = 0;  // points of `points` that the figures come from
  int threads = 1;
  double seconds = 0;       // on `threads` threads
  double disk_bytes = 0;    // size of the finished points; the table, which replaces them, takes about as much
  double memory_bytes = 0;  // while the table is written
};

// Estimates a sweep. Errors as of run_sweep, as far as the sampled points meet them. Writes nothing.
SweepEstimate estimate_sweep(const SweepFile& sweep, const DataFolders& folders, const SweepOptions& options);

// Returns "1,536 points: about 3.1 s on 2 cores, 1.2 MiB on disk, 1.5 MiB of memory while the table is written".
std::string estimate_text(const SweepEstimate& estimate);

}  // namespace mirfak
