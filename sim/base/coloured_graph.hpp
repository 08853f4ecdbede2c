#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace mirfak {

// Divides the vertices of a graph into the fewest colours such that all vertices of a colour have as many edges of each
// label to each colour (colour refinement; the coarsest equitable partition). Each edge is walked O(log n) times: only
// vertices whose neighbours changed are looked at again, and the largest part of a divided colour keeps it (Cardon and
// Crochemore, "Partitioning a graph in O(|A| log2 |V|)", TCS 19, 1982).
//
// Neighbourhoods are compared by hashes of 64 bits: two unlike ones are taken for alike with a chance of 10^-9 among
// 10^5 vertices.
class ColouredGraph {
 public:
  using Vertex = std::uint32_t;
  using Key = std::uint64_t;

  // Returns the vertices' numbers 0, 1, ...; vertices of unlike keys never share a colour.
  Vertex add(Key key);
  void join(Vertex a, Vertex b, Key label) { join(a, b, label, label); }
  // An edge that looks unlike from its two ends.
  void join(Vertex a, Vertex b, Key seen_from_a, Key seen_from_b) {
    edges_.push_back({a, b, seen_from_a, seen_from_b});
  }

  // Called once, when all vertices and edges are there. Stops with Cancelled as base/cancellation.hpp says.
  void divide();

  std::uint32_t colour(Vertex vertex) const { return colour_[vertex]; }

 private:
  struct Edge {
    Vertex a = 0;
    Vertex b = 0;
    Key seen_from_a = 0;
    Key seen_from_b = 0;
  };
  // A neighbour, and the label that the edge has seen from there.
  struct Neighbour {
    Vertex vertex = 0;
    Key label = 0;
  };
  struct Recoloured {
    Vertex vertex = 0;
    std::uint32_t before = 0;
  };

  void list_neighbours();
  std::span<const Neighbour> neighbours(Vertex vertex) const {
    return {neighbours_.data() + first_[vertex], first_[vertex + 1] - first_[vertex]};
  }
  std::vector<Recoloured> recoloured(std::vector<Vertex>& changed);
  void divide_colour(std::span<const Vertex> changed, std::vector<Recoloured>& out);
  std::vector<Vertex> affected_by(const std::vector<Recoloured>& recoloured);

  std::map<Key, std::uint32_t> of_key_;
  std::vector<std::uint32_t> colour_;   // of each vertex
  std::vector<std::uint32_t> members_;  // of each colour, how many
  std::vector<Edge> edges_;
  std::vector<std::size_t> first_;  // of each vertex, in neighbours_
  std::vector<Neighbour> neighbours_;
  std::vector<Key> around_;  // of each vertex, the sum over its neighbours
};

}  // namespace mirfak
