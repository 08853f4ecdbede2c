#pragma once

#include "simulation/network_use.hpp"

#include <string>

namespace mirfak {

// Draws the use of a network's links, in an iteration or while several jobs run, as a picture (SVG, light and dark):
// the network from devices upwards, figures of each kind of links and, below, use over time of the links that matter
// most. Bundles of links are coloured and widened by their mean use; those that bind are marked. `effect`: the effect
// of short links, a line below the title. `period`: the period that the figures cover. `use`: the use of the whole
// network.
struct LinksTitle {
  std::string title;
  std::string effect;
  std::string period = "over the iteration";
};
std::string links_svg(const LinksTitle& title, const NetworkUse& use);
// Returns the effect for one job: "An iteration takes 4.9 s, and 4.7 s if no link were short."
std::string links_effect_text(const Simulation& simulation, const NetworkUse& use);

}  // namespace mirfak
