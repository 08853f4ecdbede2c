// Lowering walks the stages round robin: each stage emits passes in its schedule's order as long as the transfers they
// need have been emitted. So tasks come out in a topological order, and a schedule that would deadlock is found when no
// stage can continue. Replicas of different classes proceed independently, up to a pass that their collectives cut into
// parts: they write that pass together.

#include "program/lowering.hpp"

#include "base/cancellation.hpp"
#include "base/error.hpp"
#include "network/cluster_routes.hpp"
#include "program/communication_classes.hpp"
#include "program/data_parallel.hpp"
#include "program/lowered_passes.hpp"
#include "program/lowering_detail.hpp"
#include "program/pass_parts.hpp"
#include "program/perturbed_work.hpp"
#include "program/program_size.hpp"
#include "program/rank_factors.hpp"
#include "program/replica_classes.hpp"
#include "program/replica_kinds.hpp"
#include "program/replica_teams.hpp"
#include "program/replica_writer.hpp"
#include "program/shared_links.hpp"
#include "program/stage_work.hpp"
#include "program/step_writer.hpp"
#include "strategy/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <optional>

namespace mirfak {

namespace {

// Limit of the number of tasks for writing passes of ranks whose factors differ in steps: above it, a prediction would
// take seconds.
constexpr double kManyTasksInSteps = 4e5;

std::vector<DataParallelPlan> plans_of_stages(const Job& job, const ShardedBlocks& blocks) {
  std::vector<DataParallelPlan> out;
  for (int stage = 0; stage < job.strategy.pipeline; ++stage) {
    out.push_back(data_parallel_plan(job_at(job, blocks, stage)));
  }
  return out;
}

class Lowering {
 public:
  Lowering(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> plans,
           const LoweringOptions& options)
      : job_(job),
        blocks_(blocks),
        plans_(plans),
        options_(options),
        overlaps_transfers_(overlaps_transfers(job.framework, job.strategy.schedule)),
        host_waits_(job.framework.host.waits_for_pipeline && !overlaps_transfers_),
        data_parallel_(plans_of_stages(job, blocks)),
        max_microbatches_(microbatches(job.strategy, job.training)),
        placement_(placement_of(job.strategy)),
        gradients_leave_(parts_that_send_gradients()),
        max_chunks_(placement_.max_chunks()),
        program_(empty_program(options)),
        groups_(program_, job, options.folded()),
        teams_(program_, groups_, job, blocks, plans, options.unfolded),
        communication_(program_, groups_, job, blocks, plans),
        data_(program_, groups_, job, blocks, teams_, communication_) {
    if (job.strategy.context_tokens > 0) {
      fail_infeasible({},
                      "strategy.context_tokens: only the time, energy and memory of one iteration are known with it",
                      "leave it out");
    }
    reserve(plans);
    for (const StagePlan& plan : plans) add_work(blocks, plan);
    LoweringOptions alone = options;
    alone.passes_alone = true;
    for (const StagePlan& plan : plans) {
      if (options.steps_where_cut) uncut_.emplace_back(program_, groups_, job, blocks.at(plan.stage), plan, alone);
    }
    uncut_options_ = options.steps_where_cut ? alone : options;
    if (is_perturbed(job, options)) add_factors();
  }

  LoweredJob run() {
    emit_passes();
    write_step(program_, groups_, job_, blocks_, placement_, work_, teams_, communication_, data_);
    const Cluster& cluster = job_.network();
    const SharedNetwork network = options_.all_links
                                      ? SharedNetwork{true, all_routes_of(cluster)}
                                      : SharedNetwork{!options_.passes_alone || contends(plans_), routes_of(cluster)};
    FoldedPasses passes = options_.for_samples ? folded_passes() : FoldedPasses{};
    NetworkLoads loads = network_loads(program_, job_, plans_, network, !options_.unfolded);
    return {std::move(program_), std::move(loads), std::move(passes)};
  }
  std::vector<TaskId> take_begins() { return std::move(begins_); }
  std::vector<ClassPrice> prices_of_passes() const {
    std::vector<ClassPrice> out;
    for (const TaskClass& of : program_.classes) out.push_back({0, of.energy_j});
    for (const StageWork& work : work_) work.set_durations(out);
    for (const StageWork& work : uncut_) work.set_durations(out);
    return out;
  }

