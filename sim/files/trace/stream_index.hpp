#pragma once

#include "program/program.hpp"

#include <span>
#include <vector>

namespace mirfak {

inline constexpr StreamId kNoStream = static_cast<StreamId>(-1);

// The tasks of each stream, and the streams of each rank, of a program that must outlive the index. 4 bytes a task.
class StreamIndex {
 public:
  explicit StreamIndex(const Program& program);

  std::span<const TaskId> tasks_on(StreamId stream) const;             // in the order in which they run
  std::span<const StreamId> streams_of(std::uint32_t rank) const;      // ordered by kind, then id
  StreamId find(std::uint32_t rank, StreamKind kind) const;            // kNoStream: the rank has none
  std::span<const TaskId> compute_tasks_of(std::uint32_t rank) const;  // empty: the rank computes nothing

 private:
  const Program& program_;
  std::vector<std::size_t> task_begin_;
  std::vector<TaskId> tasks_;
  std::vector<std::size_t> stream_begin_;
  std::vector<StreamId> streams_;
};

}  // namespace mirfak
