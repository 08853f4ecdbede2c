#pragma once

#include "network/fabric_graph.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// Link of routes: one link of the fabric or, if messages are spread, several links that always carry equal loads.
struct RoutedLink {
  std::string name;
  double bytes_per_s = 0;   // sum over the links
  std::uint32_t count = 1;  // number of links
  std::uint32_t from = 0;   // source switch of the fabric; of the first link if there are several
  std::uint32_t to = 0;
};

struct LinkShare {
  std::uint32_t link = 0;  // index into Routes::links()
  double share = 0;        // share of the message
};

// Links between switches that messages from device to device cross, on shortest paths.
//
// If messages are spread, switches other than those with attached devices are merged if color refinement cannot
// distinguish them: all switches of one color have the same number of links of the same bandwidth to each other color,
// so that every message loads them equally. A fat tree of three levels with thousands of switches becomes its leaves,
// one vertex for each pod and one vertex for the core. The result is exact, not an approximation.
class Routes {
 public:
  // Spreads messages evenly over all paths, in proportion to the bandwidth of the next links (adaptive routing, packet
  // spraying). `colours` are the colors of the switches (switch_colours()).
  static Routes spread(FabricGraph graph, std::vector<std::uint32_t> colours);
  // Sends each pair of devices over one path, which a hash decides at every switch (ECMP).
  static Routes hashed(FabricGraph graph, std::uint64_t seed);
  ~Routes();
  Routes(Routes&&) noexcept;
  Routes& operator=(Routes&&) noexcept;

  std::span<const RoutedLink> links() const;
  // Returns for each switch of the fabric the first of the switches that it is merged with.
  std::vector<std::uint32_t> taken_as() const;
  // Returns the links of a message from one device to another, with shares. Hashes are over the two devices and the
  // seed. Empty: both devices are on one switch. Error(infeasible) if no path exists. Results are remembered, so one
  // object must not be used by several threads at once. The result is valid until the next call.
  std::span<const LinkShare> between(int from, int to);

 private:
  class Table;
  explicit Routes(std::unique_ptr<Table> table);
  std::unique_ptr<Table> table_;
};

}  // namespace mirfak
