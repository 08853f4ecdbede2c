#pragma once

#include "cluster/cluster.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mirfak {

// Reasons of the figures of an iteration, as pages show them (figure_reasons.hpp).
class ReasonList {
 public:
  // Adds a figure with its meaning, its formula with the numbers of this iteration, and the sections to read on.
  nlohmann::ordered_json& add(std::string_view key, const std::string& formula,
                              const std::vector<std::string>& see = {});
  nlohmann::ordered_json& put(const std::string& key, const std::string& meaning, const std::string& formula,
                              const std::vector<std::string>& see);
  // Adds the share that an activity has of the iteration.
  void add_activity(const std::string& key, double seconds, double iteration_s, const std::vector<std::string>& see);
  // Adds what the simulation took on this machine.
  void add_wall_time();

  nlohmann::ordered_json take() { return std::move(out_); }

 private:
  nlohmann::ordered_json out_ = nlohmann::ordered_json::object();
};

// Adds a source, once.
void add_source(nlohmann::ordered_json& entry, const std::string& what, const std::string& source);

// Add the sources of a cluster's figures, by types of nodes.
void add_memory_sources(nlohmann::ordered_json& entry, const Cluster& cluster);
void add_power_sources(nlohmann::ordered_json& entry, const Cluster& cluster);
void add_price_sources(nlohmann::ordered_json& entry, const Cluster& cluster);

}  // namespace mirfak
