#pragma once

#include "executor/cuda_graph.hpp"
#include "executor/cuda_kernels.hpp"
#include "executor/device_waits.hpp"
#include "executor/executor.hpp"
#include "executor/gpu_settings.hpp"
#ifdef MIRFAK_HAS_NCCL
#include "executor/nccl_communicator.hpp"
#endif
#include "executor/submission_order.hpp"
#include "processes/world.hpp"

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace mirfak::measure {

// Hands all tasks of an iteration to streams of one device, each between two events (marks), then reads the events; or
// without marks, with events only where a stream waits for another. A plan has
// a stream for each of its queues. Either it has one plan, of this process, and communicates by NCCL; or it has those
// of all ranks (loopback): then their kernels share one stream, in which they take turns in the order of the program,
// and collectives are copies and sums on the device. Where the settings say so, what the streams are told is captured
// once as a CUDA graph, and an iteration launches that. See README.md. References must outlive it.
class CudaExecutor : public Executor {
 public:
  // Uses the current device. `transfers`: of the whole job, transfer_lanes(). With several processes all of them call
  // together.
  CudaExecutor(const World& world, const ExecutionGroups& groups, const std::vector<TransferLane>& transfers,
               std::span<const RankPlan> plans, const GpuSettings& settings);

  std::string backend() const override;  // "cuda, loopback, graph"
  std::string machine() const override { return device_summary(); }
  void iterate() override;
  bool marks_take_time() const override { return true; }
  TaskTime iterate_unmarked() override;
  // The times of all plans, one plan after another.
  std::span<const TaskTime> times() const override { return times_; }
  // The most by which times of two ranks may be off: clocks of processes, and of device and host.
  double clock_error_s() const { return clock_.error_s + 2 * device_clock_error_s_; }

 private:
  // A queue of a plan on the device.
  struct Lane {
    cudaStream_t stream = nullptr;  // none: the host's
    DeviceMemory from;
    DeviceMemory to;
    DeviceEvent phase;  // of a collective in loopback: this member has done its part
  };
  struct TaskMark {
    DeviceEvent begun;
    DeviceEvent ended;
  };
  enum class Instant : std::uint8_t { begun, ended };

  const RankTask& task_of(const PlannedTask& task) const { return plans_[task.plan].tasks[task.task]; }
  TaskMark& mark_of(const PlannedTask& task) { return marks_[first_[task.plan] + task.task]; }
  TaskTime& time_of(const PlannedTask& task) { return times_[first_[task.plan] + task.task]; }
  Lane& lane_of(const PlannedTask& task) { return lanes_[task.plan][task_of(task).queue]; }
  double now() const { return monotonic_seconds() + clock_.offset_s; }
  CudaGraph& graph() { return marked_ ? marked_graph_ : bare_graph_; }

  void check_loopback() const;
  void make_lanes();
  void prepare_kernels();
  void make_communicators(const std::vector<TransferLane>& transfers);
  void start_clock();
  void run_once();
  void run_in_streams();
  void capture();
  void find_awaited();
  void wait_for_all();
  void wait_for_streams();
  void submit(const SubmissionStep& step);
  void issue(const PlannedTask& task);
  void begin(const PlannedTask& task);
  void pass(const PlannedTask& task, Instant instant);
  void order(const PlannedTask& task, Instant instant);
  const DeviceEvent& last_event(const PlannedTask& task, Instant instant);
  void communicate(const PlannedTask& task);
  void loop_back(const SubmissionStep& step);
  void copy_transfer(const SubmissionStep& step);
  void run_moves(const SubmissionStep& step, std::size_t member, std::span<const LoopbackMove> moves);
  void wait_for(const PlannedTask& task);
  void wait_for(const DeviceEvent& event, const std::function<std::string()>& what) const;
  void check_communicators() const;
  void read_times();
  void set_host_times();

  const World& world_;
  const ExecutionGroups& groups_;
  std::span<const RankPlan> plans_;
  GpuSettings settings_;
  ElementType type_;
  World::Clock clock_;
  double device_clock_error_s_ = 0;
  double origin_s_ = 0;    // when origin_ was passed
  double launched_s_ = 0;  // when the host launched the graph
  bool marked_ = true;     // the iteration that runs
  DeviceEvent origin_;
  DeviceEvent begun_;  // without marks: the first stream begins
  std::vector<SubmissionStep> order_;
  std::vector<DeviceStream> streams_;
  std::vector<std::vector<Lane>> lanes_;  // by plan and queue
  std::vector<std::size_t> first_;        // by plan: its first entry of marks_ and times_
  std::vector<TaskMark> marks_;
  std::vector<DeviceEvent> orders_;    // by task, of a graph or without marks: what streams wait for
  std::vector<DeviceEvent> ends_;      // by stream, without marks or of a graph (its first stream's)
  std::vector<DeviceWaits> waits_;     // by plan
  std::vector<std::uint8_t> awaited_;  // by task: a stream of another queue, or the host, waits for its end
  std::vector<TaskTime> times_;
  std::unique_ptr<CudaKernels> kernels_;
#ifdef MIRFAK_HAS_NCCL
  std::vector<NcclCommunicator> of_groups_;
  std::map<TransferLane, NcclCommunicator> of_transfers_;
#endif
  bool capturing_ = false;
  // The graphs go before communicators do: they wait for the end of graphs that hold their operations.
  CudaGraph marked_graph_;
  CudaGraph bare_graph_;
};

}  // namespace mirfak::measure
