#pragma once

#include <span>
#include <vector>

namespace mirfak::measure {

// Ranks to time communication among, in ascending order, and on how many machines they are.
struct TimedGroup {
  std::vector<int> ranks;
  int machines = 1;

  friend bool operator==(const TimedGroup&, const TimedGroup&) = default;
};

// `machine_of`: by rank, a number of its machine. Of the machine that has most ranks (the first such) the first 2, 4,
// ... and all; where there are several machines, also the first rank of each, and all ranks.
std::vector<TimedGroup> collective_groups(std::span<const int> machine_of);

// The first two ranks of one machine, and the first of one with the first of another; as far as there are such.
std::vector<TimedGroup> transfer_pairs(std::span<const int> machine_of);

// The largest size up to `bytes`, and at least one, that falls into equal pieces of whole 16-byte words for `ranks`
// ranks: what is moved is then what a table says.
double whole_pieces(double bytes, int ranks);

}  // namespace mirfak::measure
