#pragma once

#include "network/fabric_graph.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// A link as routes know it: one of the fabric, or, where messages are spread, several that always carry the same.
struct RoutedLink {
  std::string name;
  double bytes_per_s = 0;   // of all of them together
  std::uint32_t count = 1;  // how many
  std::uint32_t from = 0;   // switches of the fabric: of several the first
  std::uint32_t to = 0;
};

struct LinkShare {
  std::uint32_t link = 0;  // index into Routes::links()
  double share = 0;        // of the message
};

// Which links between switches messages from device to device cross, on shortest paths.
//
// Where messages are spread, switches between those that devices are attached to are taken together where colour
// refinement cannot tell them apart: each of a colour has the same number of links of the same bandwidth to each other
// colour, so that a message from an attached switch, and so every message, loads them alike. A fat tree of three levels
// with thousands of switches is its leaves, a vertex for each pod and one for the core. Exact, not an approximation.
class Routes {
 public:
  // Evenly over all paths, in proportion to the bandwidth of the next links (adaptive routing, packet spraying).
  // `colours`: of each switch (switch_colours()).
  static Routes spread(FabricGraph graph, std::vector<std::uint32_t> colours);
  // Each pair of devices takes one path, which a hash decides at every switch (ECMP).
  static Routes hashed(FabricGraph graph, std::uint64_t seed);
  ~Routes();
  Routes(Routes&&) noexcept;
  Routes& operator=(Routes&&) noexcept;

  std::span<const RoutedLink> links() const;
  // Of each switch of the fabric, the first of those that it is taken together with.
  std::vector<std::uint32_t> taken_as() const;
  // Of a message from a device to another; its ends are what is hashed, beside the seed. Empty: both are on one switch.
  // Error(infeasible) if no path exists. Remembered: not for several threads at once. Valid until the next call.
  std::span<const LinkShare> between(int from, int to);

 private:
  class Table;
  explicit Routes(std::unique_ptr<Table> table);
  std::unique_ptr<Table> table_;
};

}  // namespace mirfak
