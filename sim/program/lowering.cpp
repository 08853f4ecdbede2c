// Lowering walks the stages round robin: each emits passes in its schedule's order for as long as the transfers
// they need have been emitted. So tasks come out in a topological order, and a schedule that would deadlock is
// found when no stage can go on. Replicas of different classes go on each by themselves, up to a pass that their
// collectives cut into parts: that one they write together.

#include "program/lowering.hpp"

#include "base/error.hpp"
#include "program/communication_classes.hpp"
#include "program/data_parallel.hpp"
#include "program/program_size.hpp"
#include "program/replica_teams.hpp"
#include "program/replica_writer.hpp"
#include "program/stage_work.hpp"
#include "program/step_writer.hpp"
#include "strategy/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>

namespace mirfak {

namespace {

bool overlaps_replicas(const DataParallelPlan& plan) {
  return plan.gathers_in_passes() || plan.gather == DataParallelPlan::Gather::first_forward ||
         plan.reduce == DataParallelPlan::Reduce::last_backward ||
         plan.reduce == DataParallelPlan::Reduce::every_backward;
}

class Lowering {
 public:
  Lowering(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> plans,
           const LoweringOptions& options)
      : job_(job),
        options_(options),
        overlaps_transfers_(job.framework.communication.overlap_pipeline &&
                            job.strategy.schedule == ScheduleKind::interleaved),
        host_waits_(job.framework.host.waits_for_pipeline && !overlaps_transfers_),
        data_parallel_(data_parallel_plan(job)),
        most_microbatches_(microbatches(job.strategy, job.training)),
        groups_(program_, job, !options.unfolded),
        teams_(program_, groups_, job, plans, options.unfolded),
        communication_(program_, groups_, job, blocks, plans,
                       overlaps_replicas(data_parallel_) && job.strategy.pipeline > 1 &&
                           plans.front().costs.data_group.shape.domains > 1),
        data_(program_, groups_, job, teams_, communication_) {
    for (const StagePlan& plan : plans) add_work(blocks, plan);
  }

  Program run() {
    emit_passes();
    write_step(program_, groups_, job_, work_, teams_, communication_, data_);
    return std::move(program_);
  }

 private:
  // Transfers of activations and gradients cross stages like this: virtual stage = chunk * stages + stage.
  struct Place {
    int stage = 0;
    int chunk = 0;
    bool exists = false;
  };
  // How far a plan has come.
  struct PlanState {
    std::size_t next = 0;           // index into its order
    std::vector<int> forward_left;  // passes of each chunk still to come
    std::vector<int> backward_left;
  };

  const StagePlan& plan(int stage, int replica_class) const { return teams_.plan(stage, replica_class); }
  const StageWork& work(int stage, int replica_class) const { return work_[teams_.index(stage, replica_class)]; }
  PlanState& state(int stage, int replica_class) { return states_[teams_.index(stage, replica_class)]; }

  void add_work(const ShardedBlocks& blocks, const StagePlan& plan);

  Place neighbour(int stage, int chunk, int step) const;
  Place target(int stage, const Pass& pass) const {
    return neighbour(stage, pass.chunk, pass.kind == Pass::Kind::forward ? 1 : -1);
  }
  Place origin(int stage, const Pass& pass) const {
    return neighbour(stage, pass.chunk, pass.kind == Pass::Kind::forward ? -1 : 1);
  }
  TaskId& arrival(const Pass& pass, int stage, int replica, int lane);

  const Pass& next(int stage, int replica_class) {
    return plan(stage, replica_class).order[state(stage, replica_class).next];
  }
  bool ready(int stage, int replica_class);
  int& left(int stage, int replica_class);
  bool cut(int stage, int replica_class);
  void emit_passes();
  bool emit_whole(int stage);
  bool emit_cut(int stage);
  void check_finished();
  void emit_in_parts(int stage);
  void run_part(int stage, int replica, std::size_t part, std::span<const TaskId> gathered);
  void wait_for_reduction(int stage);
  void prepare(int stage, int replica, const Pass& pass);
  void send(int stage, int replica, const Pass& pass);
  void finish(int stage, int replica_class);

