#include "simulation/joint_jobs.hpp"

#include "engine/execute.hpp"
#include "program/joint_program.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mirfak {

namespace {

struct Executed {
  std::vector<std::vector<Picoseconds>> ends;  // of each job's iterations
  std::size_t contended_links = 0;
  std::uint64_t events = 0;

  // Until when all jobs run.
  Picoseconds together() const {
    Picoseconds out = ends.front().back();
    for (const auto& of_job : ends) out = std::min(out, of_job.back());
    return out;
  }
};

Executed execute_jobs(std::span<const LoweredJob> lowered, std::span<const int> counts) {
  std::vector<JointJob> parts;
  for (std::size_t job = 0; job < lowered.size(); ++job) parts.push_back({&lowered[job], counts[job]});
  const JointProgram joint = join(parts);
  const Timeline timeline = execute(joint.program);
  Executed out;
  out.contended_links = joint.contended_links;
  out.events = timeline.events;
  for (const std::vector<TaskId>& of_job : joint.ends) {
    std::vector<Picoseconds>& ends = out.ends.emplace_back();
    for (const TaskId end : of_job) ends.push_back(timeline.end[end]);
  }
  return out;
}

// So many that every job runs for as long as the one whose iterations last longest takes for `iterations`, alone.
std::vector<int> first_counts(std::span<const JobAmongOthers> jobs, int iterations) {
  double longest = 0;
  for (const JobAmongOthers& job : jobs) longest = std::max(longest, job.alone.iteration_time_s);
  std::vector<int> out;
  for (const JobAmongOthers& job : jobs) {
    out.push_back(static_cast<int>(std::ceil(iterations * longest / job.alone.iteration_time_s)));
  }
  return out;
}

// More of a job that ended before each had its iterations. Whether there was one.
bool add_iterations(const Executed& executed, int iterations, std::vector<int>& counts) {
  Picoseconds needed = 0;
  for (const auto& of_job : executed.ends) {
    needed = std::max(needed, of_job[static_cast<std::size_t>(iterations) - 1]);
  }
  bool added = false;
  for (std::size_t job = 0; job < counts.size(); ++job) {
    const Picoseconds last = executed.ends[job].back();
    if (last >= needed) continue;
    counts[job] = static_cast<int>(std::ceil(counts[job] * (to_seconds(needed) / to_seconds(last)))) + 1;
    added = true;
  }
  return added;
}

void account(const Executed& executed, std::size_t of, JobAmongOthers& job) {
  const Picoseconds together = executed.together();
  Picoseconds before = 0;
  Picoseconds least = together;
  Picoseconds most = 0;
  for (const Picoseconds end : executed.ends[of]) {
    if (end > together) break;
    least = std::min(least, end - before);
    most = std::max(most, end - before);
    before = end;
    ++job.iterations;
  }
  job.mean_s = to_seconds(before) / job.iterations;
  job.least_s = to_seconds(least);
  job.most_s = to_seconds(most);
}

}  // namespace

JointResult simulate_together(std::span<const Job> jobs, int iterations, const LoweringOptions& options) {
  JointResult out;
  std::vector<LoweredJob> lowered;
  for (const Job& job : jobs) {
    const Simulation alone = simulate(job, options);
    out.jobs.push_back({alone.result, 0, 0, 0, 0});
    lowered.push_back(lower_apart(alone.job, alone.blocks, alone.plans, options));
  }
  std::vector<int> counts = first_counts(out.jobs, iterations);
  Executed executed = execute_jobs(lowered, counts);
  while (add_iterations(executed, iterations, counts)) executed = execute_jobs(lowered, counts);
  for (std::size_t job = 0; job < jobs.size(); ++job) account(executed, job, out.jobs[job]);
  out.together_s = to_seconds(executed.together());
  out.contended_links = executed.contended_links;
  out.events = executed.events;
  return out;
}

}  // namespace mirfak
