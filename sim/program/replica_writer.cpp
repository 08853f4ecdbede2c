#include "program/replica_writer.hpp"

#include <utility>

namespace mirfak {

namespace {

void append(std::vector<TaskId>& to, std::span<const TaskId> tasks) { to.insert(to.end(), tasks.begin(), tasks.end()); }

}  // namespace

ReplicaWriter::ReplicaWriter(Program& program, const Job& job, ReplicaTeams& teams, CommunicationClasses& communication)
    : program_(program), job_(job), teams_(teams), communication_(communication) {}

ClassId ReplicaWriter::meeting_class() {
  TaskClass described;
  described.kind = TaskKind::meeting;
  described.name = "replicas meet";
  return program_.add_class(std::move(described));
}

// A folded program has one rank per stage and class, which stands for every member that a group has of the class.
std::vector<std::vector<std::size_t>> ReplicaWriter::folded_groups(int stage, ReplicaGroup among) const {
  const bool joint = joins_classes(teams_.plan(stage, 0).costs, among);
  std::vector<std::vector<std::size_t>> out(static_cast<std::size_t>(joint ? 1 : teams_.classes()));
  for (std::size_t own = 0; own < static_cast<std::size_t>(teams_.classes()); ++own) {
    out[joint ? 0 : own].push_back(own);
  }
  return out;
}

std::vector<std::vector<std::size_t>> ReplicaWriter::groups(int stage, ReplicaGroup among) const {
  if (teams_.folded()) return folded_groups(stage, among);
  const auto tensor = static_cast<std::size_t>(job_.strategy.tensor);
  const auto members = static_cast<std::size_t>(job_.strategy.replicas());
  const auto shards = static_cast<std::size_t>(job_.strategy.shards());
  const std::size_t holders = static_cast<std::size_t>(job_.strategy.expert_replicas());
  const auto groups_of = [&] {
    switch (among) {
      case ReplicaGroup::shard:
        return members / shards;
      case ReplicaGroup::across:
        return shards;
      case ReplicaGroup::experts:
        return members / holders;
      case ReplicaGroup::all:
        break;
    }
    return std::size_t{1};
  };
  const std::size_t count = groups_of();
  std::vector<std::vector<std::size_t>> out(tensor * count);
  for (std::size_t member = 0; member < members; ++member) {
    std::size_t group = 0;
    if (among == ReplicaGroup::across || among == ReplicaGroup::experts) group = member % count;
    if (among == ReplicaGroup::shard) group = member / shards;
    for (std::size_t rank = 0; rank < tensor; ++rank) out[rank * count + group].push_back(member * tensor + rank);
  }
  return out;
}

std::vector<ReplicaWriter::Priced> ReplicaWriter::price_for_classes(int stage, const ReplicaCollective& collective) {
  std::vector<Priced> out;
  for (int own = 0; own < teams_.classes(); ++own) {
    const CommunicationCost cost = price(collective, teams_.plan(stage, own).costs);
    const TaskWork work = collective_work(collective.kind, collective.bytes);
    out.push_back({cost, communication_.collective(stage, std::string(collective.name), cost,
                                                   Activity::data_communication, work)});
  }
  return out;
}

std::vector<TaskId> ReplicaWriter::run(int stage, const ReplicaCollective& collective, const Waits& waits) {
  const std::vector<Priced> priced = price_for_classes(stage, collective);
  const auto replica_of = [&](std::size_t rank) { return static_cast<int>(rank / lanes()); };
  const auto writer_of = [&](std::size_t rank) -> TeamWriter& { return teams_.team(stage, replica_of(rank)); };
  std::vector<TaskId> tasks(waits.size());
  for (const std::vector<std::size_t>& group : groups(stage, collective.among)) {
    std::vector<TaskId> after;
    for (const std::size_t rank : group) append(after, waits[rank]);
    if (group.size() > 1) {
      for (const std::size_t rank : group) {
        const TaskId last = writer_of(rank).last_on(rank % lanes(), StreamKind::data);
        if (last != kNoTask) after.push_back(last);
      }
      after = {program_.add_task(program_.add_stream(0, StreamKind::group), meeting_class(), 0, after)};
    }
    for (const std::size_t rank : group) {
      const Priced& of_class = priced[static_cast<std::size_t>(teams_.class_of(replica_of(rank)))];
      const Communication own =
          communication_.part_of(of_class.described, of_class.cost, teams_.rank_index(stage, 0, 0) + rank);
      tasks[rank] = writer_of(rank).transfer(rank % lanes(), StreamKind::data, own.task_class, own.duration, after, -1);
    }
  }
  return tasks;
}

// What the gradients of each rank wait for: its passes, and what reduced them so far.
ReplicaWriter::Waits ReplicaWriter::gradients(int stage) {
  Waits waits;
  for (int replica = 0; replica < teams_.replicas(); ++replica) {
    const TeamWriter& writer = teams_.team(stage, replica);
    for (std::size_t lane = 0; lane < lanes(); ++lane) {
      waits.emplace_back();
      append(waits.back(), writer.done(lane));
      if (const TaskId last = writer.last_on(lane, StreamKind::data); last != kNoTask) waits.back().push_back(last);
    }
  }
  return waits;
}

// The host's work on a collective; it may have to wait first.
ReplicaWriter::Waits ReplicaWriter::issue(int stage, const char* name, const Waits& held_back) {
  TaskClass described;
  described.kind = TaskKind::issue;
  described.name = name;
  described.stage = stage;
  described.activity_s[static_cast<std::size_t>(Activity::host)] = job_.framework.host_unit_s;
  const ClassId issuing = program_.add_class(std::move(described));
  const Picoseconds lasting = to_picoseconds(job_.framework.host_unit_s);
  Waits issued;
  for (std::size_t i = 0; i < held_back.size(); ++i) {
    TeamWriter& writer = teams_.team(stage, static_cast<int>(i / lanes()));
    issued.push_back({writer.transfer(i % lanes(), StreamKind::host, issuing, lasting, held_back[i], -1)});
  }
  return issued;
}

void ReplicaWriter::reduce(int stage, const HeldParameters& held) {
  Waits waits = gradients(stage);
  if (job_.framework.host_unit_s > 0) {
    const Waits issued = issue(stage, "issue reduction", Waits(waits.size()));
    for (std::size_t i = 0; i < waits.size(); ++i) append(waits[i], issued[i]);
  }
  for (const ReplicaCollective& collective : gradient_reduction(job_, held)) run(stage, collective, waits);
}

void ReplicaWriter::sum_norms(int stage) {
  constexpr double number = 4;
  run(stage, {"sum gradient norms", CollectiveKind::all_reduce, number, ReplicaGroup::shard}, gradients(stage));
}

std::vector<TaskId> ReplicaWriter::gather(int stage, const HeldParameters& held, GatherAfter after) {
  Waits waits;
  for (int replica = 0; replica < teams_.replicas(); ++replica) {
    const TeamWriter& writer = teams_.team(stage, replica);
    for (std::size_t lane = 0; lane < lanes(); ++lane) {
      waits.emplace_back();
      if (after == GatherAfter::all_passes) append(waits.back(), writer.done(lane));
      if (after == GatherAfter::but_the_last) append(waits.back(), writer.done_before(lane));
    }
  }
  const bool host_waits = job_.framework.sharding.host_waits_for_gathers;
  if (host_waits || job_.framework.host_unit_s > 0) {
    const Waits issued = issue(stage, "issue gather", host_waits ? waits : Waits(waits.size()));
    for (std::size_t i = 0; i < waits.size(); ++i) append(waits[i], issued[i]);
  }
  // In order on one stream: what waits for the last of them waits for all.
  std::vector<TaskId> tasks;
  const StageParameters& parameters = teams_.plan(stage, 0).parameters;
  for (const ReplicaCollective& collective : parameter_gather(job_, parameters, held)) {
    tasks = run(stage, collective, waits);
  }
  return tasks;
}

}  // namespace mirfak
