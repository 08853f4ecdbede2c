#pragma once

#include "sharding/device_mesh.hpp"

#include <vector>

namespace mirfak {

// How activations of a microbatch, or their gradients, get from the ranks of one mesh to those of another (cross-mesh
// resharding: Alpa, arXiv 2201.12023, section 6; arXiv 2211.05322). On both, replica r of d holds the sequences
// [r, r + 1) / d of the microbatch, in the order of their numbers; tensor rank t of n holds the tokens [t, t + 1) / n
// of these where tokens are divided over tensor ranks, else all of them, as the others do. There are no context ranks.
//
// Of two meshes the number of replicas of one divides that of the other, and so with tensor ranks. So ranks fall into
// equal groups on both sides, each holding together on one side what it needs on the other, and in a group every
// sender sends a piece of the same size to every receiver.
class CrossMesh {
 public:
  // Of meshes that strategies make (mesh_of). Error(internal) where sizes do not divide, or a mesh has context ranks.
  CrossMesh(const DeviceMesh& from, const DeviceMesh& to);

  // What a receiver is sent where tensor ranks share what they need.
  enum class Pieces : std::uint8_t {
    whole,  // all that it needs, which others are sent too
    parts,  // its own part, of tokens or of what the receiver's tensor ranks then gather
  };

  bool same() const { return from_.data == to_.data && from_.tensor == to_.tensor; }
  // Ranks of a group on either side.
  int senders() const { return from_.data / groups_.data * (from_.tensor / groups_.tensor); }
  int receivers() const { return to_.data / groups_.data * (to_.tensor / groups_.tensor); }
  // How many messages' worth a sender holds, whose tokens are `divided` over tensor ranks or not. Where they are,
  // pieces are parts.
  int messages_in_sender(Pieces pieces, bool divided) const;

  // A rank by its place.
  struct Place {
    int data = 0;
    int tensor = 0;

    friend bool operator==(const Place&, const Place&) = default;
  };
  int groups() const { return groups_.data * groups_.tensor; }
  std::vector<Place> senders_of(int group) const { return places_of(group, from_); }
  std::vector<Place> receivers_of(int group) const { return places_of(group, to_); }

  // [begin, end) as shares of a whole.
  struct Interval {
    double begin = 0;
    double end = 0;

    double length() const { return end - begin; }
  };
  // What a sender sends to a receiver of its group: sequences of the microbatch, and of each of these a stretch of
  // tokens.
  struct Piece {
    Interval sequences;
    Interval tokens;
  };
  Piece piece(const Place& sender, const Place& receiver, Pieces pieces) const;

 private:
  struct Sizes {
    int data = 1;
    int tensor = 1;
  };
  static Sizes sizes_of(const DeviceMesh& mesh);
  std::vector<Place> places_of(int group, const Sizes& of) const;

  Sizes from_;
  Sizes to_;
  Sizes groups_;  // how many there are along either axis: the smaller of both sides
};

}  // namespace mirfak
