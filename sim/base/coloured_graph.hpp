#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace mirfak {

// Divides the vertices of a graph into the fewest colours such that all vertices of a colour have equally many edges of
// each label to each colour (colour refinement; the coarsest equitable partition). Each edge is walked O(log n) times:
// only vertices whose neighbours changed are looked at again, and when a colour is divided, the largest part keeps the
// colour (Cardon and Crochemore, "Partitioning a graph in O(|A| log2 |V|)", TCS 19, 1982).
//
// Neighbourhoods are compared by hashes of 64 bits: two different neighbourhoods are taken for equal with a chance of
// 10^-9 among 10^5 vertices.
class ColouredGraph {
 public:
  using Vertex = std::uint32_t;
  using Key = std::uint64_t;

  // Adds a vertex and returns its number: 0, 1, ... Vertices of different keys never share a colour.
  Vertex add(Key key);
  void join(Vertex a, Vertex b, Key label) { join(a, b, label, label); }
  // Adds an edge that has a different label at each of its two ends.
  void join(Vertex a, Vertex b, Key seen_from_a, Key seen_from_b) {
    edges_.push_back({a, b, seen_from_a, seen_from_b});
  }

  // Computes the colours. Called once, after all vertices and edges were added. Stops with Cancelled as
  // base/cancellation.hpp says.
  void divide();

  std::uint32_t colour(Vertex vertex) const { return colour_[vertex]; }

 private:
  struct Edge {
    Vertex a = 0;
    Vertex b = 0;
    Key seen_from_a = 0;
    Key seen_from_b = 0;
  };
  // A neighbour, and the label of the edge as seen from the neighbour.
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
  std::vector<std::uint32_t> colour_;   // for each vertex
  std::vector<std::uint32_t> members_;  // for each colour, the number of its vertices
  std::vector<Edge> edges_;
  std::vector<std::size_t> first_;  // for each vertex, the index of its first entry in neighbours_
  std::vector<Neighbour> neighbours_;
  std::vector<Key> around_;  // for each vertex, the sum of hashes over its neighbours
};

}  // namespace mirfak
