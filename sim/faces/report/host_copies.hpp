#pragma once

#include "cost/explanation.hpp"
#include "program/data_parallel.hpp"
#include "simulation/iteration.hpp"

#include <string>

namespace mirfak {

// Adds to the explanation of a collective over replicas what precedes it: shards copied from the host, and of these
// what its disks read first.
void add_host_copies(Explanation& why, const ReplicaCollective& collective, const NodeHardware& node);

// Returns a line on the activations that wait in the memory of hosts, of the stage that copies most: their bytes and
// the time of their copies in each pass, and how much longer its passes take; "" if none wait there.
std::string activation_copies_text(const Simulation& simulation);

// Returns a line on the rows of experts that wait in pages, of the chunk that copies most: their bytes and the time of
// their copies in each pass, and what its passes lose to these; "" without pages.
std::string page_copies_text(const Simulation& simulation);

// Returns a line on the state that lies on disks, of the rank that keeps most there; "" if none does.
std::string disk_text(const Simulation& simulation);

}  // namespace mirfak
