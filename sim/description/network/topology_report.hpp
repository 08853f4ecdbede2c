#pragma once

#include "network/flow.hpp"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// A network and the answers to questions about it.
struct TopologyReport {
  std::string title;   // title of the cluster, or of the file
  std::string format;  // "InfraGraph" for a file; the fabric of a cluster
  const Topology* topology = nullptr;
  const Cluster* cluster = nullptr;                        // nullptr: the network of a file alone
  std::vector<std::pair<std::string, std::string>> facts;  // NetworkGraph::facts, notes
  std::vector<std::string> notes;
  Diameter diameter;
  std::optional<Bisection> bisection;  // set for at least two devices that reach each other
  struct Between {
    std::string from, to;
    std::size_t from_devices = 0, to_devices = 0;
    double bandwidth = 0;
  };
  std::vector<Between> between;
};

std::string topology_text(const TopologyReport& report);
nlohmann::ordered_json topology_json(const TopologyReport& report);
// Returns the network in Graphviz' language. Up to 40 vertices are drawn one by one; of more vertices, those that are
// alike are one, with their number.
std::string topology_dot(const TopologyReport& report);

}  // namespace mirfak
