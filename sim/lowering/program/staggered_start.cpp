// The tasks of waiting are put in front of all others, which keeps the order of tasks topological: nothing is before
// them, and on their streams they are the first.
#include "program/staggered_start.hpp"

#include "base/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

void check(const Job& job) {
  const auto refuse = [](const std::string& what) {
    fail_infeasible({}, "cluster.staggered_replicas: " + what, "leave it out");
  };
  if (!job.strategy.stages.empty()) refuse("stages of their own shapes have no replicas that begin by themselves");
  if (!job.cluster.perturbations().empty()) refuse("perturbed ranks do not begin together without it either");
  if (job.cluster.shares_gpus()) refuse("ranks that share a GPU take turns on it from the beginning");
}

// Puts some tasks in front of those of a program.
template <typename Value>
void put_in_front(std::vector<Value>& all, std::vector<Value> first) {
  all.insert(all.begin(), first.begin(), first.end());
}

// A task of waiting at the beginning of a stream.
struct Wait {
  StreamId stream = 0;
  Picoseconds lasting = 0;
};

std::vector<Wait> waits_of(const Program& program, const Job& job) {
  const Picoseconds step = to_picoseconds(job.cluster.facility().staggered_replicas->step_s);
  std::vector<Wait> out;
  for (StreamId stream = 0; stream < program.streams.size(); ++stream) {
    const StreamKind kind = program.streams[stream].kind;
    if (kind != StreamKind::compute && kind != StreamKind::host) continue;
    const ProgramRank& rank = program.ranks[program.streams[stream].rank];
    const int group = stagger_group(job, static_cast<int>(rank.data));
    if (group > 0) out.push_back({stream, group * step});
  }
  return out;
}

ClassId class_of_wait(Program& program, Picoseconds lasting) {
  TaskClass out;
  out.kind = TaskKind::issue;
  out.name = "staggered start";
  out.activity_s[static_cast<std::size_t>(Activity::bubble)] = to_seconds(lasting);
  return program.add_class(std::move(out));
}

}  // namespace

int stagger_group(const Job& job, int replica) {
  const std::optional<StaggeredReplicas>& asked = job.cluster.facility().staggered_replicas;
  return asked ? replica / job.strategy.expert_span().data % asked->groups : 0;
}

Program staggered(Program program, const Job& job) {
  if (!job.cluster.facility().staggered_replicas) return program;
  check(job);
  const std::vector<Wait> waits = waits_of(program, job);
  const auto count = static_cast<TaskId>(waits.size());
  std::vector<Picoseconds> lasting;
  std::vector<StreamId> streams;
  std::vector<ClassId> classes;
  for (const Wait& wait : waits) {
    lasting.push_back(wait.lasting);
    streams.push_back(wait.stream);
    classes.push_back(class_of_wait(program, wait.lasting));
  }
  for (TaskId& before : program.dependencies) before += count;
  put_in_front(program.duration, std::move(lasting));
  put_in_front(program.stream, std::move(streams));
  put_in_front(program.task_class, std::move(classes));
  put_in_front(program.microbatch, std::vector<std::int32_t>(count, -1));
  put_in_front(program.dependency_begin, std::vector<TaskId>(count, 0));
  if (!program.slower.empty()) put_in_front(program.slower, std::vector<double>(count, 1));
  return program;
}

}  // namespace mirfak
