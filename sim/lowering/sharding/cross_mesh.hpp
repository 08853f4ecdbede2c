#pragma once

#include "sharding/device_mesh.hpp"

#include <vector>

namespace mirfak {

// Transfer of a microbatch's activations, or of their gradients, from the ranks of one mesh to the ranks of another
// (cross-mesh resharding: Alpa, arXiv 2201.12023, section 6; arXiv 2211.05322). On both meshes, replica r of d holds
// the sequences [r, r + 1) / d of the microbatch, in the order of their numbers; tensor rank t of n holds the tokens
// [t, t + 1) / n of these sequences if tokens are divided over tensor ranks, else all tokens. There are no context
// ranks.
//
// The number of replicas of one mesh divides the number of replicas of the other; the same holds for tensor ranks.
// Therefore ranks form equal groups on both sides. The senders of a group together hold exactly the data that the
// receivers of the group need, and every sender sends a piece of the same size to every receiver of its group.
class CrossMesh {
 public:
  // Takes meshes that strategies make (mesh_of). Throws Error(internal) if sizes do not divide, or if meshes of
  // different size have context ranks.
  CrossMesh(const DeviceMesh& from, const DeviceMesh& to);

  // The share of the data that a receiver is sent, if several tensor ranks need the same data.
  enum class Pieces : std::uint8_t {
    whole,  // all data that the receiver needs, although others are sent the same data
    parts,  // only the receiver's own part: its tokens, or a part that the receiver's tensor ranks gather afterwards
  };

  bool same() const { return from_.data == to_.data && from_.tensor == to_.tensor; }
  // Number of ranks of a group on each side.
  int senders() const { return from_.data / groups_.data * (from_.tensor / groups_.tensor); }
  int receivers() const { return to_.data / groups_.data * (to_.tensor / groups_.tensor); }
  // Number of messages whose sizes add up to all data of a sender. `divided`: tokens are divided over tensor ranks;
  // then pieces are parts.
  int messages_in_sender(Pieces pieces, bool divided) const;

  // Position of a rank in its mesh.
  struct Place {
    int data = 0;
    int tensor = 0;

    friend bool operator==(const Place&, const Place&) = default;
  };
  int groups() const { return groups_.data * groups_.tensor; }
  std::vector<Place> senders_of(int group) const { return places_of(group, from_); }
  std::vector<Place> receivers_of(int group) const { return places_of(group, to_); }

  // The interval [begin, end), as shares of a whole.
  struct Interval {
    double begin = 0;
    double end = 0;

    double length() const { return end - begin; }
  };
  // The data that a sender sends to a receiver of its group: sequences of the microbatch, and a range of tokens of each
  // of these sequences.
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
  Sizes groups_;  // number of groups along each axis: the smaller of the sizes on both sides
};

}  // namespace mirfak
