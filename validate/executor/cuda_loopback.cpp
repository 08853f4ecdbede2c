// Communication of ranks that share a GPU: copies and sums between their buffers, ordered by events. What is waited for
// here is ordered in a graph as it is in streams: an event that is recorded again holds back who is told to wait later.

#include "executor/cuda_executor.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak::measure {

namespace {

bool is_transfer(const RankTask& task) {
  return task.operation == RankTask::Operation::send || task.operation == RankTask::Operation::receive;
}

}  // namespace

void CudaExecutor::check_loopback() const {
  if (!settings_.loopback) return;
  for (const RankGroup& group : groups_.groups) {
    if (group.ranks.size() <= SummedBuffers::kMax) continue;
    fail_infeasible({},
                    fmt::format("ranks that share a GPU communicate in groups of up to {}, and this job has one of {}",
                                SummedBuffers::kMax, group.ranks.size()),
                    "use fewer ranks");
  }
}

// Every member pulls what it needs once all are ready; a later phase begins when all have done the one before.
void CudaExecutor::loop_back(const SubmissionStep& step) {
  const auto all_wait = [&](const auto& event_of) {
    for (const PlannedTask& waits : step) {
      for (const PlannedTask& other : step) {
        if (other == waits) continue;
        event_of(other).hold(lane_of(waits).stream);
      }
    }
  };
  all_wait([&](const PlannedTask& task) -> const DeviceEvent& { return last_event(task, Instant::begun); });
  const RankTask& first = task_of(step.front());
  if (is_transfer(first)) return copy_transfer(step);
  if (first.operation != RankTask::Operation::collective) return;
  const std::size_t elements = std::max<std::size_t>(
      step.size(), static_cast<std::size_t>(first.bytes / static_cast<double>(element_bytes(type_))));
  std::vector<std::vector<LoopbackMove>> moves;
  int phases = 0;
  for (std::size_t i = 0; i < step.size(); ++i) {
    moves.push_back(loopback_moves(first.collective, static_cast<int>(i), static_cast<int>(step.size()), elements));
    for (const LoopbackMove& move : moves.back()) phases = std::max(phases, move.phase + 1);
  }
  for (int phase = 0; phase < phases; ++phase) {
    for (std::size_t i = 0; i < step.size(); ++i) {
      const auto of_phase = [&](const LoopbackMove& move) { return move.phase < phase; };
      const auto begin = std::partition_point(moves[i].begin(), moves[i].end(), of_phase);
      const auto end = std::find_if(begin, moves[i].end(), [&](const LoopbackMove& m) { return m.phase != phase; });
      run_moves(step, i, {begin, end});
      lane_of(step[i]).phase.record(lane_of(step[i]).stream);
    }
    all_wait([&](const PlannedTask& task) -> const DeviceEvent& { return lane_of(task).phase; });
  }
}

void CudaExecutor::run_moves(const SubmissionStep& step, std::size_t member, std::span<const LoopbackMove> moves) {
  const Lane& own = lane_of(step[member]);
  const std::size_t size = element_bytes(type_);
  for (const LoopbackMove& move : moves) {
    if (move.count == 0) continue;
    char* target = own.to.data() + move.target * size;
    if (move.sums) {
      SummedBuffers buffers;
      for (const PlannedTask& other : step) {
        buffers.from[buffers.count++] = lane_of(other).from.data() + move.source * size;
      }
      launch_sum(buffers, target, move.count, type_, own.stream);
      continue;
    }
    const Lane& other = lane_of(step[static_cast<std::size_t>(move.from)]);
    const char* source = (move.of_result ? other.to : other.from).data() + move.source * size;
    check_cuda(cudaMemcpyAsync(target, source, move.count * size, cudaMemcpyDeviceToDevice, own.stream), "copy");
  }
}

// The receiver copies; the sender is done when it has.
void CudaExecutor::copy_transfer(const SubmissionStep& step) {
  const bool first_sends = task_of(step[0]).operation == RankTask::Operation::send;
  Lane& sender = lane_of(step[first_sends ? 0 : 1]);
  Lane& receiver = lane_of(step[first_sends ? 1 : 0]);
  const auto bytes = static_cast<std::size_t>(task_of(step[0]).bytes);
  check_cuda(cudaMemcpyAsync(receiver.to.data(), sender.from.data(), bytes, cudaMemcpyDeviceToDevice, receiver.stream),
             "copy");
  receiver.phase.record(receiver.stream);
  receiver.phase.hold(sender.stream);
}

}  // namespace mirfak::measure
