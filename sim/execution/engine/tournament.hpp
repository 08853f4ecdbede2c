#pragma once

#include "program/program.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace mirfak {

// Keeps the earliest of many times that keep changing: a tournament tree (Knuth, The Art of Computer Programming 3,
// section 5.4.1), eight times to a match. Each time is identified by its place.
//
// A time that neither wins its match nor won it before costs one comparison, and playing a match has no branch; a heap
// would move the time, and others with it, over a random number of levels.
class Tournament {
 public:
  static constexpr Picoseconds kNever = std::numeric_limits<Picoseconds>::max();

  // Returns the earliest time; kNever if there is none.
  Picoseconds earliest() const { return nodes_.front(); }

  // Returns the place of one of the earliest times; there must be one.
  std::uint32_t earliest_place() const {
    std::size_t node = 0;
    while (node < leaves_) {
      const Picoseconds time = nodes_[node];
      node = kPlayers * node + 1;
      while (nodes_[node] != time) ++node;
    }
    return static_cast<std::uint32_t>(node - leaves_);
  }

  // Adds a time and returns its place.
  std::uint32_t add(Picoseconds time) {
    if (free_.empty()) grow();
    const std::uint32_t place = free_.back();
    free_.pop_back();
    change(place, time);
    return place;
  }

  void remove(std::uint32_t place) {
    change(place, kNever);
    free_.push_back(place);
  }

  void change(std::uint32_t place, Picoseconds time) {
    const std::size_t node = leaves_ + place;
    const std::size_t match = (node - 1) / kPlayers;
    const Picoseconds before = std::exchange(nodes_[node], time);
    if (time < nodes_[match] || before == nodes_[match]) play(match);
  }

 private:
  static constexpr std::size_t kPlayers = 8;

  // Plays this match and the matches that follow from it.
  void play(std::size_t match) {
    while (true) {
      const Picoseconds* const players = &nodes_[kPlayers * match + 1];
      const Picoseconds winner = std::min(std::min(std::min(players[0], players[1]), std::min(players[2], players[3])),
                                          std::min(std::min(players[4], players[5]), std::min(players[6], players[7])));
      if (std::exchange(nodes_[match], winner) == winner || match == 0) return;
      match = (match - 1) / kPlayers;
    }
  }

  // Multiplies the number of places by eight, at first to eight. The existing places become the first of the new ones.
  void grow() {
    const std::size_t places = nodes_.size() - leaves_;
    const std::size_t taken = leaves_ == 0 ? 0 : places;
    std::vector<Picoseconds> before(nodes_.size() + places * kPlayers, kNever);
    std::swap(nodes_, before);
    const std::size_t first = std::exchange(leaves_, leaves_ + places);
    for (std::size_t place = places * kPlayers; place-- > taken;) free_.push_back(static_cast<std::uint32_t>(place));
    for (std::size_t place = 0; place < taken; ++place) {
      change(static_cast<std::uint32_t>(place), before[first + place]);
    }
  }

  // Each node is the earliest of its eight players, nodes 8 n + 1 to 8 n + 8 of node n; the nodes of the last round are
  // the places.
  std::vector<Picoseconds> nodes_{kNever};
  std::size_t leaves_ = 0;  // index of the first place in nodes_
  std::vector<std::uint32_t> free_;
};

}  // namespace mirfak
