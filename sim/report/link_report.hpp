#pragma once

#include "simulation/network_use.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace mirfak {

// Which links of the network bind, what for and why, as a section of the explanation: use by kind of link, what each
// kind slows by how much, the links that add most. One line where no link is short; empty where that is no question.
std::string links_text(const Simulation& simulation);

// The tables of that section: of one job's iteration, or of several jobs, with whose traffic slows whose.
std::string link_tables(const NetworkUse& use);

// The same as JSON: report/README.md. `simulation`: what the use is of.
nlohmann::ordered_json links_json(const Simulation& simulation, const NetworkUse& use);
nlohmann::ordered_json links_json(const NetworkUse& use);
// One owner's part of `kinds` of that: what slows its communication.
nlohmann::ordered_json slowed_json(const NetworkUse& use, std::size_t owner);

std::string bandwidth_text(const LinkKindUse& kind);  // of each of its links: "50 GB/s", "0.7 to 50 GB/s"

}  // namespace mirfak
