#include "executor/cuda_executor.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace mirfak::measure {

namespace {

constexpr std::size_t kMinBuffer = 4096;

double max_room(std::span<const RankPlan> plans, ElementType type) {
  double most = 0;
  for (const RankPlan& plan : plans) {
    for (const KernelWork& work : plan.kernels) most = std::max(most, CudaKernels::room_for(work, type));
  }
  return most;
}

double max_bytes(const RankPlan& plan, const RankQueue& queue) {
  double most = 0;
  for (const std::uint32_t task : queue.tasks) most = std::max(most, plan.tasks[task].bytes);
  return most;
}

DeviceMemory random_memory(std::size_t bytes, ElementType type, std::uint64_t seed) {
  DeviceMemory out(bytes);
  launch_random(out.data(), bytes / element_bytes(type), type, seed, nullptr);
  return out;
}

}  // namespace

CudaExecutor::CudaExecutor(const World& world, const ExecutionGroups& groups,
                           const std::vector<TransferLane>& transfers, std::span<const RankPlan> plans,
                           const GpuSettings& settings)
    : world_(world),
      groups_(groups),
      plans_(plans),
      settings_(settings),
      type_(element_type(settings.precision.wide)),
      clock_(world.clock()),
      order_(submission_order(groups, plans)) {
  std::size_t tasks = 0;
  for (const RankPlan& plan : plans) {
    first_.push_back(tasks);
    tasks += plan.tasks.size();
    waits_.push_back(device_waits(plan, HostWaits::by_host));
  }
  marks_.resize(tasks);
  times_.resize(tasks);
  for (std::size_t i = 0; i < tasks; ++i) orders_.emplace_back(DeviceEvent::Time::none);
  find_awaited();
  check_loopback();
  make_lanes();
  ends_.resize(streams_.size());
  const auto seed = static_cast<std::uint64_t>(world.rank()) + 1;
  kernels_ = std::make_unique<CudaKernels>(settings.precision, max_room(plans, type_), seed);
  prepare_kernels();
  if (!settings.loopback && !(groups.groups.empty() && transfers.empty())) make_communicators(transfers);
  check_cuda(cudaDeviceSynchronize(), "prepare");
}

std::string CudaExecutor::backend() const {
  return fmt::format("cuda{}{}", settings_.loopback ? ", loopback" : "", settings_.graphs ? ", graph" : "");
}

void CudaExecutor::make_lanes() {
  streams_.emplace_back();  // of the clock, and of kernels in loopback
  std::uint64_t seed = 1000;
  for (const RankPlan& plan : plans_) {
    std::vector<Lane>& lanes = lanes_.emplace_back(plan.queues.size());
    for (std::size_t i = 0; i < plan.queues.size(); ++i) {
      const RankQueue& queue = plan.queues[i];
      Lane& lane = lanes[i];
      if (queue.stream == StreamKind::host) continue;
      if (queue.stream == StreamKind::compute && settings_.loopback) {
        lane.stream = streams_.front().get();
        continue;
      }
      lane.stream = streams_.emplace_back().get();
      if (queue.stream == StreamKind::compute) continue;
      const std::size_t bytes = kMinBuffer + static_cast<std::size_t>(max_bytes(plan, queue));
      lane.from = random_memory(bytes, type_, ++seed);
      lane.to = random_memory(bytes, type_, ++seed);
    }
  }
}

// Goes before any communication: a kernel that is loaded, or memory that is allocated, may wait for the whole device,
// and thereby for other ranks.
void CudaExecutor::prepare_kernels() {
  for (const RankPlan& plan : plans_) {
    std::set<std::pair<std::uint32_t, cudaStream_t>> prepared;
    for (const RankTask& task : plan.tasks) {
      if (task.operation != RankTask::Operation::kernel) continue;
      cudaStream_t stream = lanes_[static_cast<std::size_t>(&plan - plans_.data())][task.queue].stream;
      if (prepared.emplace(task.kernel, stream).second) kernels_->prepare(plan.kernels[task.kernel], stream);
    }
  }
}

// Makes communicators in an order that is the same on all ranks: each call is one of all of them.
void CudaExecutor::make_communicators([[maybe_unused]] const std::vector<TransferLane>& transfers) {
#ifdef MIRFAK_HAS_NCCL
  for (const RankGroup& group : groups_.groups) of_groups_.push_back(NcclCommunicator::among(world_, group.ranks));
  for (const TransferLane& lane : transfers) {
    of_transfers_.emplace(lane, NcclCommunicator::among(world_, std::array{lane.from, lane.to}));
  }
#else
  fail_infeasible({}, "this mirfak-measure was built without NCCL", "run one rank, or all on one GPU with --loopback");
#endif
}

void CudaExecutor::iterate() {
  marked_ = true;
  run_once();
  read_times();
  if (graph()) set_host_times();
}

