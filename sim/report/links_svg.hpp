#pragma once

#include "simulation/network_use.hpp"

#include <string>

namespace mirfak {

// The use of a network's links in an iteration, or while several jobs run, as a picture (SVG, light and dark): the
// network from devices upwards with each bundle of links coloured and widened by its mean use and those marked that
// bind, figures of each kind of links, and beneath it use over time of the links that matter most. `effect`: what short
// links do, a line below the title, `period`: of what the figures are. `use`: of the whole network.
struct LinksTitle {
  std::string title;
  std::string effect;
  std::string period = "over the iteration";
};
std::string links_svg(const LinksTitle& title, const NetworkUse& use);
// Of one job: "An iteration takes 4.9 s, and 4.7 s if no link were short."
std::string links_effect_text(const Simulation& simulation, const NetworkUse& use);

}  // namespace mirfak
