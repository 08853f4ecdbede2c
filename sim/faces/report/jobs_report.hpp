#pragma once

#include "base/section.hpp"
#include "report/links_svg.hpp"
#include "scenario/jobs_file.hpp"
#include "simulation/joint_links.hpp"
#include "simulation/joint_spread.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace mirfak {

// Output of `mirfak simulate` for several jobs on one cluster. `simulation`: the simulation of the file's jobs.
// `links`: the jobs' use of the network.
std::string jobs_text(const JobsFile& file, const JointSimulation& simulation);
nlohmann::ordered_json jobs_json(const JobsFile& file, const JointSimulation& simulation, const NetworkUse& links);

// Returns what the network adds: the time of an iteration of each job if no link were short, alone, together with the
// other jobs and, for 3 to 16 jobs, without each other job; the links that bind, and the jobs whose traffic slows
// others.
std::vector<Section> network_explanation(const JobsFile& file, std::span<const JobAmong> jobs,
                                         const JointSimulation& simulation, const NetworkUse& links,
                                         const LoweringOptions& lowering);

// Returns what `--explain` adds: network_explanation(), then the explanation of each job alone.
std::vector<Section> jobs_explanation(const JobsFile& file, std::span<const JobAmong> jobs,
                                      const JointSimulation& simulation, const NetworkUse& links,
                                      const LoweringOptions& lowering);

// Parts of jobs_text() and jobs_json(): power, energy, cost and emissions of an iteration of each job, with the amounts
// that the other jobs cause; those of the cluster, with the nodes that no job has.
std::string jobs_energy_text(const JobsFile& file, const JointSimulation& simulation);
nlohmann::ordered_json waiting_json(const JobsFile& file, const JobAmongOthers& job);
nlohmann::ordered_json cluster_json(const JobsFile& file, const JointSimulation& simulation);

// Output that `--samples` adds.
std::string jobs_spread_text(const JobsFile& file, const JointSpread& spread);
nlohmann::ordered_json jobs_spread_json(const JobsFile& file, const JointSpread& spread);

// Returns the title of the picture of the jobs' links.
LinksTitle jobs_links_title(const JobsFile& file, const JointSimulation& simulation);

// Returns notes on the figures: the notes of the file and of each job's result, and jobs that have not settled.
std::vector<std::string> jobs_notes(const JobsFile& file, const JointSimulation& simulation);

// Returns numbers of nodes as ranges: "0-15,32".
std::string nodes_text(std::span<const int> nodes);

}  // namespace mirfak