TaskTime CudaExecutor::iterate_unmarked() {
  marked_ = false;
  run_once();
  TaskTime out{origin_s_ + begun_.seconds_since(origin_), 0};
  const std::size_t streams = graph() ? 1 : ends_.size();
  for (std::size_t i = 0; i < streams; ++i) out.end = std::max(out.end, origin_s_ + ends_[i].seconds_since(origin_));
  return out;
}

void CudaExecutor::run_once() {
  try {
    if (settings_.graphs && !graph()) {
      if (!marked_graph_ && !bare_graph_) {
        run_in_streams();
        check_cuda(cudaDeviceSynchronize(), "run kernels");
      }
      capture();
    }
    if (world_.size() > 1) world_.meet("begin an iteration");
    start_clock();
    if (graph()) {
      launched_s_ = now();
      graph().launch(streams_.front().get());
      ends_.front().record(streams_.front().get());
    } else {
      run_in_streams();
      for (std::size_t i = 0; i < ends_.size(); ++i) ends_[i].record(streams_[i].get());
    }
    wait_for_all();
  } catch (...) {
#ifdef MIRFAK_HAS_NCCL
    for (NcclCommunicator& communicator : of_groups_) communicator.give_up();
    for (auto& [lane, communicator] : of_transfers_) communicator.give_up();
#endif
    throw;
  }
}

void CudaExecutor::run_in_streams() {
  if (!marked_) {
    cudaStream_t first = streams_.front().get();
    capturing_ ? begun_.record_in_graph(first) : begun_.record(first);
  }
  for (const SubmissionStep& step : order_) submit(step);
}

// Every library has run each of its kernels before, so none has anything left to load, allocate or connect.
void CudaExecutor::capture() {
  check_cuda(cudaDeviceSynchronize(), "come to rest");
  waits_.clear();
  for (const RankPlan& plan : plans_) waits_.push_back(device_waits(plan, HostWaits::by_streams));
  find_awaited();
  try {
    CudaCapture capture(streams_);
    capturing_ = true;
    run_in_streams();
    check_cuda(cudaGetLastError(), "capture kernels");
    graph() = capture.finish();
    capturing_ = false;
  } catch (const Error& error) {
    fail_internal(fmt::format("the iteration was not captured as a CUDA graph: {}\n  --graphs off does without one",
                              error.message()));
  }
  check_cuda(cudaDeviceSynchronize(), "upload a graph");
}

void CudaExecutor::find_awaited() {
  awaited_.assign(marks_.size(), 0);
  for (std::size_t plan = 0; plan < plans_.size(); ++plan) {
    for (const std::vector<std::uint32_t>& befores : waits_[plan]) {
      for (const std::uint32_t before : befores) awaited_[first_[plan] + before] = 1;
    }
    for (const RankTask& task : plans_[plan].tasks) {
      if (!on_host(plans_[plan], task)) continue;
      for (const std::uint32_t before : task.after) awaited_[first_[plan] + before] = 1;
    }
  }
}

void CudaExecutor::wait_for_all() {
  if (marked_) {
    for (const SubmissionStep& step : order_) {
      for (const PlannedTask& task : step) wait_for(task);
    }
  }
  // Waits, because a task's event that a graph has not reached may still show the iteration before.
  wait_for_streams();
  check_cuda(cudaGetLastError(), "start kernels");
}

void CudaExecutor::wait_for_streams() {
  const int rank = plans_.front().rank;
  if (graph()) return wait_for(ends_.front(), [&] { return fmt::format("rank {}: the graph of an iteration", rank); });
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    wait_for(ends_[i], [&] { return fmt::format("rank {}: the end of stream {} of {}", rank, i + 1, ends_.size()); });
  }
}

// The device is idle: it passes the event between two looks at the host's clock.
void CudaExecutor::start_clock() {
  check_cuda(cudaDeviceSynchronize(), "come to rest");
  const double before = now();
  origin_.record(streams_.front().get());
  while (!origin_.done()) {
  }
  const double after = now();
  origin_s_ = (before + after) / 2;
  device_clock_error_s_ = std::max(device_clock_error_s_, (after - before) / 2);
}

void CudaExecutor::submit(const SubmissionStep& step) {
  const PlannedTask& first = step.front();
  const RankTask& task = task_of(first);
  if (on_host(plans_[first.plan], task)) return issue(first);
  for (const PlannedTask& each : step) begin(each);
  if (task.operation == RankTask::Operation::kernel) {
    kernels_->run(plans_[first.plan].kernels[task.kernel], lane_of(first).stream);
  } else if (task.operation != RankTask::Operation::issue) {  // a collective of one rank: its place in the order is all
    settings_.loopback ? loop_back(step) : communicate(first);
  }
  for (const PlannedTask& each : step) pass(each, Instant::ended);
}

