#pragma once

#include "program/network_loads.hpp"
#include "program/program.hpp"

#include <span>
#include <vector>

namespace mirfak {

// Adds links to a program, and the loads that its transfers and collectives put on them (Program::traffic_of). A rank
// loads its share of the ports, each way; every flow of every group of the ranks that it stands for loads the links
// between switches. Links that cannot be short of capacity, whatever runs at the same time, are left out unless all
// links are asked for; several links that all activities load alike become one. So a program whose network suffices has
// no links.
//
// `jobs`: loads of each job in the program, whose classes stand there in this order. All jobs use one fabric. Returns
// the links between switches that may be short, as NetworkLoads::Wire.
std::vector<NetworkLoads::Wire> share_links(Program& program, std::span<const NetworkLoads> jobs, bool all = false);

// Removes all links, as if they had room for everything.
void remove_links(Program& program);

}  // namespace mirfak
