#pragma once

#include "program/paired_bodies.hpp"

#include <array>
#include <vector>

namespace mirfak {

// Place of a block in a row of blocks of a pass whose two parts of a microbatch run at the same time. The late part
// ends a block with its last collective and the steps after it (the late steps), while the early part has nothing left
// to compute. So the late steps run in the next block of the row, during the early part's first kernels.
struct RowPlace {
  bool takes = false;  // runs the late steps of the block before
  bool hands = false;  // leaves its late steps to the next block
};
inline constexpr std::size_t kRowPlaces = 4;
inline constexpr std::size_t index_of(RowPlace place) { return (place.takes ? 1U : 0U) + (place.hands ? 2U : 0U); }

// The body of a block at one place of a row, with both parts' steps. Origin::backward: the step is of the early part.
struct PlacedBody {
  PairedBody steps;
  FoldedBody folded;
};

// The bodies of a block at all places of a row, indexed by index_of(RowPlace). A row of n blocks takes as long as
// executing both parts of its n blocks one after the other on the streams, each part in its own order: blocks meet only
// where the early part's collectives have ended, which its next block waits for anyway.
struct RowBodies {
  std::vector<PlacedBody> at;  // empty: microbatches run whole
  Body late;                   // the late steps

  bool empty() const { return at.empty(); }
  const PlacedBody& placed(RowPlace place) const { return at[index_of(place)]; }
};

// Bytes that kernels and collectives of both parts move through the memory of a GPU per second, at most.
double shared_memory_bytes_per_s(const GpuSpec& gpu);

// Merges two equal parts of a microbatch; `part` is the body of one of them. Kernels beside a collective of the other
// part are slower: the collective holds multiprocessors, and moves bytes through a memory of `memory_bytes_per_s`.
RowBodies row_bodies(const Body& part, double memory_bytes_per_s);

// True if a block may leave its late steps to the block after it: the late steps of both blocks are alike.
bool hands_on(const RowBodies& block, const RowBodies& next);

}  // namespace mirfak
