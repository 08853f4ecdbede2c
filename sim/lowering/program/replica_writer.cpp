#include "program/replica_writer.hpp"

#include "program/weight_exchange.hpp"

#include <algorithm>
#include <utility>

namespace mirfak {

ReplicaWriter::ReplicaWriter(Program& program, RankGroups& groups, const Job& job, const ShardedBlocks& blocks,
                             ReplicaTeams& teams, CommunicationClasses& communication)
    : program_(program), groups_(groups), job_(job), blocks_(blocks), teams_(teams), communication_(communication) {}

std::vector<GroupId> ReplicaWriter::groups_on(int stage, GroupingId grouping) const {
  const std::vector<GroupId>& of_rank = program_.groupings[grouping].of_rank;
  const auto first = of_rank.begin() + static_cast<std::ptrdiff_t>(teams_.rank_index(stage, 0, 0));
  std::vector<GroupId> out(first, first + static_cast<std::ptrdiff_t>(teams_.ranks_of(stage)));
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

const std::vector<Communication>& ReplicaWriter::describe_for_classes(int stage, const ReplicaCollective& collective) {
  const auto [known, is_new] = described_.try_emplace({stage, collective.name, collective.bytes});
  std::vector<Communication>& out = known->second;
  if (!is_new) return out;
  const GroupingId among = groups_.among(collective.among);
  for (int own = 0; own < teams_.classes(); ++own) {
    out.push_back(communication_.collective({stage, std::string(collective.name), collective.kind, collective.bytes,
                                             collective.pieces, Activity::data_communication, among},
                                            price(collective, teams_.plan(stage, own).costs)));
  }
  return out;
}

std::vector<TaskId> ReplicaWriter::run(int stage, const ReplicaCollective& collective, const Waits& waits) {
  const std::vector<Communication>& of_classes = describe_for_classes(stage, collective);
  const std::size_t base = teams_.rank_index(stage, 0, 0);
  const auto replica_of = [&](std::size_t place) { return static_cast<int>(place / lanes(stage)); };
  const auto writer_of = [&](std::size_t place) -> TeamWriter& { return teams_.team(stage, replica_of(place)); };
  const GroupingId grouping = groups_.among(collective.among);
  std::vector<TaskId> tasks(waits.size());
  for (const GroupId group : groups_on(stage, grouping)) {
    const std::span<const std::uint32_t> ranks = groups_.ranks_of(group);
    std::vector<TaskId> after;
    for (const std::uint32_t rank : ranks) append(after, waits[rank - base]);
    if (ranks.size() > 1) {
      for (const std::uint32_t rank : ranks) {
        const std::size_t place = rank - base;
        const TaskId last = writer_of(place).last_on(place % lanes(stage), StreamKind::data);
        if (last != kNoTask) after.push_back(last);
      }
      after = {groups_.meet(grouping, group, StreamKind::data, after)};
    }
    for (const std::uint32_t rank : ranks) {
      const std::size_t place = rank - base;
      const Communication& own = of_classes[static_cast<std::size_t>(teams_.class_of(stage, replica_of(place)))];
      tasks[place] =
          writer_of(place).transfer(place % lanes(stage), StreamKind::data, own.task_class, own.duration, after, -1);
    }
  }
  return tasks;
}

// Tasks that the reduction of each rank's gradients waits for: its passes, and the earlier reductions.
ReplicaWriter::Waits ReplicaWriter::gradients(int stage) {
  Waits waits;
  for (int replica = 0; replica < teams_.replicas(stage); ++replica) {
    const TeamWriter& writer = teams_.team(stage, replica);
    for (std::size_t lane = 0; lane < lanes(stage); ++lane) {
      waits.emplace_back();
      append(waits.back(), writer.done(lane));
      if (const TaskId last = writer.last_on(lane, StreamKind::data); last != kNoTask) waits.back().push_back(last);
    }
  }
  return waits;
}

// Adds the host's work on a collective; the host may have to wait first.
ReplicaWriter::Waits ReplicaWriter::issue(int stage, const char* name, const Waits& held_back) {
  TaskClass described;
  described.kind = TaskKind::issue;
  described.name = name;
  described.stage = stage;
  described.issues = TaskKind::collective;
  const double unit_s = teams_.plan(stage, 0).costs.host_seconds(job_.framework.host.unit_s);
  described.activity_s[static_cast<std::size_t>(Activity::host)] = unit_s;
  const ClassId issuing = program_.add_class(std::move(described));
  const Picoseconds lasting = to_picoseconds(unit_s);
  Waits issued;
  for (std::size_t i = 0; i < held_back.size(); ++i) {
    TeamWriter& writer = teams_.team(stage, static_cast<int>(i / lanes(stage)));
    issued.push_back({writer.transfer(i % lanes(stage), StreamKind::host, issuing, lasting, held_back[i], -1)});
  }
  return issued;
}

void ReplicaWriter::reduce(int stage, const HeldParameters& held) {
  Waits waits = gradients(stage);
  if (job_.framework.host.unit_s > 0) {
    const Waits issued = issue(stage, "issue reduction", Waits(waits.size()));
    for (std::size_t i = 0; i < waits.size(); ++i) append(waits[i], issued[i]);
  }
  for (const ReplicaCollective& collective : gradient_reduction(job_of(stage), held)) run(stage, collective, waits);
}

void ReplicaWriter::sum_norms(int stage) {
  constexpr double number = 4;
  const ReplicaGroup among = job_.strategy.divides_weights() ? ReplicaGroup::all : ReplicaGroup::shard;
  run(stage, {"sum gradient norms", CollectiveKind::all_reduce, number, among}, gradients(stage));
}

void ReplicaWriter::reduce_parts(int stage, const HeldParameters& held, bool whole) {
  const Waits waits = gradients(stage);
  const std::vector<ReplicaCollective> collectives =
      whole ? reduction_of_whole(job_of(stage), held) : reduction_of_parts(job_of(stage), held);
  for (const ReplicaCollective& collective : collectives) run(stage, collective, waits);
}

// Tasks of each rank's passes that a gather waits for.
ReplicaWriter::Waits ReplicaWriter::passes(int stage, GatherAfter after) {
  Waits waits;
  for (int replica = 0; replica < teams_.replicas(stage); ++replica) {
    const TeamWriter& writer = teams_.team(stage, replica);
    for (std::size_t lane = 0; lane < lanes(stage); ++lane) {
      waits.emplace_back();
      if (after == GatherAfter::all_passes) append(waits.back(), writer.done(lane));
      if (after == GatherAfter::but_the_last) append(waits.back(), writer.done_before(lane));
    }
  }
  return waits;
}

std::vector<TaskId> ReplicaWriter::gather_parts(int stage, const HeldParameters& held, GatherAfter after) {
  const Waits waits = passes(stage, after);
  std::vector<TaskId> tasks;
  for (const ReplicaCollective& collective : gather_of_parts(job_of(stage), held)) {
    tasks = run(stage, collective, waits);
  }
  return tasks;
}

std::vector<TaskId> ReplicaWriter::gather(int stage, const HeldParameters& held, GatherAfter after, GatheredFrom from) {
  Waits waits = passes(stage, after);
  const bool host_waits = job_.framework.sharding.host_waits_for_gathers;
  if (host_waits || job_.framework.host.unit_s > 0) {
    const Waits issued = issue(stage, "issue gather", host_waits ? waits : Waits(waits.size()));
    for (std::size_t i = 0; i < waits.size(); ++i) append(waits[i], issued[i]);
  }
  // The collectives run in order on one stream: a task that waits for the last of them waits for all.
  std::vector<TaskId> tasks;
  const StageParameters& parameters = teams_.plan(stage, 0).parameters;
  for (const ReplicaCollective& collective : parameter_gather(job_of(stage), parameters, held, from)) {
    tasks = run(stage, collective, waits);
  }
  return tasks;
}

}  // namespace mirfak
