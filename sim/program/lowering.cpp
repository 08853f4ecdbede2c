// Lowering walks the stages round robin: each emits passes in its schedule's order for as long as the transfers
// they need have been emitted. So tasks come out in a topological order, and a schedule that would deadlock is
// found when no stage can go on.

#include "program/lowering.hpp"

#include "base/error.hpp"
#include "program/communication_classes.hpp"
#include "program/data_parallel.hpp"
#include "program/optimizer_step.hpp"
#include "program/program_size.hpp"
#include "program/replica_writer.hpp"
#include "program/stage_work.hpp"
#include "program/team_writer.hpp"
#include "strategy/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>

namespace mirfak {

namespace {

bool overlaps_replicas(const DataParallelPlan& plan) {
  return plan.gathers_in_passes() || plan.gather == DataParallelPlan::Gather::first_forward ||
         plan.reduce == DataParallelPlan::Reduce::last_backward ||
         plan.reduce == DataParallelPlan::Reduce::every_backward;
}

class Lowering {
 public:
  Lowering(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> stages,
           const LoweringOptions& options)
      : job_(job),
        blocks_(blocks),
        stages_(stages),
        options_(options),
        shape_(pipeline_shape(job)),
        replicas_(options.unfolded ? job.strategy.data : 1),
        lanes_(options.unfolded ? job.strategy.team() : 1),
        tensor_lanes_(options.unfolded ? job.strategy.tensor : 1),
        overlaps_transfers_(job.framework.overlap_pipeline && job.strategy.schedule == ScheduleKind::interleaved),
        host_waits_(job.framework.host_waits_for_pipeline && !overlaps_transfers_),
        data_parallel_(data_parallel_plan(job)),
        contended_(overlaps_replicas(data_parallel_) && stages.size() > 1 &&
                   stages.front().costs.data_group.shape.domains > 1) {}

  Program run() {
    for (const StagePlan& plan : stages_) add_teams(plan);
    communication_.emplace(program_, job_, blocks_, stages_, contended_);
    data_.emplace(program_, job_, stages_, teams_, replicas_, *communication_);
    for (const StagePlan& plan : stages_) add_work(plan);
    emit_passes();
    reduce_gradients();
    step_optimizer();
    return std::move(program_);
  }

 private:
  // Transfers of activations and gradients cross stages like this: virtual stage = chunk * stages + stage.
  struct Place {
    int stage = 0;
    int chunk = 0;
    bool exists = false;
  };
  struct StageState {
    std::size_t next = 0;           // index into the stage's order
    std::vector<int> forward_left;  // passes of each chunk still to come
    std::vector<int> backward_left;
  };

  TeamWriter& team(int stage, int replica) { return teams_[static_cast<std::size_t>(stage * replicas_ + replica)]; }
  const StageWork& work(int stage) const { return work_[static_cast<std::size_t>(stage)]; }
  const StagePlan& plan(int stage) const { return stages_[static_cast<std::size_t>(stage)]; }

  std::size_t rank_index(int stage, int replica, int lane) const {
    return static_cast<std::size_t>((stage * replicas_ + replica) * lanes_ + lane);
  }

  void add_teams(const StagePlan& plan);
  void add_work(const StagePlan& plan);

  Place neighbour(int stage, int chunk, int step) const;
  Place target(int stage, const Pass& pass) const {
    return neighbour(stage, pass.chunk, pass.kind == Pass::Kind::forward ? 1 : -1);
  }
  Place origin(int stage, const Pass& pass) const {
    return neighbour(stage, pass.chunk, pass.kind == Pass::Kind::forward ? -1 : 1);
  }
  TaskId& arrival(const Pass& pass, int stage, int replica, int lane);

  bool ready(int stage, const Pass& pass);
  void emit_passes();
  void emit(int stage, const Pass& pass);
  bool cut(int stage, const Pass& pass);
  void emit_in_parts(int stage, const Pass& pass, const std::vector<PartWork>& parts);
  void wait_for_reduction(int stage);
  void prepare(int stage, int replica, const Pass& pass);
  void send(int stage, int replica, const Pass& pass);

