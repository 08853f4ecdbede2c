#pragma once

#include "network/flow.hpp"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// A network and what was asked of it.
struct TopologyReport {
  std::string title;   // of the cluster, or of the file
  std::string format;  // of a file: "InfraGraph"; of a cluster: its fabric
  const Topology* topology = nullptr;
  const Cluster* cluster = nullptr;                        // nullptr: of a file alone
  std::vector<std::pair<std::string, std::string>> facts;  // NetworkGraph::facts, notes
  std::vector<std::string> notes;
  Diameter diameter;
  std::optional<Bisection> bisection;  // of at least two devices that reach each other
  struct Between {
    std::string from, to;
    std::size_t from_devices = 0, to_devices = 0;
    double bandwidth = 0;
  };
  std::vector<Between> between;
};

std::string topology_text(const TopologyReport& report);
nlohmann::ordered_json topology_json(const TopologyReport& report);
// In Graphviz' language. Up to 40 vertices each is drawn; of more, those that are alike are one, with their number.
std::string topology_dot(const TopologyReport& report);

}  // namespace mirfak
