#include "program/step_writer.hpp"

#include "program/job_network.hpp"
#include "program/optimizer_step.hpp"
#include "program/replica_placement.hpp"
#include "strategy/rules.hpp"

#include <array>

namespace mirfak {

namespace {

class StepWriter {
 public:
  StepWriter(Program& program, RankGroups& groups, const Job& job, const ShardedBlocks& blocks,
             const Placement& placement, const std::deque<StageWork>& work, ReplicaTeams& teams,
             CommunicationClasses& communication, ReplicaWriter& data)
      : program_(program),
        groups_(groups),
        job_(job),
        blocks_(blocks),
        placement_(placement),
        work_(work),
        teams_(teams),
        communication_(communication),
        data_(data) {}

  void reduce_gradients();
  void step_optimizer();

 private:
  const Job& job_of(int stage) const { return job_at(job_, blocks_, stage); }
  DataParallelPlan data_parallel(int stage) const { return data_parallel_plan(job_of(stage)); }
  GroupingId tensor_groups(int stage) const {
    return groups_.over(MeshAxisSet(MeshAxis::tensor), job_of(stage).strategy);
  }
  void reduce_over_tensor(int stage, int replica_class);
  void reduce_over_tensor(int stage, TeamWriter& writer, const Communication& reduction);
  void reduce_parts(int replica_class);
  // A reduction of gradients of parameters that two stages hold.
  struct Shared {
    const char* name;
    GroupKind kind{};
    std::array<int, 2> stages{};
    double elements = 0;
  };
  void reduce_between(int replica_class, const Shared& shared);
  CommunicationCost cost_between(int replica_class, const Shared& shared) const;
  TaskId norm_of_gradients();

