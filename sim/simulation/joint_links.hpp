#pragma once

#include "simulation/joint_jobs.hpp"
#include "simulation/network_use.hpp"

#include <span>
#include <string>
#include <vector>

namespace mirfak {

// What all jobs take of the network's links while they all run, and which of these bind. `names`: of the jobs, which
// are the owners of traffic. Of the links that can be short.
NetworkUse network_use(const JointSimulation& simulation, std::vector<std::string> names);
// Of all links: the same bind. `options`: with which it was simulated.
NetworkUse whole_network_use(const JointSimulation& simulation, std::vector<std::string> names,
                             LoweringOptions options);

// [i][j]: the mean iteration of job i if job j were not there, by simulating the others together; 0 for i = j. As many
// simulations as there are jobs.
std::vector<std::vector<double>> without_each(std::span<const JobAmong> jobs, int iterations,
                                              const LoweringOptions& options = {});

}  // namespace mirfak
