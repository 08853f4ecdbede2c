#pragma once

#include "executor/cpu_kernels.hpp"
#include "executor/executor.hpp"
#include "processes/message_buffer.hpp"
#include "processes/mpi_world.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace mirfak::measure {

// A rank is a process of an MPI job with two threads: one runs the compute stream, the other all other streams (host,
// communication, meetings), whose operations it starts without blocking and then asks again and again whether they are
// done, so that communication runs beside compute and any number of streams at once. See README.md for why this cannot
// deadlock. References must outlive it.
class CpuExecutor : public Executor {
 public:
  // `groups`: of the whole job; makes a communicator of each that this rank belongs to. All ranks call together. A plan
  // that communicates needs an MpiWorld: Error(input) in another.
  CpuExecutor(const World& world, const ExecutionGroups& groups, const RankPlan& plan);
  ~CpuExecutor() override;

  std::string backend() const override { return "cpu"; }
  std::string machine() const override;
  void iterate() override;
  std::span<const TaskTime> times() const override { return times_; }
  double clock_error_s() const { return clock_.error_s; }

 private:
  // One queue of those that the communicating thread runs.
  struct Lane {
    Lane(const RankQueue& of, std::size_t count) : queue(&of), from(count), to(count) {}

    const RankQueue* queue;
    std::size_t next = 0;  // in queue->tasks
    bool running = false;
    bool meets = false;                         // ranks of a transfer meet first
    bool gathers = false;                       // ... and tensor ranks gather what they received
    std::vector<PendingCommunication> pending;  // of a transfer one for each message
    MessageBuffer from;                         // what is sent; on a stream that receives, what is gathered
    MessageBuffer to;
  };

  double now() const { return monotonic_seconds() + clock_.offset_s; }
  bool ready(const RankTask& task) const;
  bool ended(std::uint32_t task) const { return done_[task].load(std::memory_order_acquire) != 0; }
  void finish(std::uint32_t task, bool tells);
  static bool done(Lane& lane);
  bool advance(Lane& lane);
  void start(Lane& lane, const RankTask& task);
  void start_messages(Lane& lane, const RankTask& task);
  bool goes_on(Lane& lane, const RankTask& task);
  void communicate();
  void rest(double seconds);
  void compute();
  void find_listeners();
  std::string waiting_for() const;

  const World& world_;
  const MpiWorld* mpi_;  // none: nothing of the plan communicates
  const ExecutionGroups& groups_;
  const RankPlan& plan_;
  World::Clock clock_;
  std::vector<Communicator> communicators_;  // by group; empty: of others
  CpuKernels kernels_;
  std::deque<Lane> lanes_;
  const RankQueue* compute_queue_ = nullptr;
  std::vector<std::uint8_t> heard_by_compute_;  // by task: the compute stream waits for it
  std::vector<std::uint8_t> heard_by_others_;   // ... another stream does, and the compute stream ends it
  std::vector<std::atomic<std::uint8_t>> done_;
  std::vector<TaskTime> times_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t told_ = 0;                  // changes that the other thread was told of
  std::atomic<std::uint64_t> computed_{0};  // kernels so far
  bool stopped_ = false;
};

}  // namespace mirfak::measure
