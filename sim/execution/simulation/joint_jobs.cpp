#include "simulation/joint_jobs.hpp"

#include "engine/execute.hpp"
#include "program/shared_links.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mirfak {

namespace {

class JointRun {
 public:
  JointRun(std::span<const JobAmong> jobs, int iterations, const LoweringOptions& options)
      : jobs_(jobs), iterations_(static_cast<std::size_t>(iterations)) {
    for (const JobAmong& among : jobs) {
      out_.alone.push_back(simulate(among.job, options));
      lowered_.push_back(out_.alone.back().lowered_apart_as(options));
    }
  }

  JointSimulation run() {
    std::vector<int> counts = first_counts();
    execute_jobs(counts);
    while (add_iterations(counts)) execute_jobs(counts);
    out_.to = end_of_last(0);
    for (std::size_t job = 1; job < jobs_.size(); ++job) out_.to = std::min(out_.to, end_of_last(job));
    for (std::size_t job = 0; job < jobs_.size(); ++job) out_.jobs.push_back(account(job));
    return std::move(out_);
  }

 private:
  double alone_s(std::size_t job) const { return out_.alone[job].result.iteration_time_s; }
  double last_begin_s() const {
    double out = 0;
    for (const JobAmong& among : jobs_) out = std::max(out, among.begins_s);
    return out;
  }
  Picoseconds end_of_last(std::size_t job) const { return out_.timeline.end[out_.joint.ends[job].back()]; }
  std::size_t iterations_of(std::size_t job) const { return out_.joint.ends[job].size(); }

  // Returns numbers of iterations with which every job runs, alone and from when all jobs run, for as long as
  // `iterations` iterations of the job with the longest iterations take.
  std::vector<int> first_counts() const {
    double longest = 0;
    for (std::size_t job = 0; job < jobs_.size(); ++job) longest = std::max(longest, alone_s(job));
    std::vector<int> out;
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      const double before = std::ceil((last_begin_s() - jobs_[job].begins_s) / alone_s(job));
      out.push_back(static_cast<int>(before + std::ceil(static_cast<double>(iterations_) * longest / alone_s(job))));
    }
    return out;
  }

  void execute_jobs(std::span<const int> counts) {
    std::vector<JointJob> parts;
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      parts.push_back({&lowered_[job], counts[job], to_picoseconds(jobs_[job].begins_s)});
    }
    out_.joint = join(parts);
    out_.timeline = execute(out_.joint.program);
    out_.from = to_picoseconds(last_begin_s());
  }

  // Returns the first iteration of a job that began when all jobs ran; the number of its iterations if none did.
  std::size_t first_counted(std::size_t job) const {
    std::size_t out = 0;
    while (out < iterations_of(job) && out_.begin_of(job, out) < out_.from) ++out;
    return out;
  }

  // Adds iterations to jobs that ended before each job had its iterations. Returns true if there was such a job.
  bool add_iterations(std::vector<int>& counts) const {
    Picoseconds needed = 0;
    bool added = false;
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      const std::size_t wanted = first_counted(job) + iterations_;
      if (wanted <= iterations_of(job)) {
        needed = std::max(needed, out_.end_of(job, wanted - 1));
        continue;
      }
      counts[job] += static_cast<int>(wanted - iterations_of(job));
      added = true;
    }
    if (added) return true;
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      const Picoseconds last = end_of_last(job);
      if (last >= needed) continue;
      counts[job] = static_cast<int>(std::ceil(counts[job] * (to_seconds(needed) / to_seconds(last)))) + 1;
      added = true;
    }
    return added;
  }

  JobAmongOthers account(std::size_t job) const {
    JobAmongOthers out;
    out.alone = out_.alone[job].result;
    const std::size_t first = first_counted(job);
    std::size_t end = first;
    Picoseconds least = out_.to;
    Picoseconds most = 0;
    for (; end < iterations_of(job) && out_.end_of(job, end) <= out_.to; ++end) {
      const Picoseconds lasts = out_.end_of(job, end) - out_.begin_of(job, end);
      least = std::min(least, lasts);
      most = std::max(most, lasts);
    }
    out.first = static_cast<int>(first);
    out.iterations = static_cast<int>(end - first);
    out.mean_s = mean_s(job, first, end);
    out.later_mean_s = mean_s(job, first + (end - first) / 2, end);
    out.least_s = to_seconds(least);
    out.most_s = to_seconds(most);
    out.together =
        mean_result(out_.alone[job], end - first, [&](std::size_t i) { return out_.iteration_of(job, first + i); });
    return out;
  }

  double mean_s(std::size_t job, std::size_t first, std::size_t end) const {
    return to_seconds(out_.end_of(job, end - 1) - out_.begin_of(job, first)) / static_cast<double>(end - first);
  }

  std::span<const JobAmong> jobs_;
  std::size_t iterations_;
  std::vector<LoweredJob> lowered_;
  JointSimulation out_;
};

}  // namespace

Picoseconds JointSimulation::begin_of(std::size_t job, std::size_t iteration) const {
  if (iteration > 0) return end_of(job, iteration - 1);
  const TaskId first = joint.first[job].tasks;  // a task that the job waits for, if it begins later
  return first == joint.begins[job].front() ? 0 : timeline.end[first];
}

Picoseconds JointSimulation::end_of(std::size_t job, std::size_t iteration) const {
  return timeline.end[joint.ends[job][iteration]];
}

Timeline JointSimulation::iteration_of(std::size_t job, std::size_t iteration) const {
  const Picoseconds begin = begin_of(job, iteration);
  Timeline out;
  const TaskId end = joint.ends[job][iteration];
  for (TaskId task = joint.begins[job][iteration]; task < end; ++task) {
    out.start.push_back(timeline.start[task] - begin);
    out.end.push_back(timeline.end[task] - begin);
  }
  out.makespan = timeline.end[end] - begin;
  return out;
}

Simulation JointSimulation::run_of(std::size_t job) const {
  Simulation out = alone[job];
  LoweredJob lowered{std::move(out.program), {}};
  remove_links(lowered.program);
  const JointJob part{&lowered, static_cast<int>(joint.ends[job].size()), begin_of(job, 0)};
  out.program = join({&part, 1}).program;
  const auto first = static_cast<std::ptrdiff_t>(joint.first[job].tasks);
  const auto end = first + static_cast<std::ptrdiff_t>(out.program.size());
  out.timeline.start.assign(timeline.start.begin() + first, timeline.start.begin() + end);
  out.timeline.end.assign(timeline.end.begin() + first, timeline.end.begin() + end);
  out.timeline.makespan = timeline.end[joint.ends[job].back()];
  out.result = jobs[job].together;
  return out;
}

JointSimulation simulate_together(std::span<const JobAmong> jobs, int iterations, const LoweringOptions& options) {
  if (std::any_of(jobs.begin(), jobs.end(),
                  [](const JobAmong& job) { return job.job.cluster.facility().power_floor.has_value(); })) {
    fail_infeasible({}, "cluster.power_floor: what GPUs burn to keep it is not known of jobs that wait for each other",
                    "leave it out, or simulate each job alone");
  }
  if (std::any_of(jobs.begin(), jobs.end(),
                  [](const JobAmong& job) { return job.job.cluster.facility().staggered_replicas.has_value(); })) {
    fail_infeasible({}, "cluster.staggered_replicas: replicas of jobs that share a cluster begin together",
                    "leave it out, and let jobs begin one after the other by start_s");
  }
  return JointRun(jobs, iterations, options).run();
}

}  // namespace mirfak
