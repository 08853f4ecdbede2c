#include "executor/cpu_executor.hpp"

#include "base/error.hpp"
#include "processes/machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>

namespace mirfak::measure {

namespace {

double max_kernel_bytes(const RankPlan& plan) {
  double most = 0;
  for (const KernelWork& work : plan.kernels) most = std::max(most, CpuKernels::operand_bytes(work));
  return most;
}

// The number of elements in a message, with room for one more.
std::size_t message_elements(const RankTask& task) { return static_cast<std::size_t>(task.bytes / sizeof(float)) + 1; }

bool communicates(const RankPlan& plan) {
  return std::any_of(plan.tasks.begin(), plan.tasks.end(), [](const RankTask& task) {
    return task.operation != RankTask::Operation::issue && task.operation != RankTask::Operation::kernel;
  });
}

}  // namespace

CpuExecutor::CpuExecutor(const World& world, const ExecutionGroups& groups, const RankPlan& plan)
    : world_(world),
      mpi_(dynamic_cast<const MpiWorld*>(&world)),
      groups_(groups),
      plan_(plan),
      clock_(world.clock()),
      kernels_(max_kernel_bytes(plan), static_cast<std::uint64_t>(plan.rank) + 1),
      heard_by_compute_(plan.tasks.size(), 0),
      heard_by_others_(plan.tasks.size(), 0),
      done_(plan.tasks.size()),
      times_(plan.tasks.size()) {
  if (mpi_ == nullptr && communicates(plan)) {
    fail_input({}, "what runs on CPUs communicates by MPI, and no MPI launcher started this process",
               fmt::format("mpirun -n {} mirfak-measure ...", world.size()));
  }
  prctl(PR_SET_TIMERSLACK, 1000UL);  // nanoseconds: naps end when they should
  int tag = 0;
  for (const RankGroup& group : groups.groups) {
    const bool member = std::find(group.ranks.begin(), group.ranks.end(), plan.rank) != group.ranks.end();
    communicators_.push_back(member && mpi_ != nullptr ? mpi_->among(group.ranks, tag) : Communicator());
    ++tag;
  }
  for (const RankQueue& queue : plan.queues) {
    if (queue.stream == StreamKind::compute) {
      compute_queue_ = &queue;
      continue;
    }
    double most = 0;
    for (const std::uint32_t index : queue.tasks) {
      const RankTask& task = plan.tasks[index];
      const double messages = std::max<double>(1, static_cast<double>(task.peers.size()));
      most = std::max({most, messages * task.bytes + messages * sizeof(float), task.gathered_bytes});
    }
    lanes_.emplace_back(queue, static_cast<std::size_t>(most / sizeof(float)) + 16);
  }
  find_listeners();
}

CpuExecutor::~CpuExecutor() = default;

std::string CpuExecutor::machine() const { return describe_machine().summary(); }

// Finds the tasks whose end another thread must be told: waking a thread costs as much as a small kernel.
void CpuExecutor::find_listeners() {
  for (const RankTask& task : plan_.tasks) {
    const bool computes = plan_.queues[task.queue].stream == StreamKind::compute;
    for (const std::uint32_t before : task.after) {
      const bool computed = plan_.queues[plan_.tasks[before].queue].stream == StreamKind::compute;
      if (computes && !computed) heard_by_compute_[before] = 1;
      if (!computes && computed) heard_by_others_[before] = 1;
    }
  }
}

bool CpuExecutor::ready(const RankTask& task) const {
  return std::all_of(task.after.begin(), task.after.end(), [&](std::uint32_t before) { return ended(before); });
}

void CpuExecutor::finish(std::uint32_t task, bool tells) {
  times_[task].end = now();
  done_[task].store(1, std::memory_order_release);
  if (!tells) return;
  {
    const std::lock_guard lock(mutex_);
    ++told_;
  }
  changed_.notify_all();
}

void CpuExecutor::iterate() {
  for (auto& done : done_) done.store(0, std::memory_order_relaxed);
  for (Lane& lane : lanes_) {
    lane.next = 0;
    lane.running = lane.meets = lane.gathers = false;
  }
  stopped_ = false;
  world_.meet("begin an iteration");
  std::thread computing([this] { compute(); });
  try {
    communicate();
  } catch (...) {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    computing.join();
    throw;
  }
  computing.join();
}

void CpuExecutor::compute() {
  if (compute_queue_ == nullptr) return;
  for (const std::uint32_t index : compute_queue_->tasks) {
    const RankTask& task = plan_.tasks[index];
    if (!ready(task)) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopped_ || ready(task); });
      if (stopped_) return;
    }
    times_[index].ready = now();
    kernels_.run(plan_.kernels[task.kernel]);
    computed_.fetch_add(1, std::memory_order_relaxed);
    finish(index, heard_by_others_[index] != 0);
  }
}