 private:
  static Program empty_program(const LoweringOptions& options) {
    Program out;
    if (!options.unfolded) out.kind_of_replica = options.kind_of_replica;
    out.whole_teams = options.whole_teams;
    return out;
  }

  // Progress of a plan.
  struct PlanState {
    std::size_t next = 0;            // index into the plan's order
    std::vector<int> gradient_left;  // by chunk: passes to come that make gradients of weights
    std::vector<bool> began;         // by chunk: a forward pass has been written
  };

  const StagePlan& plan(int stage, int replica_class) const { return teams_.plan(stage, replica_class); }
  const StageWork& work(int stage, int replica_class) const { return work_[teams_.index(stage, replica_class)]; }
  // The work of passes that no collectives cut.
  const StageWork& uncut(int stage, int replica_class) const {
    return (uncut_.empty() ? work_ : uncut_)[teams_.index(stage, replica_class)];
  }
  void add_factors();
  WrittenInSteps passes_to_write_in_steps() const;
  FoldedPasses folded_passes();
  // The work of a pass or part, which `select` selects, as the ranks of a replica run it.
  template <class Select>
  TeamWork of_team(int stage, int replica, const StageWork& as_priced, const Select& select);
  PlanState& state(int stage, int replica_class) { return states_[teams_.index(stage, replica_class)]; }

  const DataParallelPlan& data_parallel(int stage) const { return data_parallel_[static_cast<std::size_t>(stage)]; }
  // True if collectives of replicas and transfers between stages use the network at the same time.
  bool contends(std::span<const StagePlan> plans) const;
  void reserve(std::span<const StagePlan> plans);
  void add_work(const ShardedBlocks& blocks, const StagePlan& plan);

  // The place that needs the result of a pass, and the place that makes the input of a pass.
  std::optional<Place> target(int stage, const Pass& pass) const { return place_at(stage, pass, 1); }
  std::optional<Place> origin(int stage, const Pass& pass) const { return place_at(stage, pass, -1); }
  std::optional<Place> place_at(int stage, const Pass& pass, int direction) const;
  std::vector<bool> parts_that_send_gradients() const;
  TaskId& arrival(bool forward, const Place& place, int microbatch, int replica, int lane);

  const Pass& next(int stage, int replica_class) {
    return plan(stage, replica_class).order[state(stage, replica_class).next];
  }
  bool ready(int stage, int replica_class);
  bool arrived(int stage, int replica_class, const Pass& pass);
  bool cut(int stage, int replica_class) { return cut(stage, replica_class, next(stage, replica_class)); }
  bool cut(int stage, int replica_class, const Pass& pass);
  const Pass* partner(int stage, int replica_class);
  void run_pair(int stage, int replica_class, const Pass& second);
  void emit_passes();
  bool emit_whole(int stage);
  bool emit_cut(int stage);
  void check_finished();
  void emit_in_parts(int stage);
  void reduce_part(int stage, const PartWork& part);
  void run_part(int stage, int replica, std::size_t part, std::span<const TaskId> gathered);
  void wait_for_reduction(int stage);
  void prepare(int stage, int replica, const Pass& pass);
  void hand_on(int stage, int replica, const Pass& pass);
  void send(int stage, const Place& to, int replica, const Pass& pass);
  using Seat = ReplicaTeams::Seat;
  struct Way {
    int from = 0;
    int to = 0;
    StreamKind sends{};
    StreamKind receives{};
    BlockId stream = ShardedBlocks::kEmbedding;  // as in StageTransfer
  };
  void send_among(const Way& way, std::span<const Seat> senders, std::span<const Seat> receivers, int chunk,
                  const Pass& pass);
  void finish(int stage, int replica_class);
  void begin_pass() { begins_.push_back(static_cast<TaskId>(program_.size())); }