// The host hands the next task on, which it does by going on; it waits first for what it must see the end of. In a
// graph, streams wait for that.
void CudaExecutor::issue(const PlannedTask& task) {
  if (capturing_) return;
  for (const std::uint32_t before : task_of(task).after) wait_for({task.plan, before});
  time_of(task).ready = time_of(task).end = now();
}

void CudaExecutor::begin(const PlannedTask& task) {
  const Lane& lane = lane_of(task);
  for (const std::uint32_t before : waits_[task.plan][task.task]) {
    last_event({task.plan, before}, Instant::ended).hold(lane.stream);
  }
  pass(task, Instant::begun);
}

// Streams wait for one event and another takes the time where a graph is made; see CudaCapture.
void CudaExecutor::pass(const PlannedTask& task, Instant instant) {
  if (!marked_) return order(task, instant);
  const TaskMark& mark = mark_of(task);
  const DeviceEvent& timed = instant == Instant::begun ? mark.begun : mark.ended;
  cudaStream_t stream = lane_of(task).stream;
  if (!capturing_) return timed.record(stream);
  timed.record_in_graph(stream);
  last_event(task, instant).record(stream);
}

// Records the events that streams wait for, without marks: of a task with others, when this rank is ready for it.
void CudaExecutor::order(const PlannedTask& task, Instant instant) {
  const bool together = settings_.loopback && task_of(task).operation != RankTask::Operation::kernel;
  const bool awaited = instant == Instant::begun ? together : awaited_[first_[task.plan] + task.task] != 0;
  if (awaited) last_event(task, instant).record(lane_of(task).stream);
}

// The event by which streams wait for an instant of a task. In graphs and without marks both instants have one: whoever
// waits for the first is told so before the second comes.
const DeviceEvent& CudaExecutor::last_event(const PlannedTask& task, Instant instant) {
  if (capturing_ || !marked_) return orders_[first_[task.plan] + task.task];
  return instant == Instant::begun ? mark_of(task).begun : mark_of(task).ended;
}

void CudaExecutor::communicate([[maybe_unused]] const PlannedTask& task) {
#ifdef MIRFAK_HAS_NCCL
  const RankTask& own = task_of(task);
  const Lane& lane = lane_of(task);
  switch (own.operation) {
    case RankTask::Operation::collective:
      return of_groups_[own.group].collective(own.collective, own.bytes, type_, lane.from.data(), lane.to.data(),
                                              lane.stream);
    case RankTask::Operation::meet:
      return of_groups_[own.group].meet(lane.to.data(), lane.stream);
    case RankTask::Operation::send:
      return of_transfers_.at(measure::lane_of(plans_[task.plan], own))
          .send(1, own.bytes, type_, lane.from.data(), lane.stream);
    case RankTask::Operation::receive:
      return of_transfers_.at(measure::lane_of(plans_[task.plan], own))
          .receive(0, own.bytes, type_, lane.to.data(), lane.stream);
    default:
      return;
  }
#endif
}

void CudaExecutor::wait_for(const PlannedTask& task) {
  if (on_host(plans_[task.plan], task_of(task))) return;
  wait_for(last_event(task, Instant::ended), [&] {
    return fmt::format("rank {}: on stream {} task {}", plans_[task.plan].rank,
                       name_of(plans_[task.plan].queues[task_of(task).queue].stream), task_of(task).task);
  });
}

void CudaExecutor::wait_for(const DeviceEvent& event, const std::function<std::string()>& what) const {
  PatientWait patience(world_.timeout_s(), what);
  while (!event.done()) {
    check_communicators();
    patience.nap();
  }
}

void CudaExecutor::check_communicators() const {
#ifdef MIRFAK_HAS_NCCL
  for (const NcclCommunicator& communicator : of_groups_) {
    if (communicator.member()) communicator.check();
  }
  for (const auto& [lane, communicator] : of_transfers_) {
    if (communicator.member()) communicator.check();
  }
#endif
}

void CudaExecutor::read_times() {
  for (const SubmissionStep& step : order_) {
    for (const PlannedTask& task : step) {
      if (on_host(plans_[task.plan], task_of(task))) continue;
      const TaskMark& mark = mark_of(task);
      time_of(task).ready = origin_s_ + mark.begun.seconds_since(origin_);
      time_of(task).end = origin_s_ + mark.ended.seconds_since(origin_);
    }
  }
}

// The host has handed all tasks on when it launches the graph. What it would have waited for has a part in when it
// would have handed on what came after.
void CudaExecutor::set_host_times() {
  for (std::uint32_t plan = 0; plan < plans_.size(); ++plan) {
    double last = launched_s_;
    for (std::uint32_t task = 0; task < plans_[plan].tasks.size(); ++task) {
      const PlannedTask own{plan, task};
      if (!on_host(plans_[plan], task_of(own))) continue;
      for (const std::uint32_t before : task_of(own).after) last = std::max(last, time_of({plan, before}).end);
      time_of(own).ready = time_of(own).end = last;
    }
  }
}

}  // namespace mirfak::measure