void CpuExecutor::start(Lane& lane, const RankTask& task) {
  lane.pending.clear();
  switch (task.operation) {
    case RankTask::Operation::meet:
      lane.pending.push_back(PendingCommunication::meeting(communicators_[task.group]));
      break;
    case RankTask::Operation::collective:
      lane.pending.push_back(PendingCommunication::collective(task.collective, communicators_[task.group], task.bytes,
                                                              lane.from.data(), lane.to.data()));
      break;
    case RankTask::Operation::send:
    case RankTask::Operation::receive:
      lane.meets = task.meets;
      lane.gathers = task.gathered_bytes > 0;
      if (!task.meets) return start_messages(lane, task);
      lane.pending.push_back(PendingCommunication::meeting(communicators_[task.group]));
      break;
    case RankTask::Operation::issue:
    case RankTask::Operation::kernel:
      break;
  }
}

// Ranks number the messages between two of them by their order, so the kind of stream is tag enough; sends and receives
// of one direction have neighbouring kinds.
void CpuExecutor::start_messages(Lane& lane, const RankTask& task) {
  const StreamKind stream = plan_.queues[task.queue].stream;
  const bool forward = stream == StreamKind::send_forward || stream == StreamKind::recv_forward;
  const bool sends = task.operation == RankTask::Operation::send;
  const int tag = forward ? 1 : 2;
  lane.pending.clear();
  for (std::size_t i = 0; i < task.peers.size(); ++i) {
    const int peer = task.peers[i];
    float* to = lane.to.data() + i * message_elements(task);
    lane.pending.push_back(sends ? PendingCommunication::send(MPI_COMM_WORLD, peer, tag, task.bytes, lane.from.data())
                                 : PendingCommunication::receive(MPI_COMM_WORLD, peer, tag, task.bytes, to));
  }
}

// Starts what a transfer still has to do when it has done all that was started: its messages once all of its ranks are
// there, the gather once they have come. Returns whether there was anything.
bool CpuExecutor::goes_on(Lane& lane, const RankTask& task) {
  if (lane.meets) {
    lane.meets = false;
    start_messages(lane, task);
    return true;
  }
  if (!lane.gathers) return false;
  lane.gathers = false;
  lane.pending.clear();
  lane.pending.push_back(PendingCommunication::collective(CollectiveKind::all_gather, communicators_[task.gather_group],
                                                          task.gathered_bytes, lane.to.data(), lane.from.data()));
  return true;
}

// Asks about every message, so that all of them make progress.
bool CpuExecutor::done(Lane& lane) {
  bool all = true;
  for (PendingCommunication& one : lane.pending) all = one.done() && all;
  return all;
}

// Starts and ends the tasks of a queue that can start or end; returns whether there were any.
bool CpuExecutor::advance(Lane& lane) {
  bool any = false;
  for (; lane.next < lane.queue->tasks.size(); ++lane.next) {
    const std::uint32_t index = lane.queue->tasks[lane.next];
    const RankTask& task = plan_.tasks[index];
    if (!lane.running) {
      if (!ready(task)) return any;
      times_[index].ready = now();
      start(lane, task);
      lane.running = any = true;
    }
    do {
      if (!done(lane)) return any;
      any = true;
    } while (goes_on(lane, task));
    lane.running = false;
    finish(index, heard_by_compute_[index] != 0);
  }
  return any;
}

void CpuExecutor::communicate() {
  PatientWait patience(world_.timeout_s(), [this] { return waiting_for(); });
  std::uint64_t known = 0;
  for (;;) {
    bool any = false;
    bool left = false;
    for (Lane& lane : lanes_) {
      any = advance(lane) || any;
      left = left || lane.next < lane.queue->tasks.size();
    }
    if (!left) return;
    const std::uint64_t computed = computed_.load(std::memory_order_relaxed);
    if (any || computed != known) patience.progress();
    known = computed;
    if (any) continue;
    rest(patience.next_nap());
  }
}

// Waits until a task that this thread waits for has been computed, but no longer than `seconds`.
void CpuExecutor::rest(double seconds) {
  if (seconds <= 0) {
    std::this_thread::yield();
    return;
  }
  std::unique_lock lock(mutex_);
  const std::uint64_t known = told_;
  changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return told_ != known; });
}

// Says in words which tasks the first unfinished queues wait for.
std::string CpuExecutor::waiting_for() const {
  std::vector<std::string> out;
  for (const Lane& lane : lanes_) {
    if (lane.next >= lane.queue->tasks.size()) continue;
    const RankTask& task = plan_.tasks[lane.queue->tasks[lane.next]];
    const char* state = lane.running ? "has begun" : "is next";
    std::string with;
    if (task.operation == RankTask::Operation::collective || task.operation == RankTask::Operation::meet) {
      with = fmt::format(" among ranks {}", fmt::join(groups_.groups[task.group].ranks, ", "));
    } else if (task.operation == RankTask::Operation::send || task.operation == RankTask::Operation::receive) {
      with = fmt::format(" with rank{} {}", task.peers.size() == 1 ? "" : "s", fmt::join(task.peers, ", "));
    }
    out.push_back(fmt::format("on stream {} task {} {}{}", name_of(lane.queue->stream), task.task, state, with));
    if (out.size() == 3) break;
  }
  return fmt::format("rank {}: {}", plan_.rank, fmt::join(out, "; "));
}

}  // namespace mirfak::measure
