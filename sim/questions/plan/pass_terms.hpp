#pragma once

#include "program/body_cache.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace mirfak {

// Time and energy of a row of blocks on one kind of stage. Times are at the highest clock that its devices hold;
// energy, which falls with the clock, is at the lowest. No strategy needs less of either.
struct PassTerms {
  Picoseconds forward = 0;  // time of the compute stream
  Picoseconds backward = 0;
  Picoseconds forward_kernels = 0;  // time of its kernels alone
  Picoseconds backward_kernels = 0;
  Picoseconds halves = 0;         // a backward pass run as two halves
  Picoseconds of_inputs = 0;      // the half of these that the stage before waits for
  Picoseconds issue_forward = 0;  // time of the host
  Picoseconds issue_backward = 0;
  Picoseconds issue_halves = 0;
  double energy_j = 0;  // both passes, above that of waiting

  PassTerms& operator+=(const PassTerms& other) { return add(other, 1); }
  PassTerms& operator-=(const PassTerms& other) { return add(other, -1); }

 private:
  // Inline because bounds add up millions of terms.
  PassTerms& add(const PassTerms& other, int sign) {
    forward += sign * other.forward;
    backward += sign * other.backward;
    forward_kernels += sign * other.forward_kernels;
    backward_kernels += sign * other.backward_kernels;
    halves += sign * other.halves;
    of_inputs += sign * other.of_inputs;
    issue_forward += sign * other.issue_forward;
    issue_backward += sign * other.issue_backward;
    issue_halves += sign * other.issue_halves;
    energy_j += sign * other.energy_j;
    return *this;
  }
};

// Terms of a model's blocks on one kind of stage at one clock.
struct KindTerms {
  // Sums over all layers before each layer, if they are recomputed and if they are kept.
  std::vector<PassTerms> recomputed;
  std::vector<PassTerms> kept;
  PassTerms embedding;
  PassTerms head;
  // The most by which the host's work on a block takes longer than the device needs from its beginning to the block's
  // end: a pass ends no earlier than the host's work on it, less this.
  Picoseconds host_outlasts = 0;
  std::shared_ptr<const std::vector<BlockBodies>> bodies;  // by BlockId

  const BlockBodies& of(BlockId block) const { return (*bodies)[static_cast<std::size_t>(block)]; }
};

// Terms of every place (LayoutCosts): one object for all places of a kind.
using PlaceTerms = std::vector<const KindTerms*>;

}  // namespace mirfak
