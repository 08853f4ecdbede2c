#pragma once

#include "simulation/joint_jobs.hpp"
#include "simulation/network_use.hpp"

#include <span>
#include <string>
#include <vector>

namespace mirfak {

// Returns the use of the network's links by all jobs while they all run, and the links that bind. `names`: names of the
// jobs, which are the owners of traffic. Contains only the links that can be short.
NetworkUse network_use(const JointSimulation& simulation, std::vector<std::string> names);
// Returns the use of all links of the network; the same links bind as for network_use(). `options`: the options of the
// simulation.
NetworkUse whole_network_use(const JointSimulation& simulation, std::vector<std::string> names,
                             LoweringOptions options);

// Returns at [i][j] the mean iteration of job i if job j were not there, by simulating the other jobs together; 0 for i
// = j. Runs as many simulations as there are jobs.
std::vector<std::vector<double>> without_each(std::span<const JobAmong> jobs, int iterations,
                                              const LoweringOptions& options = {});

}  // namespace mirfak