  const Job& job_;
  LoweringOptions options_;
  bool overlaps_transfers_;
  bool host_waits_;
  DataParallelPlan data_parallel_;
  int most_microbatches_;
  Program program_;
  RankGroups groups_;
  ReplicaTeams teams_;
  CommunicationClasses communication_;  // once the ranks are known
  ReplicaWriter data_;
  std::deque<StageWork> work_;  // of each plan
  std::vector<PlanState> states_;
  std::array<std::vector<TaskId>, 2> arrivals_;
};

void Lowering::add_work(const ShardedBlocks& blocks, const StagePlan& plan) {
  work_.emplace_back(program_, groups_, job_, blocks, plan, options_);
  PlanState state;
  state.forward_left.assign(plan.chunks.size(), plan.replicas.microbatches);
  state.backward_left = state.forward_left;
  states_.push_back(std::move(state));
}

Lowering::Place Lowering::neighbour(int stage, int chunk, int step) const {
  const int place = chunk * teams_.stages() + stage + step;
  if (place < 0 || place >= teams_.stages() * job_.strategy.virtual_pipeline) return {};
  return {place % teams_.stages(), place / teams_.stages(), true};
}

// The task that brings a pass its input from another stage.
TaskId& Lowering::arrival(const Pass& pass, int stage, int replica, int lane) {
  const auto slot = static_cast<std::size_t>(pass.chunk * most_microbatches_ + pass.microbatch);
  const auto slots = static_cast<std::size_t>(job_.strategy.virtual_pipeline * most_microbatches_);
  return arrivals_[static_cast<std::size_t>(pass.kind)][teams_.rank_index(stage, replica, lane) * slots + slot];
}

// Whether a plan has a pass left, and what it needs has been written.
bool Lowering::ready(int stage, int replica_class) {
  if (state(stage, replica_class).next == plan(stage, replica_class).order.size()) return false;
  const Pass& pass = next(stage, replica_class);
  const int replica = teams_.replicas_of(replica_class).front();
  return !origin(stage, pass).exists || arrival(pass, stage, replica, 0) != kNoTask;
}

// Of the next pass's kind and chunk, those that have not been written.
int& Lowering::left(int stage, int replica_class) {
  PlanState& of = state(stage, replica_class);
  const Pass& pass = next(stage, replica_class);
  auto& passes = pass.kind == Pass::Kind::forward ? of.forward_left : of.backward_left;
  return passes[static_cast<std::size_t>(pass.chunk)];
}

// Whether collectives of the replicas cut the next pass into parts.
bool Lowering::cut(int stage, int replica_class) {
  const Pass& pass = next(stage, replica_class);
  if (work(stage, replica_class).parts(pass).empty()) return false;
  const int passes = left(stage, replica_class);
  const bool first = passes == plan(stage, replica_class).replicas.microbatches;
  const bool last = passes == 1;
  const bool forward = pass.kind == Pass::Kind::forward;
  if (forward) return first || data_parallel_.gather != DataParallelPlan::Gather::first_forward;
  return last || data_parallel_.reduce != DataParallelPlan::Reduce::last_backward;
}

void Lowering::emit_passes() {
  const auto slots = static_cast<std::size_t>(job_.strategy.virtual_pipeline * most_microbatches_);
  for (auto& arrivals : arrivals_) arrivals.assign(program_.ranks.size() * slots, kNoTask);
  for (bool progress = true; progress;) {
    progress = false;
    for (int stage = 0; stage < teams_.stages(); ++stage) {
      while (emit_whole(stage) || emit_cut(stage)) progress = true;
    }
  }
  check_finished();
}

void Lowering::check_finished() {
  for (int stage = 0; stage < teams_.stages(); ++stage) {
    for (int own = 0; own < teams_.classes(); ++own) {
      if (state(stage, own).next == plan(stage, own).order.size()) continue;
      fail_internal(
          fmt::format("the schedule {} deadlocks on stage {}", schedule_of(job_.strategy.schedule).name, stage));
    }
  }
}

// The passes up to the next that collectives cut, of each class.
bool Lowering::emit_whole(int stage) {
  bool any = false;
  for (int own = 0; own < teams_.classes(); ++own) {
    for (; ready(stage, own) && !cut(stage, own); any = true) {
      const Pass& pass = next(stage, own);
      for (const int replica : teams_.replicas_of(own)) prepare(stage, replica, pass);
      for (const int replica : teams_.replicas_of(own)) {
        teams_.team(stage, replica).run(work(stage, own).pass(pass), pass.microbatch);
      }
      finish(stage, own);
    }
  }
  return any;
}

// A pass that collectives cut, of all classes at once: their microbatches differ where they have unequally many, but
// not the blocks of the pass. The order of such passes is that of the chunks, the same for all classes.
bool Lowering::emit_cut(int stage) {
  for (int own = 0; own < teams_.classes(); ++own) {
    if (!ready(stage, own) || !cut(stage, own)) return false;
  }
  for (int replica = 0; replica < teams_.replicas(); ++replica) {
    prepare(stage, replica, next(stage, teams_.class_of(replica)));
  }
  emit_in_parts(stage);
  for (int own = 0; own < teams_.classes(); ++own) finish(stage, own);
  return true;
}

// Sends on what the next pass of a class has made, and counts it as written.
void Lowering::finish(int stage, int replica_class) {
  const Pass& pass = next(stage, replica_class);
  for (const int replica : teams_.replicas_of(replica_class)) send(stage, replica, pass);
  --left(stage, replica_class);
  ++state(stage, replica_class).next;
}

// Gathers run at most one part ahead of compute: part i's waits for the end of part i - 2 (the rate limiter of FSDP),
// where parameters are released behind a pass. In issue order it stands in front of part i - 1 where the framework
// prefetches, else behind it; in a backward pass, then, in front of that part's reduction.
void Lowering::emit_in_parts(int stage) {
  using After = ReplicaWriter::GatherAfter;
  const std::vector<PartWork>& parts = work(stage, 0).parts(next(stage, 0));
  const ShardingHabits& habits = job_.framework.sharding;
  const bool forward = next(stage, 0).kind == Pass::Kind::forward;
  const bool released = data_parallel_.gathers_in_passes();
  const bool ahead = forward ? habits.prefetch_forward : habits.prefetch_backward;
  const bool prefetches = !released || (habits.overlaps_gathers && ahead);
  std::vector<std::vector<TaskId>> gathered(parts.size());
  std::size_t gathering = 0;
  const auto gather = [&](After after) {
    if (parts[gathering].gathers.total() > 0)
      gathered[gathering] = data_.gather(stage, parts[gathering].gathers, released ? after : After::nothing);
    ++gathering;
  };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool behind_all = !habits.overlaps_gathers || (i == 0 && forward && habits.gather_waits_for_pass);
    if (gathering == i) gather(behind_all ? After::all_passes : After::but_the_last);
    if (prefetches && gathering < parts.size()) gather(After::all_passes);
    for (int replica = 0; replica < teams_.replicas(); ++replica) run_part(stage, replica, i, gathered[i]);
    if (habits.overlaps_gathers && !prefetches && !forward && gathering < parts.size()) gather(After::but_the_last);
    if (parts[i].reduces.total() == 0) continue;
    data_.reduce(stage, parts[i].reduces);
    if (habits.reduction_blocks) wait_for_reduction(stage);
  }
}

// `gathered`: what brought each lane of the stage its parameters; empty: they are there.
void Lowering::run_part(int stage, int replica, std::size_t part, std::span<const TaskId> gathered) {
  const int own = teams_.class_of(replica);
  const Pass& pass = next(stage, own);
  TeamWriter& writer = teams_.team(stage, replica);
  for (std::size_t lane = 0; !gathered.empty() && lane < writer.lanes(); ++lane) {
    writer.device_waits_for(lane, gathered[static_cast<std::size_t>(replica) * writer.lanes() + lane]);
  }
  writer.run(work(stage, own).parts(pass)[part].pass, pass.microbatch);
}

void Lowering::wait_for_reduction(int stage) {
  for (int replica = 0; replica < teams_.replicas(); ++replica) {
    TeamWriter& writer = teams_.team(stage, replica);
    for (std::size_t lane = 0; lane < writer.lanes(); ++lane) {
      if (const TaskId last = writer.last_on(lane, StreamKind::data); last != kNoTask)
        writer.device_waits_for(lane, last);
    }
  }
}

void Lowering::prepare(int stage, int replica, const Pass& pass) {
  TeamWriter& writer = teams_.team(stage, replica);
  for (std::size_t lane = 0; job_.framework.host.waits_for_passes && lane < writer.lanes(); ++lane) {
    for (const TaskId before : writer.done(lane)) writer.host_waits_for(lane, before);
  }
  if (!origin(stage, pass).exists) return;
  for (int lane = 0; lane < teams_.lanes(); ++lane) {
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
  const int own = teams_.class_of(replica);
  TeamWriter& from = teams_.team(stage, replica);
  TeamWriter& into = teams_.team(to.stage, replica);
  for (int i = 0; i < teams_.lanes(); ++i) {
    const auto lane = static_cast<std::size_t>(i);
    const Communication sending =
        communication_.transfer({stage, to.stage, own, pass.kind, true}, teams_.rank_index(stage, replica, i));
    const Communication receiving =
        communication_.transfer({stage, to.stage, own, pass.kind, false}, teams_.rank_index(to.stage, replica, i));
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

}  // namespace

Program lower(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> plans,
              const LoweringOptions& options) {
  check_program_size(job, plans, options);
  return Lowering(job, blocks, plans, options).run();
}

}  // namespace mirfak
