#pragma once

#include "program/network_loads.hpp"
#include "program/program.hpp"

#include <span>
#include <vector>

namespace mirfak {

// Adds links to a program and says what its transfers and collectives take of them (Program::traffic_of): what a rank
// sends of its share of the ports, each way, and every flow of every group of the ranks that it stands for of the links
// between switches. Links that cannot be short of capacity, whatever runs at the same time, are left out unless all are
// asked for; of those that all activities load alike there is one. So a program whose network suffices has none.
//
// `jobs`: of each job in the program, whose classes stand there in this order. All use one fabric. Returns the links
// between switches that may be short: NetworkLoads::Wire.
std::vector<NetworkLoads::Wire> share_links(Program& program, std::span<const NetworkLoads> jobs, bool all = false);

// As if all links had room for everything.
void remove_links(Program& program);

}  // namespace mirfak