  Program& program_;
  RankGroups& groups_;
  const Job& job_;
  const ShardedBlocks& blocks_;
  const Placement& placement_;
  const std::deque<StageWork>& work_;
  ReplicaTeams& teams_;
  CommunicationClasses& communication_;
  ReplicaWriter& data_;
};

// Adds the tasks that a lane's gradients wait for: its passes, and the earlier reductions.
void append_gradients(std::vector<TaskId>& after, const TeamWriter& writer, std::size_t lane) {
  after.insert(after.end(), writer.done(lane).begin(), writer.done(lane).end());
  if (const TaskId last = writer.last_on(lane, StreamKind::data); last != kNoTask) after.push_back(last);
}

void StepWriter::reduce_gradients() {
  for (int stage = 0; stage < teams_.stages(); ++stage) {
    const StageParameters& parameters = teams_.plan(stage, 0).parameters;
    if (data_parallel(stage).reduce == DataParallelPlan::Reduce::at_end) data_.reduce(stage, parameters.held());
    if (data_parallel(stage).reduce_of_parts == DataParallelPlan::Reduce::at_end) {
      data_.reduce_parts(stage, parameters.held());
    }
    if (job_.strategy.divides_weights()) data_.reduce_parts(stage, parameters.held(), true);
    if (parameters.tensor_partial_elements <= 0) continue;
    for (int own = 0; own < teams_.classes(); ++own) reduce_over_tensor(stage, own);
  }
  for (int own = 0; own < teams_.classes(); ++own) reduce_parts(own);
  for (const std::array<std::int32_t, 2>& stages : tied_stages(placement_, words_part(job_.strategy, job_.model))) {
    const double tied = teams_.plan(stages[0], 0).parameters.tied_elements;
    if (tied <= 0) continue;
    const Shared embedding{"reduce tied embedding gradients", GroupKind::tied_embedding, stages,
                           tied / job_.strategy.weight_group()};
    for (int own = 0; own < teams_.classes(); ++own) reduce_between(own, embedding);
  }
  for (int stage = 0; stage < teams_.stages(); ++stage) {
    if (data_parallel(stage).shards > 1) data_.sum_norms(stage);
  }
}

// Sequence parallelism leaves the gradients of norms and biases as partial sums over the tensor ranks.
void StepWriter::reduce_over_tensor(int stage, int replica_class) {
  const StagePlan& plan = teams_.plan(stage, replica_class);
  const double bytes = plan.parameters.tensor_partial_elements * gradient_bytes(job_);
  const CommunicationCost cost =
      plan.costs.communication.price(CollectiveKind::all_reduce, bytes, plan.costs.tensor_group);
  const Communication reduction =
      communication_.collective({stage, "reduce norm gradients", CollectiveKind::all_reduce, bytes, 1,
                                 Activity::tensor_communication, tensor_groups(stage)},
                                cost);
  for (const int replica : teams_.replicas_of(stage, replica_class))
    reduce_over_tensor(stage, teams_.team(stage, replica), reduction);
}

void StepWriter::reduce_over_tensor(int stage, TeamWriter& writer, const Communication& reduction) {
  const int members = teams_.tensor_lanes(stage);
  for (int first = 0; first < teams_.lanes(stage); first += members) {
    std::vector<TaskId> after;
    const auto for_each_member = [&](const auto& act) {
      for (int lane = first; lane < first + members; ++lane) act(static_cast<std::size_t>(lane));
    };
    for_each_member([&](std::size_t lane) { append_gradients(after, writer, lane); });
    if (members > 1) {
      const GroupingId tensor = tensor_groups(stage);
      const GroupId group = program_.groupings[tensor].of_rank[writer.rank(static_cast<std::size_t>(first))];
      after = {groups_.meet(tensor, group, StreamKind::data, after)};
    }
    for_each_member([&](std::size_t lane) {
      writer.transfer(lane, StreamKind::data, reduction.task_class, reduction.duration, after, -1);
    });
  }
}

// Sums gradients of parts of the model that two stages hold: each stage has the gradients of the microbatches that it
// ran.
void StepWriter::reduce_parts(int replica_class) {
  if (!placement_.holds_twice()) return;
  for (std::int32_t stage = 0; stage < teams_.stages(); ++stage) {
    const StagePlan& plan = teams_.plan(stage, replica_class);
    for (std::int32_t chunk = 0; chunk < placement_.chunks(stage); ++chunk) {
      const ChunkPlan& of = plan.chunks[static_cast<std::size_t>(chunk)];
      HeldParameters held;
      for (int i = 0; i < of.blocks(); ++i) held += of.held_by(i);
      if (held.total() <= 0) continue;  // all of it is frozen
      for (const Place& copy : placement_.copies_of({stage, chunk})) {
        if (copy.stage <= stage) continue;
        reduce_between(
            replica_class,
            {"sum gradients of a part", GroupKind::part, {stage, copy.stage}, shard_of(job_of(stage), held)});
      }
    }
  }
}

CommunicationCost StepWriter::cost_between(int replica_class, const Shared& shared) const {
  const StagePlan& first = teams_.plan(shared.stages[0], replica_class);
  const StagePlan& last = teams_.plan(shared.stages[1], replica_class);
  const std::array<int, 2> devices = {job_.rank_of(first.stage, placed_as(job_, first.replicas), 0),
                                      job_.rank_of(last.stage, placed_as(job_, last.replicas), 0)};
  const CommunicationGroup group = alone(communication_group(job_, devices));
  const double bytes = shared.elements * gradient_bytes(job_);
  CommunicationCost cost;
  for (const StagePlan* end : {&first, &last}) {
    const CommunicationCost other = end->costs.communication.price(CollectiveKind::all_reduce, bytes, group);
    if (other.seconds > cost.seconds) cost = other;
  }
  return cost;
}

void StepWriter::reduce_between(int replica_class, const Shared& shared) {
  const CommunicationCost cost = cost_between(replica_class, shared);
  const double bytes = shared.elements * gradient_bytes(job_);
  std::array<Communication, 2> ends;
  for (std::size_t end = 0; end < 2; ++end) {
    ends[end] = communication_.collective(
        {shared.stages[end], shared.name, CollectiveKind::all_reduce, bytes, 1, Activity::pipeline_communication,
         groups_.between(shared.kind, shared.stages[0], shared.stages[1])},
        cost);
  }
  for (const int replica : teams_.replicas_of(shared.stages[0], replica_class)) {
    for (int i = 0; i < teams_.lanes(shared.stages[0]); ++i) {
      const auto lane = static_cast<std::size_t>(i);
      std::vector<TaskId> after;
      for (const int stage : shared.stages) append_gradients(after, teams_.team(stage, replica), lane);
      for (std::size_t end = 0; end < 2; ++end) {
        teams_.team(shared.stages[end], replica)
            .transfer(lane, StreamKind::data, ends[end].task_class, ends[end].duration, after, -1);
      }
    }
  }
}

TaskId StepWriter::norm_of_gradients() {
  std::vector<TaskId> gradients;
  for (const TeamWriter& writer : teams_.all()) {
    for (std::size_t lane = 0; lane < writer.lanes(); ++lane) {
      append_gradients(gradients, writer, lane);
      for (const StreamKind stream : {StreamKind::send_forward, StreamKind::send_backward}) {
        if (const TaskId last = writer.last_on(lane, stream); last != kNoTask) gradients.push_back(last);
      }
    }
  }
  const GroupingId all = groups_.all();
  return groups_.meet(all, program_.groupings[all].of_rank.front(), StreamKind::data, gradients);
}

void StepWriter::step_optimizer() {
  const TaskId norm = norm_of_gradients();
  for (int stage = 0; stage < teams_.stages(); ++stage) {
    const bool host_works = host_step_seconds(job_, teams_.plan(stage, 0).parameters) > 0;
    for (int replica = 0; replica < teams_.replicas(stage); ++replica) {
      TeamWriter& writer = teams_.team(stage, replica);
      for (std::size_t lane = 0; lane < writer.lanes(); ++lane) {
        writer.device_waits_for(lane, norm);
        if (host_works) writer.host_waits_for(lane, norm);
      }
      writer.run(work_[teams_.index(stage, teams_.class_of(stage, replica))].optimizer(), -1);
    }
    if (data_parallel(stage).gather == DataParallelPlan::Gather::after_step) {
      data_.gather(stage, teams_.plan(stage, 0).parameters.held(), ReplicaWriter::GatherAfter::all_passes);
    }
    if (data_parallel(stage).gather_of_parts == DataParallelPlan::Gather::after_step) {
      data_.gather_parts(stage, teams_.plan(stage, 0).parameters.held(), ReplicaWriter::GatherAfter::all_passes);
    }
  }
}

}  // namespace

void write_step(Program& program, RankGroups& groups, const Job& job, const ShardedBlocks& blocks,
                const Placement& placement, const std::deque<StageWork>& work, ReplicaTeams& teams,
                CommunicationClasses& communication, ReplicaWriter& data) {
  StepWriter writer(program, groups, job, blocks, placement, work, teams, communication, data);
  writer.reduce_gradients();
  writer.step_optimizer();
}

}  // namespace mirfak
