#include "program/joint_program.hpp"

#include "base/error.hpp"
#include "program/program_size.hpp"
#include "program/shared_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace mirfak {

namespace {

JobOffsets end_of(const Program& program) {
  return {static_cast<std::uint32_t>(program.ranks.size()),  static_cast<StreamId>(program.streams.size()),
          static_cast<ClassId>(program.classes.size()),      static_cast<GroupId>(program.groups.size()),
          static_cast<GroupingId>(program.groupings.size()), 0};
}

// Adds everything of a job except its tasks.
void add_tables(const Program& job, const JobOffsets& at, Program& out) {
  out.ranks.insert(out.ranks.end(), job.ranks.begin(), job.ranks.end());
  for (const Stream& stream : job.streams) out.streams.push_back({at.ranks + stream.rank, stream.kind});
  for (TaskClass described : job.classes) {
    if (described.grouping != kAlone) described.grouping += at.groupings;
    out.classes.push_back(std::move(described));
  }
  for (Group group : job.groups) {
    for (std::uint32_t& rank : group.ranks) rank += at.ranks;
    out.groups.push_back(std::move(group));
  }
  for (Grouping grouping : job.groupings) {
    for (GroupId& group : grouping.of_rank) group += group == kNoGroup ? 0 : at.groups;
    // Ranks of the jobs before and after are in none of its groups; finish_groupings() adds the ranks of the jobs
    // after.
    grouping.of_rank.insert(grouping.of_rank.begin(), at.ranks, kNoGroup);
    grouping.first += at.groups;
    out.groupings.push_back(std::move(grouping));
  }
}

void finish_groupings(Program& program) {
  for (Grouping& grouping : program.groupings) grouping.of_rank.resize(program.ranks.size(), kNoGroup);
}

// Adds the tasks of one iteration. A task that waits for nothing in the iteration waits for `begin`; so the whole
// iteration does.
void add_iteration(const Program& job, const JobOffsets& at, TaskId begin, Program& out) {
  const auto first = static_cast<TaskId>(out.size());
  if (!job.slower.empty()) {
    out.slower.resize(first, 1);
    out.slower.insert(out.slower.end(), job.slower.begin(), job.slower.end());
  }
  std::vector<TaskId> after;
  for (TaskId task = 0; task < job.size(); ++task) {
    after.clear();
    for (const TaskId before : job.dependencies_of(task)) after.push_back(first + before);
    if (after.empty() && begin != kNoTask) after.push_back(begin);
    out.add_task(at.streams + job.stream[task], at.classes + job.task_class[task], job.duration[task], after,
                 job.microbatch[task]);
  }
}

// Streams run their tasks in order: a job's iteration ends with the last task of each.
std::vector<TaskId> last_tasks(const Program& job, TaskId first) {
  std::vector<TaskId> of_stream(job.streams.size(), kNoTask);
  for (TaskId task = 0; task < job.size(); ++task) of_stream[job.stream[task]] = first + task;
  std::erase(of_stream, kNoTask);
  return of_stream;
}

std::size_t links_of_several(const Program& program, std::span<const NetworkLoads> jobs) {
  constexpr std::size_t kNobody = static_cast<std::size_t>(-1);
  std::vector<std::size_t> user(program.links.size(), kNobody);
  std::vector<bool> several(program.links.size(), false);
  std::uint32_t entry = 0;
  for (std::size_t job = 0; job < jobs.size() && program.shares_links(); ++job) {
    for (const std::uint32_t end = entry + jobs[job].entries; entry < end; ++entry) {
      for (std::uint32_t i = program.link_use_begin[entry]; i < program.link_use_begin[entry + 1]; ++i) {
        const LinkId link = program.link_uses[i].link;
        several[link] = several[link] || (user[link] != kNobody && user[link] != job);
        user[link] = job;
      }
    }
  }
  return static_cast<std::size_t>(std::count(several.begin(), several.end(), true));
}

void check_size(std::span<const JointJob> jobs) {
  double tasks = 0;
  for (const JointJob& job : jobs) {
    tasks += (static_cast<double>(job.lowered->program.size()) + 1) * job.iterations;
  }
  if (tasks <= kMaxTasks) return;
  fail_infeasible({}, fmt::format("the jobs' iterations would be {:.2g} tasks, more than {:.2g}", tasks, kMaxTasks),
                  "simulate them folded, with fewer iterations, or jobs whose iterations are more alike in length");
}

ClassId add_boundary(const char* name, Program& program) {
  TaskClass boundary;
  boundary.kind = TaskKind::meeting;
  boundary.name = name;
  return program.add_class(std::move(boundary));
}

}  // namespace

std::vector<std::uint32_t> JointProgram::job_of_rank() const {
  std::vector<std::uint32_t> out;
  for (std::size_t job = 0; job < first.size(); ++job) {
    const std::size_t end = job + 1 < first.size() ? first[job + 1].ranks : program.ranks.size();
    out.resize(end, static_cast<std::uint32_t>(job));
  }
  return out;
}

JointProgram join(std::span<const JointJob> jobs, bool all_links) {
  check_size(jobs);
  JointProgram out;
  Program& program = out.program;
  std::vector<NetworkLoads> loads;
  for (const JointJob& job : jobs) {
    out.first.push_back(end_of(program));
    add_tables(job.lowered->program, out.first.back(), program);
    loads.push_back(job.lowered->loads);
  }
  finish_groupings(program);
  share_links(program, loads, all_links);
  out.contended_links = links_of_several(program, loads);
  const ClassId waits = add_boundary("begins later", program);
  const ClassId ends = add_boundary("iteration ends", program);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Program& job = jobs[i].lowered->program;
    const StreamId boundaries = program.add_stream(out.first[i].ranks, StreamKind::group);
    std::vector<TaskId>& begins = out.begins.emplace_back();
    std::vector<TaskId>& of_job = out.ends.emplace_back();
    out.first[i].tasks = static_cast<TaskId>(program.size());
    TaskId begin = jobs[i].begins > 0 ? program.add_task(boundaries, waits, jobs[i].begins, {}) : kNoTask;
    for (int iteration = 0; iteration < jobs[i].iterations; ++iteration) {
      const auto first = static_cast<TaskId>(program.size());
      begins.push_back(first);
      add_iteration(job, out.first[i], begin, program);
      begin = program.add_task(boundaries, ends, 0, last_tasks(job, first));
      of_job.push_back(begin);
    }
  }
  if (!program.slower.empty()) program.slower.resize(program.size(), 1);
  return out;
}

}  // namespace mirfak
