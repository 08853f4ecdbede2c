#pragma once

#include "sweep/run_sweep.hpp"

#include <cstdint>
#include <string>

namespace mirfak {

// What a run of a sweep, or of a shard of it, would take: points of all its parts are simulated for a second or two,
// and the rest is taken to be like them.
struct SweepEstimate {
  std::uint64_t points = 0;   // of the shard
  std::uint64_t sampled = 0;  // of these, those that the figures are from
  int threads = 1;
  double seconds = 0;       // on so many threads
  double disk_bytes = 0;    // of the finished points; the table, which replaces them, takes about as much
  double memory_bytes = 0;  // while the table is written
};

// Errors as of run_sweep, as far as the sampled points meet them. Writes nothing.
SweepEstimate estimate_sweep(const SweepFile& sweep, const DataFolders& folders, const SweepOptions& options);

// "1,536 points: about 3.1 s on 2 cores, 1.2 MiB on disk, 1.5 MiB of memory while the table is written"
std::string estimate_text(const SweepEstimate& estimate);

}  // namespace mirfak
