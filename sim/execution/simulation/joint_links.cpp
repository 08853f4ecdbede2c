#include "simulation/joint_links.hpp"

#include <utility>

namespace mirfak {

namespace {

NetworkPlaces places_of_all(const JointSimulation& simulation) {
  NetworkPlaces out = network_places(simulation.alone.front());
  for (std::size_t job = 1; job < simulation.alone.size(); ++job) {
    NetworkPlaces more = network_places(simulation.alone[job]);
    out.port_share.insert(out.port_share.end(), more.port_share.begin(), more.port_share.end());
    for (std::vector<int>& devices : more.devices) out.devices.push_back(std::move(devices));
  }
  return out;
}

NetworkUse use_of_jobs(const JointSimulation& simulation, Program program, std::vector<std::string> names, bool whole) {
  LinkScope scope{simulation.from, simulation.to, {std::move(names), simulation.joint.job_of_rank()}};
  return network_use(std::move(program), simulation.timeline, places_of_all(simulation), std::move(scope), whole);
}

}  // namespace

NetworkUse network_use(const JointSimulation& simulation, std::vector<std::string> names) {
  return use_of_jobs(simulation, simulation.joint.program, std::move(names), false);
}

NetworkUse whole_network_use(const JointSimulation& simulation, std::vector<std::string> names,
                             LoweringOptions options) {
  options.all_links = true;
  std::vector<LoweredJob> lowered;
  for (const Simulation& job : simulation.alone) lowered.push_back(job.lowered_apart_as(options));
  std::vector<JointJob> parts;
  for (std::size_t job = 0; job < lowered.size(); ++job) {
    parts.push_back({&lowered[job], static_cast<int>(simulation.joint.ends[job].size()), simulation.begin_of(job, 0)});
  }
  return use_of_jobs(simulation, join(parts, true).program, std::move(names), true);
}

std::vector<std::vector<double>> without_each(std::span<const JobAmong> jobs, int iterations,
                                              const LoweringOptions& options) {
  std::vector<std::vector<double>> out(jobs.size(), std::vector<double>(jobs.size(), 0));
  for (std::size_t absent = 0; absent < jobs.size(); ++absent) {
    std::vector<JobAmong> others(jobs.begin(), jobs.end());
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(absent));
    if (others.empty()) continue;
    const JointSimulation left = simulate_together(others, iterations, options);
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      if (job != absent) out[job][absent] = left.jobs[job < absent ? job : job - 1].mean_s;
    }
  }
  return out;
}

}  // namespace mirfak
