#pragma once

#include "report/links_svg.hpp"
#include "scenario/jobs_file.hpp"
#include "simulation/joint_links.hpp"
#include "simulation/joint_spread.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace mirfak {

// What `mirfak simulate` says of several jobs on one cluster. `simulation` is that of the file's jobs, `links` what
// they take of the network.
std::string jobs_text(const JobsFile& file, const JointSimulation& simulation);
nlohmann::ordered_json jobs_json(const JobsFile& file, const JointSimulation& simulation, const NetworkUse& links);

// What `--explain` adds: what an iteration of each job takes if no link were short, alone, and beside the others, and
// if there are more than two, without each of these (`without`: without_each()); which links bind, and whose traffic
// slows whose; then the explanation of each job alone.
std::string jobs_explanation(const JobsFile& file, const JointSimulation& simulation, const NetworkUse& links,
                             std::span<const std::vector<double>> without);

// The same, with what iterations take without each of these found for it: of up to 16 jobs.
std::string explained_jobs(const JobsFile& file, std::span<const JobAmong> jobs, const JointSimulation& simulation,
                           const NetworkUse& links, const LoweringOptions& lowering);

// Parts of these: what an iteration of each job draws, costs and emits, and how much of that the others cause; the same
// of the cluster with the nodes that no job has.
std::string jobs_energy_text(const JobsFile& file, const JointSimulation& simulation);
nlohmann::ordered_json waiting_json(const JobsFile& file, const JobAmongOthers& job);
nlohmann::ordered_json cluster_json(const JobsFile& file, const JointSimulation& simulation);

// What `--samples` adds.
std::string jobs_spread_text(const JobsFile& file, const JointSpread& spread);
nlohmann::ordered_json jobs_spread_json(const JobsFile& file, const JointSpread& spread);

// Of the picture of their links.
LinksTitle jobs_links_title(const JobsFile& file, const JointSimulation& simulation);

// What a reader should know of these figures: the file's notes, and jobs that have not settled.
std::vector<std::string> jobs_notes(const JobsFile& file, const JointSimulation& simulation);

// "0-15,32"
std::string nodes_text(std::span<const int> nodes);

}  // namespace mirfak
