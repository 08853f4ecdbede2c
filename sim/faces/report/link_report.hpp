#pragma once

#include "base/section.hpp"
#include "simulation/network_use.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace mirfak {

// Returns the section of the explanation on the network's links that bind: use by kind of link, the communication that
// each kind slows and by how much, the links that add most, and why they bind. A title alone if no link is short;
// nullopt if no link can be short (links_may_bind()), or if only a part of the iteration is executed.
std::optional<Section> links_section(const Simulation& simulation);

// Adds the tables of links_section(), for one job's iteration or for several jobs; for several, with the job whose
// traffic slows another.
void add_link_tables(const NetworkUse& use, Section& out);

// Returns the use as JSON (README.md of this folder). `simulation`: the simulation that `use` belongs to.
nlohmann::ordered_json links_json(const Simulation& simulation, const NetworkUse& use);
nlohmann::ordered_json links_json(const NetworkUse& use);
// Returns one owner's part of `kinds` of links_json(): its communication that links slow.
nlohmann::ordered_json slowed_json(const NetworkUse& use, std::size_t owner);

std::string bandwidth_text(const LinkKindUse& kind);  // bandwidth of each link: "50 GB/s", "0.7 to 50 GB/s"

}  // namespace mirfak