  void reduce_gradients();
  void reduce_over_tensor(int stage);
  void reduce_tied_embeddings();
  void step_optimizer();
  TaskId meet(std::span<const TaskId> after, const char* name);

  const Job& job_;
  const ShardedBlocks& blocks_;
  std::span<const StagePlan> stages_;
  LoweringOptions options_;
  PipelineShape shape_;
  int replicas_;
  int lanes_;         // of a team: context rank * tensor_lanes_ + tensor rank
  int tensor_lanes_;  // of one context rank
  bool overlaps_transfers_;
  bool host_waits_;
  DataParallelPlan data_parallel_;
  bool contended_;  // collectives of replicas and transfers between stages share the network's ports
  Program program_;
  std::vector<TeamWriter> teams_;
  std::deque<StageWork> work_;
  std::vector<StageState> states_;
  std::array<std::vector<TaskId>, 2> arrivals_;
  std::optional<CommunicationClasses> communication_;  // once the ranks are known
  std::optional<ReplicaWriter> data_;
};

void Lowering::add_teams(const StagePlan& plan) {
  const auto folded = static_cast<std::uint32_t>(job_.strategy.data * job_.strategy.team());
  for (int replica = 0; replica < replicas_; ++replica) {
    std::vector<std::uint32_t> ranks;
    for (int lane = 0; lane < lanes_; ++lane) {
      ranks.push_back(static_cast<std::uint32_t>(program_.ranks.size()));
      program_.ranks.push_back({static_cast<std::uint32_t>(job_.rank_of(plan.stage, replica, lane)),
                                static_cast<std::uint32_t>(plan.stage),
                                static_cast<std::uint32_t>(lane % job_.strategy.tensor),
                                static_cast<std::uint32_t>(lane / job_.strategy.tensor),
                                static_cast<std::uint32_t>(replica), options_.unfolded ? 1 : folded});
    }
    teams_.emplace_back(program_, ranks);
  }
}

void Lowering::add_work(const StagePlan& plan) {
  work_.emplace_back(program_, job_, plan, options_.operators);
  StageState state;
  state.forward_left.assign(plan.chunks.size(), shape_.microbatches);
  state.backward_left = state.forward_left;
  states_.push_back(std::move(state));
}

Lowering::Place Lowering::neighbour(int stage, int chunk, int step) const {
  const int place = chunk * shape_.stages + stage + step;
  if (place < 0 || place >= shape_.stages * shape_.chunks) return {};
  return {place % shape_.stages, place / shape_.stages, true};
}

// The task that brings a pass its input from another stage.
TaskId& Lowering::arrival(const Pass& pass, int stage, int replica, int lane) {
  const auto slot = static_cast<std::size_t>(pass.chunk * shape_.microbatches + pass.microbatch);
  const auto slots = static_cast<std::size_t>(shape_.chunks * shape_.microbatches);
  return arrivals_[static_cast<std::size_t>(pass.kind)][rank_index(stage, replica, lane) * slots + slot];
}

bool Lowering::ready(int stage, const Pass& pass) {
  return !origin(stage, pass).exists || arrival(pass, stage, 0, 0) != kNoTask;
}

void Lowering::emit_passes() {
  const std::size_t slots = program_.ranks.size() * static_cast<std::size_t>(shape_.chunks * shape_.microbatches);
  for (auto& arrivals : arrivals_) arrivals.assign(slots, kNoTask);
  for (bool progress = true; progress;) {
    progress = false;
    for (const StagePlan& stage : stages_) {
      std::size_t& next = states_[static_cast<std::size_t>(stage.stage)].next;
      for (; next < stage.order.size() && ready(stage.stage, stage.order[next]); ++next) {
        emit(stage.stage, stage.order[next]);
        progress = true;
      }
    }
  }
  for (const StagePlan& stage : stages_) {
    if (states_[static_cast<std::size_t>(stage.stage)].next == stage.order.size()) continue;
    fail_internal(
        fmt::format("the schedule {} deadlocks on stage {}", schedule_of(job_.strategy.schedule).name, stage.stage));
  }
}

// Whether collectives of the replicas cut this pass into parts. Counts the passes: call once for each.
bool Lowering::cut(int stage, const Pass& pass) {
  StageState& state = states_[static_cast<std::size_t>(stage)];
  const bool forward = pass.kind == Pass::Kind::forward;
  int& left = (forward ? state.forward_left : state.backward_left)[static_cast<std::size_t>(pass.chunk)];
  const bool first = left == shape_.microbatches;
  const bool last = --left == 0;
  if (work(stage).parts(pass).empty()) return false;
  if (forward) return first || data_parallel_.gather != DataParallelPlan::Gather::first_forward;
  return last || data_parallel_.reduce != DataParallelPlan::Reduce::last_backward;
}

void Lowering::emit(int stage, const Pass& pass) {
  for (int replica = 0; replica < replicas_; ++replica) prepare(stage, replica, pass);
  if (cut(stage, pass)) {
    emit_in_parts(stage, pass, work(stage).parts(pass));
  } else {
    for (int replica = 0; replica < replicas_; ++replica) {
      team(stage, replica).run(work(stage).pass(pass), pass.microbatch);
    }
  }
  for (int replica = 0; replica < replicas_; ++replica) send(stage, replica, pass);
}

// Gathers run at most one part ahead of compute: part i's waits for the end of part i - 2 (the rate limiter of FSDP),
// where parameters are released behind a pass. In issue order it stands in front of part i - 1 where the framework
// prefetches, else behind it; in a backward pass, then, in front of that part's reduction.
void Lowering::emit_in_parts(int stage, const Pass& pass, const std::vector<PartWork>& parts) {
  using After = ReplicaWriter::GatherAfter;
  const ShardingHabits& habits = job_.framework.sharding;
  const bool forward = pass.kind == Pass::Kind::forward;
  const bool released = data_parallel_.gathers_in_passes();
  const bool ahead = forward ? habits.prefetch_forward : habits.prefetch_backward;
  const bool prefetches = !released || (habits.overlaps_gathers && ahead);
  std::vector<std::vector<TaskId>> gathered(parts.size());
  std::size_t next = 0;
  const auto gather = [&](After after) {
    if (parts[next].gathers.total() > 0)
      gathered[next] = data_->gather(stage, parts[next].gathers, released ? after : After::nothing);
    ++next;
  };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool behind_all = !habits.overlaps_gathers || (i == 0 && forward && habits.gather_waits_for_pass);
    if (next == i) gather(behind_all ? After::all_passes : After::but_the_last);
    if (prefetches && next < parts.size()) gather(After::all_passes);
    for (int replica = 0; replica < replicas_; ++replica) {
      TeamWriter& writer = team(stage, replica);
      for (std::size_t lane = 0; !gathered[i].empty() && lane < writer.lanes(); ++lane) {
        writer.device_waits_for(lane, gathered[i][static_cast<std::size_t>(replica) * writer.lanes() + lane]);
      }
      writer.run(parts[i].pass, pass.microbatch);
    }
    if (habits.overlaps_gathers && !prefetches && !forward && next < parts.size()) gather(After::but_the_last);
    if (parts[i].reduces.total() == 0) continue;
    data_->reduce(stage, parts[i].reduces);
    if (habits.reduction_blocks) wait_for_reduction(stage);
  }
}

void Lowering::wait_for_reduction(int stage) {
  for (int replica = 0; replica < replicas_; ++replica) {
    TeamWriter& writer = team(stage, replica);
    for (std::size_t lane = 0; lane < writer.lanes(); ++lane) {
      if (const TaskId last = writer.last_on(lane, StreamKind::data); last != kNoTask)
        writer.device_waits_for(lane, last);
    }
  }
}

void Lowering::prepare(int stage, int replica, const Pass& pass) {
  TeamWriter& writer = team(stage, replica);
  for (std::size_t lane = 0; job_.framework.host_waits_for_passes && lane < writer.lanes(); ++lane) {
    for (const TaskId before : writer.done(lane)) writer.host_waits_for(lane, before);
  }
  if (!origin(stage, pass).exists) return;
  for (int lane = 0; lane < lanes_; ++lane) {
    const TaskId arrived = arrival(pass, stage, replica, lane);
    writer.device_waits_for(static_cast<std::size_t>(lane), arrived);
    if (host_waits_) writer.host_waits_for(static_cast<std::size_t>(lane), arrived);
  }
}

// Both ends of a transfer wait for the same things, so they start together.
void Lowering::send(int stage, int replica, const Pass& pass) {
  const Place to = target(stage, pass);
  if (!to.exists) return;
  const bool forward = pass.kind == Pass::Kind::forward;
  const StreamKind sends = forward ? StreamKind::send_forward : StreamKind::send_backward;
  const StreamKind receives = forward ? StreamKind::recv_forward : StreamKind::recv_backward;
  TeamWriter& from = team(stage, replica);
  TeamWriter& into = team(to.stage, replica);
  for (int i = 0; i < lanes_; ++i) {
    const auto lane = static_cast<std::size_t>(i);
    const Communication sending =
        communication_->transfer(stage, to.stage, pass.kind, true, rank_index(stage, replica, i));
    const Communication receiving =
        communication_->transfer(stage, to.stage, pass.kind, false, rank_index(to.stage, replica, i));
    std::vector<TaskId> after(from.done(lane).begin(), from.done(lane).end());
    for (const TaskId last : {from.last_on(lane, sends), into.last_on(lane, receives)}) {
      if (last != kNoTask) after.push_back(last);
    }
    const TaskId sent = from.transfer(lane, sends, sending.task_class, sending.duration, after, pass.microbatch);
    arrival({pass.kind, to.chunk, pass.microbatch}, to.stage, replica, i) =
        into.transfer(lane, receives, receiving.task_class, receiving.duration, after, pass.microbatch);
    if (!overlaps_transfers_) from.device_waits_for(lane, sent);
    if (host_waits_) from.host_waits_for(lane, sent);
  }
}

TaskId Lowering::meet(std::span<const TaskId> after, const char* name) {
  TaskClass described;
  described.kind = TaskKind::meeting;
  described.name = name;
  const ClassId meeting = program_.add_class(std::move(described));
  return program_.add_task(program_.add_stream(0, StreamKind::group), meeting, 0, after);
}

// Adds what a lane's gradients wait for: its passes, and what reduced them so far.
void append_gradients(std::vector<TaskId>& after, const TeamWriter& writer, std::size_t lane) {
  after.insert(after.end(), writer.done(lane).begin(), writer.done(lane).end());
  if (const TaskId last = writer.last_on(lane, StreamKind::data); last != kNoTask) after.push_back(last);
}

void Lowering::reduce_gradients() {
  for (const StagePlan& stage : stages_) {
    if (data_parallel_.reduce == DataParallelPlan::Reduce::at_end) {
      data_->reduce(stage.stage, stage.parameters.held());
    }
    if (stage.parameters.tensor_partial_elements > 0) reduce_over_tensor(stage.stage);
  }
  if (job_.strategy.pipeline > 1 && stages_.front().parameters.tied_elements > 0) reduce_tied_embeddings();
  for (const StagePlan& stage : stages_) {
    if (data_parallel_.shards > 1) data_->sum_norms(stage.stage);
  }
}

// Sequence parallelism leaves the gradients of norms and biases as partial sums over the tensor ranks.
void Lowering::reduce_over_tensor(int stage) {
  const StagePlan& stage_plan = plan(stage);
  const double bytes = stage_plan.parameters.tensor_partial_elements * gradient_bytes(job_);
  const CommunicationCost cost =
      stage_plan.costs.communication.price(CollectiveKind::all_reduce, bytes, stage_plan.costs.tensor_group);
  const Communication reduction =
      communication_->collective(stage, "reduce norm gradients", cost, Activity::tensor_communication);
  for (int replica = 0; replica < replicas_; ++replica) {
    TeamWriter& writer = team(stage, replica);
    for (int first = 0; first < lanes_; first += tensor_lanes_) {
      std::vector<TaskId> after;
      const auto for_each_member = [&](const auto& act) {
        for (int lane = first; lane < first + tensor_lanes_; ++lane) act(static_cast<std::size_t>(lane));
      };
      for_each_member([&](std::size_t lane) { append_gradients(after, writer, lane); });
      if (tensor_lanes_ > 1) after = {meet(after, "tensor ranks meet")};
      for_each_member([&](std::size_t lane) {
        writer.transfer(lane, StreamKind::data, reduction.task_class, reduction.duration, after, -1);
      });
    }
  }
}

// The first and the last stage hold the same word embedding and sum its gradients.
void Lowering::reduce_tied_embeddings() {
  const int last_stage = shape_.stages - 1;
  const double bytes = stages_.front().parameters.tied_elements * gradient_bytes(job_);
  const std::array<int, 2> devices = {job_.rank_of(0, 0, 0), job_.rank_of(last_stage, 0, 0)};
  const CommunicationGroup group = communication_group(job_.cluster, devices);
  CommunicationCost cost;
  for (const int stage : {0, last_stage}) {
    const CommunicationCost other = plan(stage).costs.communication.price(CollectiveKind::all_reduce, bytes, group);
    if (other.seconds > cost.seconds) cost = other;
  }
  std::array<Communication, 2> ends;
  for (std::size_t end = 0; end < 2; ++end) {
    ends[end] = communication_->collective(end == 0 ? 0 : last_stage, "reduce tied embedding gradients", cost,
                                           Activity::pipeline_communication);
  }
  for (int replica = 0; replica < replicas_; ++replica) {
    for (int i = 0; i < lanes_; ++i) {
      const auto lane = static_cast<std::size_t>(i);
      std::vector<TaskId> after;
      for (const int stage : {0, last_stage}) append_gradients(after, team(stage, replica), lane);
      for (std::size_t end = 0; end < 2; ++end) {
        team(end == 0 ? 0 : last_stage, replica)
            .transfer(lane, StreamKind::data, ends[end].task_class, ends[end].duration, after, -1);
      }
    }
  }
}

void Lowering::step_optimizer() {
  std::vector<TaskId> gradients;
  for (const TeamWriter& writer : teams_) {
    for (std::size_t lane = 0; lane < writer.lanes(); ++lane) {
      append_gradients(gradients, writer, lane);
      for (const StreamKind stream : {StreamKind::send_forward, StreamKind::send_backward}) {
        if (const TaskId last = writer.last_on(lane, stream); last != kNoTask) gradients.push_back(last);
      }
    }
  }
  const TaskId norm = meet(gradients, "global gradient norm");
  for (const StagePlan& stage : stages_) {
    for (int replica = 0; replica < replicas_; ++replica) {
      TeamWriter& writer = team(stage.stage, replica);
      for (std::size_t lane = 0; lane < writer.lanes(); ++lane) {
        writer.device_waits_for(lane, norm);
        if (host_step_seconds(job_) > 0) writer.host_waits_for(lane, norm);
      }
      writer.run(work(stage.stage).optimizer(), -1);
    }
    if (data_parallel_.gather == DataParallelPlan::Gather::after_step) {
      data_->gather(stage.stage, stage.parameters.held(), ReplicaWriter::GatherAfter::all_passes);
    }
  }
}

}  // namespace

Program lower(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> stages,
              const LoweringOptions& options) {
  check_program_size(job, stages, options);
  return Lowering(job, blocks, stages, options).run();
}

}  // namespace mirfak