  const Job& job_;
  const ShardedBlocks& blocks_;
  std::span<const StagePlan> plans_;
  LoweringOptions options_;
  bool overlaps_transfers_;
  bool host_waits_;
  std::vector<DataParallelPlan> data_parallel_;  // for each stage
  int max_microbatches_;
  Placement placement_;
  std::vector<bool> gradients_leave_;  // by part of the model: backward passes send gradients to the part before
  int max_chunks_;
  Program program_;
  RankGroups groups_;
  ReplicaTeams teams_;
  CommunicationClasses communication_;  // constructed when the ranks are known
  ReplicaWriter data_;
  std::deque<StageWork> work_;  // for each plan
  std::deque<StageWork> uncut_;
  LoweringOptions uncut_options_;
  std::optional<PerturbedWork> perturbed_;
  std::vector<PlanState> states_;
  std::vector<TaskId> begins_;              // as in LoweredPasses
  std::vector<TaskId> transfer_waits_for_;  // for the current transfer: there are millions
  std::array<std::vector<TaskId>, 2> arrivals_;
};

// Nothing is sent back to a part of a frozen tower.
std::vector<bool> Lowering::parts_that_send_gradients() const {
  std::vector<bool> out(static_cast<std::size_t>(placement_.parts()), true);
  if (!job_.training.frozen.any()) return out;
  for (std::size_t part = 1; part < out.size(); ++part) {
    const Place before = placement_.place_of(static_cast<int>(part) - 1, 0);
    const StagePlan& plan = plans_of(plans_, before.stage).front();
    const BlockId leaving = plan.chunks[static_cast<std::size_t>(before.chunk)].leaving;
    out[part] = gradients_return(job_, blocks_, before.stage, leaving);
  }
  return out;
}

// Reserves room for whole passes: programs with whole passes are made by the thousand, and columns that grow hold their
// tasks twice in the programs that need most memory.
void Lowering::reserve(std::span<const StagePlan> plans) {
  constexpr std::size_t tasks_per_pass = 5;  // two of the host, one of the device, both ends of a transfer
  constexpr std::size_t tasks_per_step = 10;
  constexpr std::size_t classes_per_plan = 12;
  constexpr std::size_t cut_passes = 2;  // of each chunk: most collectives of replicas cut its first or last pass
  std::size_t tasks = 0;
  for (const StagePlan& plan : plans) {
    std::size_t passes = plan.order.size();
    for (const ChunkPlan& chunk : plan.chunks) passes += cut_passes * static_cast<std::size_t>(chunk.blocks());
    const auto ranks = static_cast<std::size_t>(teams_.ranks_of(plan.stage) / teams_.classes());
    const auto teams = static_cast<std::size_t>(teams_.replicas(plan.stage) / teams_.classes());
    const std::size_t meetings = teams < ranks ? teams : 0;  // of the ranks of a team, once in a pass
    tasks += (tasks_per_pass * ranks + meetings) * passes + tasks_per_step * ranks;
  }
  program_.reserve(tasks, classes_per_plan * plans.size());
}

void Lowering::add_factors() {
  const bool largest = !options_.factors.empty();
  const std::vector<RankFactors> of_ranks = largest ? options_.factors : factors_of_ranks(program_, job_.cluster);
  const bool ports = std::any_of(of_ranks.begin(), of_ranks.end(), [](const RankFactors& of) { return of.port != 1; });
  std::optional<RealGroups> real;
  if (largest) real.emplace(program_, job_, plans_, true);
  const std::vector<LeavesNode> leaves = ports ? exchanges_that_leave(program_, groups_, job_, real ? &*real : nullptr)
                                               : std::vector<LeavesNode>(of_ranks.size(), LeavesNode{});
  std::vector<ActivityFactors> in_passes;
  for (std::size_t i = 0; i < of_ranks.size(); ++i) in_passes.push_back(factors_in_passes(of_ranks[i], leaves[i]));
  perturbed_.emplace(program_, groups_, job_, blocks_, in_passes,
                     largest ? WrittenInSteps::none : passes_to_write_in_steps());
}

WrittenInSteps Lowering::passes_to_write_in_steps() const {
  LoweringOptions in_steps = options_;
  in_steps.passes_in_steps = true;
  in_steps.steps_where_cut = false;
  if (expected_tasks(job_, plans_, in_steps) >= kManyTasksInSteps) return WrittenInSteps::none;
  return routes_of(job_.network()) != nullptr ? WrittenInSteps::all : WrittenInSteps::unlike;
}

FoldedPasses Lowering::folded_passes() {
  FoldedPasses out;
  for (std::uint32_t plan = 0; plan < plans_.size(); ++plan) {
    for (const std::deque<StageWork>* works : {&work_, &uncut_}) {
      if (works->empty()) continue;
      for (FoldedPass& pass : (*works)[plan].folded_passes()) {
        pass.plan = plan;
        out.all.push_back(std::move(pass));
      }
    }
  }
  const Perturbations& perturbations = job_.cluster.perturbations();
  if (!perturbations.ports.empty() || perturbations.drawn_ports) {
    out.leaves = exchanges_that_leave(program_, groups_, job_, nullptr);
  }
  return out;
}

template <class Select>
TeamWork Lowering::of_team(int stage, int replica, const StageWork& as_priced, const Select& select) {
  if (!perturbed_) return select(as_priced);
  const bool cut = &as_priced == &work(stage, teams_.class_of(stage, replica));
  return perturbed_->of(teams_.team(stage, replica),
                        {plan(stage, teams_.class_of(stage, replica)), as_priced, cut ? options_ : uncut_options_},
                        select);
}

bool Lowering::contends(std::span<const StagePlan> plans) const {
  if (job_.strategy.pipeline == 1) return false;
  if (job_.strategy.stages.empty()) {
    return replicas_use_ports(data_parallel(0), plans.front());
  }
  return std::any_of(plans.begin(), plans.end(),
                     [&](const StagePlan& plan) { return replicas_use_ports(data_parallel(plan.stage), plan); });
}

void Lowering::add_work(const ShardedBlocks& blocks, const StagePlan& plan) {
  work_.emplace_back(program_, groups_, job_at(job_, blocks, plan.stage), blocks.at(plan.stage), plan, options_);
  PlanState state;
  state.gradient_left.assign(plan.chunks.size(), 0);
  state.began.assign(plan.chunks.size(), false);
  for (const Pass& pass : plan.order) {
    if (makes_weight_gradient(pass.kind)) ++state.gradient_left[static_cast<std::size_t>(pass.chunk)];
  }
  states_.push_back(std::move(state));
}

// Activations go from part to part of the model, gradients of inputs go back; gradients of weights stay.
std::optional<Place> Lowering::place_at(int stage, const Pass& pass, int direction) const {
  if (pass.kind == Pass::Kind::backward_weight) return std::nullopt;
  const int part = placement_.part_of(stage, pass.chunk) + (is_forward(pass.kind) ? direction : -direction);
  if (part < 0 || part >= placement_.parts()) return std::nullopt;
  if (!is_forward(pass.kind) && !gradients_leave_[static_cast<std::size_t>(std::max(part, part + direction))]) {
    return std::nullopt;
  }
  return placement_.place_of(part, pass.microbatch);
}

// The task that brings a pass at a place its input.
TaskId& Lowering::arrival(bool forward, const Place& place, int microbatch, int replica, int lane) {
  const auto slot = static_cast<std::size_t>(place.chunk * max_microbatches_ + microbatch);
  const auto slots = static_cast<std::size_t>(max_chunks_ * max_microbatches_);
  return arrivals_[forward ? 0 : 1][teams_.rank_index(place.stage, replica, lane) * slots + slot];
}

// True if a plan has a pass left, and the tasks that bring the pass its input have been written.
bool Lowering::ready(int stage, int replica_class) {
  if (state(stage, replica_class).next == plan(stage, replica_class).order.size()) return false;
  const Pass& pass = next(stage, replica_class);
  if (!arrived(stage, replica_class, pass)) return false;
  return !pass.with_next || arrived(stage, replica_class, *(&pass + 1));
}

bool Lowering::arrived(int stage, int replica_class, const Pass& pass) {
  const int replica = teams_.replicas_of(stage, replica_class).front();
  return !origin(stage, pass) ||
         arrival(is_forward(pass.kind), {stage, pass.chunk}, pass.microbatch, replica, 0) != kNoTask;
}

// The pass that runs in parallel with the next pass; null: the next pass runs alone. If collectives of the replicas cut
// one of the two into parts, they run one after the other.
const Pass* Lowering::partner(int stage, int replica_class) {
  const Pass& pass = next(stage, replica_class);
  if (!pass.with_next) return nullptr;
  const Pass* second = &pass + 1;
  return cut(stage, replica_class, *second) ? nullptr : second;
}

void Lowering::run_pair(int stage, int replica_class, const Pass& second) {
  const Pass first = next(stage, replica_class);
  const StageWork& both = uncut(stage, replica_class);
  for (const int replica : teams_.replicas_of(stage, replica_class)) {
    prepare(stage, replica, first);
    prepare(stage, replica, second);
  }
  for (const int replica : teams_.replicas_of(stage, replica_class)) {
    begin_pass();
    const auto half = [&](bool ahead) {
      return of_team(stage, replica, both, [first, second, ahead](const StageWork& work) -> const PassWork& {
        const StageWork::PairWork& pair = work.pair(first, second);
        return ahead ? pair.first : pair.second;
      });
    };
    teams_.team(stage, replica).run_pair(half(true), first.microbatch, half(false), second.microbatch);
  }
  finish(stage, replica_class);
  finish(stage, replica_class);
}

// True if collectives of the replicas cut the next pass into parts.
bool Lowering::cut(int stage, int replica_class, const Pass& pass) {
  if (work(stage, replica_class).parts(pass).empty()) return false;
  const PlanState& of = state(stage, replica_class);
  const auto chunk = static_cast<std::size_t>(pass.chunk);
  if (is_forward(pass.kind)) {
    return !of.began[chunk] || data_parallel(stage).gather != DataParallelPlan::Gather::first_forward;
  }
  const bool last = makes_weight_gradient(pass.kind) && of.gradient_left[chunk] == 1;
  return last || data_parallel(stage).reduce != DataParallelPlan::Reduce::last_backward;
}

void Lowering::emit_passes() {
  const auto slots = static_cast<std::size_t>(max_chunks_ * max_microbatches_);
  for (auto& arrivals : arrivals_) arrivals.assign(program_.ranks.size() * slots, kNoTask);
  for (bool progress = true; progress;) {
    progress = false;
    for (int stage = 0; stage < teams_.stages(); ++stage) {
      check_cancelled();
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

// Emits, for each class, the passes before the next pass that collectives cut.
bool Lowering::emit_whole(int stage) {
  bool any = false;
  CancellationSteps steps;
  for (int own = 0; own < teams_.classes(); ++own) {
    for (; ready(stage, own) && !cut(stage, own); any = true) {
      steps.step(64);
      if (const Pass* second = partner(stage, own)) {
        run_pair(stage, own, *second);
        continue;
      }
      const Pass& pass = next(stage, own);
      for (const int replica : teams_.replicas_of(stage, own)) prepare(stage, replica, pass);
      for (const int replica : teams_.replicas_of(stage, own)) {
        begin_pass();
        const auto select = [pass](const StageWork& work) -> const PassWork& { return work.pass(pass); };
        teams_.team(stage, replica).run(of_team(stage, replica, uncut(stage, own), select), pass.microbatch);
      }
      finish(stage, own);
    }
  }
  return any;
}

// Emits a pass that collectives cut, for all classes at once: the microbatches differ between classes that have
// different numbers of them, but the blocks of the pass do not. The order of such passes is that of the chunks, the
// same for all classes.
bool Lowering::emit_cut(int stage) {
  for (int own = 0; own < teams_.classes(); ++own) {
    if (!ready(stage, own) || !cut(stage, own)) return false;
  }
  for (int replica = 0; replica < teams_.replicas(stage); ++replica) {
    prepare(stage, replica, next(stage, teams_.class_of(stage, replica)));
  }
  emit_in_parts(stage);
  for (int own = 0; own < teams_.classes(); ++own) finish(stage, own);
  return true;
}

// Sends on the result of the next pass of a class, and counts the pass as written.
void Lowering::finish(int stage, int replica_class) {
  const Pass& pass = next(stage, replica_class);
  for (const int replica : teams_.replicas_of(stage, replica_class)) hand_on(stage, replica, pass);
  PlanState& of = state(stage, replica_class);
  const auto chunk = static_cast<std::size_t>(pass.chunk);
  if (is_forward(pass.kind)) of.began[chunk] = true;
  if (makes_weight_gradient(pass.kind)) --of.gradient_left[chunk];
  ++of.next;
}

// Gathers run at most one part ahead of compute: if parameters are released after a pass, the gather of part i waits
// for the end of part i - 2 (the rate limiter of FSDP). In issue order this gather stands before part i - 1 if the
// framework prefetches, else after it, and in a backward pass then before that part's reduction.
void Lowering::emit_in_parts(int stage) {
  using After = ReplicaWriter::GatherAfter;
  const std::vector<PartWork>& parts = work(stage, 0).parts(next(stage, 0));
  const ShardingHabits& habits = job_.framework.sharding;
  const bool forward = is_forward(next(stage, 0).kind);
  const bool released = data_parallel(stage).gathers_in_passes();
  const bool ahead = forward ? habits.prefetch_forward : habits.prefetch_backward;
  const ChunkPlan& chunk = plan(stage, 0).chunks[static_cast<std::size_t>(next(stage, 0).chunk)];
  // Divided weights are gathered one ahead, except for those of the pass's first block if it is embedding or head.
  const bool weights = job_.strategy.divides_weights();
  const bool on_demand = weights && (forward ? chunk.embedding : chunk.head);
  const bool prefetches = !released || weights || (habits.overlaps_gathers && ahead);
  const bool again = !forward || state(stage, 0).began[static_cast<std::size_t>(next(stage, 0).chunk)];
  const bool second = again && job_.strategy.zero_second_group > 0;
  const GatheredFrom from = second ? GatheredFrom::second_copy : GatheredFrom::shards;
  const bool joins_ahead = !again && data_parallel(stage).gather_of_parts == DataParallelPlan::Gather::first_forward;
  std::vector<std::vector<TaskId>> gathered(parts.size());
  std::size_t gathering = 0;
  const auto gather = [&](After after) {
    if (joins_ahead) gathered[gathering] = data_.gather_parts(stage, parts[gathering].parts, After::nothing);
    if (parts[gathering].gathers.total() > 0)
      gathered[gathering] = data_.gather(stage, parts[gathering].gathers, released ? after : After::nothing, from);
    ++gathering;
  };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool waits = on_demand || (forward && habits.gather_waits_for_pass);
    const bool behind_all = !habits.overlaps_gathers || (i == 0 && waits);
    if (gathering == i) gather(behind_all ? After::all_passes : After::but_the_last);
    if (prefetches && gathering < parts.size()) gather(After::all_passes);
    for (int replica = 0; replica < teams_.replicas(stage); ++replica) run_part(stage, replica, i, gathered[i]);
    if (habits.overlaps_gathers && !prefetches && !forward && gathering < parts.size()) gather(After::but_the_last);
    if (!forward) reduce_part(stage, parts[i]);
  }
}

// Reduces the gradients of the weights that a part of a backward pass completes.
void Lowering::reduce_part(int stage, const PartWork& part) {
  const DataParallelPlan& replicas = data_parallel(stage);
  if (part.reduces.total() > 0) {
    data_.reduce(stage, part.reduces);
    if (reductions_block(job_.framework, replicas)) wait_for_reduction(stage);
  }
  const Pass& pass = next(stage, 0);
  const bool last = state(stage, 0).gradient_left[static_cast<std::size_t>(pass.chunk)] == 1;
  if (last && replicas.reduce_of_parts == DataParallelPlan::Reduce::last_backward) {
    data_.reduce_parts(stage, part.parts);
  }
}

// `gathered`: the task that brought each lane of the stage its parameters; empty: the parameters are there.
void Lowering::run_part(int stage, int replica, std::size_t part, std::span<const TaskId> gathered) {
  const int own = teams_.class_of(stage, replica);
  const Pass& pass = next(stage, own);
  TeamWriter& writer = teams_.team(stage, replica);
  for (std::size_t lane = 0; !gathered.empty() && lane < writer.lanes(); ++lane) {
    writer.device_waits_for(lane, gathered[static_cast<std::size_t>(replica) * writer.lanes() + lane]);
  }
  begin_pass();
  const auto select = [&pass, part](const StageWork& of) -> const PassWork& { return of.parts(pass)[part].pass; };
  writer.run(of_team(stage, replica, work(stage, own), select), pass.microbatch);
}

void Lowering::wait_for_reduction(int stage) {
  for (int replica = 0; replica < teams_.replicas(stage); ++replica) {
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
  const std::optional<Place> from = origin(stage, pass);
  if (!from) return;
  for (int lane = 0; lane < teams_.lanes(stage); ++lane) {
    const TaskId arrived = arrival(is_forward(pass.kind), {stage, pass.chunk}, pass.microbatch, replica, lane);
    if (from->stage == stage) continue;  // after the pass that made it, on the same stream
    writer.device_waits_for(static_cast<std::size_t>(lane), arrived);
    if (host_waits_) writer.host_waits_for(static_cast<std::size_t>(lane), arrived);
  }
}

void Lowering::hand_on(int stage, int replica, const Pass& pass) {
  const std::optional<Place> to = target(stage, pass);
  if (!to) return;
  if (to->stage != stage) return send(stage, *to, replica, pass);
  for (int lane = 0; lane < teams_.lanes(stage); ++lane) {
    arrival(is_forward(pass.kind), *to, pass.microbatch, replica, lane) =
        teams_.team(stage, replica).done(static_cast<std::size_t>(lane)).front();
  }
}

// All ends of a transfer wait for the same tasks, so they start together. Each direction between two stages has its own
// stream, so that data from one side does not queue after data from the other.
void Lowering::send(int stage, const Place& to, int replica, const Pass& pass) {
  const bool onwards = placement_.is_looped() ? is_forward(pass.kind) : to.stage > stage;
  const ChunkPlan& made = plan(stage, 0).chunks[static_cast<std::size_t>(pass.chunk)];
  const Way way{stage, to.stage, onwards ? StreamKind::send_forward : StreamKind::send_backward,
                onwards ? StreamKind::recv_forward : StreamKind::recv_backward,
                is_forward(pass.kind) ? made.leaving : made.entering};
  if (job_.strategy.shape_of(stage) == job_.strategy.shape_of(to.stage)) {
    for (int lane = 0; lane < teams_.lanes(stage); ++lane) {
      const std::array<Seat, 1> seat = {Seat{replica, lane}};
      send_among(way, seat, seat, to.chunk, pass);
    }
    return;
  }
  // One transfer for the group of ranks, when the last of its senders is reached.
  const GroupingId grouping = groups_.between(GroupKind::transfer, stage, to.stage);
  for (int lane = 0; lane < teams_.lanes(stage); ++lane) {
    const GroupId group = program_.groupings[grouping].of_rank[teams_.rank_index(stage, replica, lane)];
    std::vector<Seat> senders;
    std::vector<Seat> receivers;
    for (const std::uint32_t rank : groups_.ranks_of(group)) {
      const auto at = static_cast<int>(program_.ranks[rank].stage);
      (at == stage ? senders : receivers).push_back(teams_.seat_of(at, rank));
    }
    if (senders.back().replica == replica && senders.back().lane == lane) {
      send_among(way, senders, receivers, to.chunk, pass);
    }
  }
}

void Lowering::send_among(const Way& way, std::span<const Seat> senders, std::span<const Seat> receivers, int chunk,
                          const Pass& pass) {
  const bool forward = is_forward(pass.kind);
  std::vector<TaskId>& after = transfer_waits_for_;
  after.clear();
  for (const Seat& seat : senders) {
    const TeamWriter& from = teams_.team(way.from, seat.replica);
    append(after, from.done(static_cast<std::size_t>(seat.lane)));
  }
  const auto wait_for_stream = [&](int stage, const Seat& seat, StreamKind stream) {
    const TaskId last = teams_.team(stage, seat.replica).last_on(static_cast<std::size_t>(seat.lane), stream);
    if (last != kNoTask) after.push_back(last);
  };
  for (const Seat& seat : senders) wait_for_stream(way.from, seat, way.sends);
  for (const Seat& seat : receivers) wait_for_stream(way.to, seat, way.receives);
  for (const Seat& seat : senders) {
    const auto lane = static_cast<std::size_t>(seat.lane);
    TeamWriter& from = teams_.team(way.from, seat.replica);
    const Communication own =
        communication_.transfer({way.from, way.to, teams_.class_of(way.from, seat.replica), forward, true, way.stream});
    const TaskId sent = from.transfer(lane, way.sends, own.task_class, own.duration, after, pass.microbatch);
    if (!overlaps_transfers_) from.device_waits_for(lane, sent);
    if (host_waits_) from.host_waits_for(lane, sent);
  }
  for (const Seat& seat : receivers) {
    const Communication own =
        communication_.transfer({way.from, way.to, teams_.class_of(way.to, seat.replica), forward, false, way.stream});
    arrival(forward, {way.to, chunk}, pass.microbatch, seat.replica, seat.lane) =
        teams_.team(way.to, seat.replica)
            .transfer(static_cast<std::size_t>(seat.lane), way.receives, own.task_class, own.duration, after,
                      pass.microbatch);
  }
}

}  // namespace

LoweredJob lower_apart(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> plans,
                       const LoweringOptions& options, const Program* like) {
  LoweringOptions detail = detail_of(job, plans, options);
  if (like != nullptr) {
    detail.kind_of_replica = like->kind_of_replica;
    detail.whole_teams = like->whole_teams;
    detail.unfolded = like->ranks.size() == static_cast<std::size_t>(job.strategy.ranks());
    const bool unlike = like->slowest_stands_for_others && !like->whole_teams && !detail.unfolded && !folds(job);
    if (unlike && is_perturbed(job, detail)) detail.factors = largest_factors(*like, job, plans);
  }
  check_program_size(job, plans, detail);
  return Lowering(job, blocks, plans, detail).run();
}

LoweredPasses lower_passes(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> plans,
                           const LoweringOptions& options) {
  LoweringOptions detail = detail_of(job, plans, options);
  if (detail.unfolded && !options.unfolded) detail = in_teams(job, plans, detail);
  const bool unlike = is_too_large_for_all(job, plans, options, detail);
  if (unlike) {  // one rank of each class instead, as slow as the slowest
    detail.unfolded = detail.whole_teams = false;
    detail.kind_of_replica.clear();
    detail.by_class = true;
  }
  check_program_size(job, plans, detail);
  for (;;) {  // the loop ends: kinds only divide, and a job has at most as many kinds as replicas
    Lowering lowering(job, blocks, plans, detail);
    LoweredJob lowered = lowering.run();
    const std::vector<NetworkLoads::Wire> short_links =
        share_links(lowered.program, std::span(&lowered.loads, 1), options.all_links);
    std::optional<LoweringOptions> again = told_apart(lowered, job, plans, short_links, detail);
    const bool slowest = again && is_too_large_to_tell_apart(job, plans, *again);
    if (again && !slowest) {
      detail = std::move(*again);
      continue;
    }
    if (unlike && detail.factors.empty() && is_perturbed(job, detail)) {
      detail.factors = largest_factors(lowered.program, job, plans);
      continue;
    }
    lowered.program.slowest_stands_for_others = slowest || unlike;
    return {std::move(lowered.program), lowering.take_begins()};
  }
}

std::vector<ClassPrice> prices_of_passes(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> plans,
                                         const LoweringOptions& options) {
  return Lowering(job, blocks, plans, detail_of(job, plans, options)).prices_of_passes();
}

Program lower(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> plans,
              const LoweringOptions& options) {
  return lower_passes(job, blocks, plans, options).program;
}

}  // namespace mirfak
