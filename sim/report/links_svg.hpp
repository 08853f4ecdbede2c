#pragma once

#include "simulation/network_use.hpp"

#include <string>

namespace mirfak {

// The use of a network's links in an iteration as a picture (SVG, light and dark): the network from devices upwards
// with each bundle of links coloured and widened by its mean use and those marked that bind, figures of each kind of
// links, and beneath it use over time of the links that matter most. `use`: whole_network_use() of the simulation.
std::string links_svg(const std::string& title, const Simulation& simulation, const NetworkUse& use);

}  // namespace mirfak
