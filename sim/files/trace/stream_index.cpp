#include "trace/stream_index.hpp"

#include "base/cancellation.hpp"

#include <algorithm>
#include <numeric>

namespace mirfak {

namespace {

// Returns the index of the first member of each of `groups` groups in a list sorted by group; one entry more than
// groups.
template <typename GroupOf>
std::vector<std::size_t> group_begins(std::size_t groups, std::size_t members, GroupOf group_of) {
  std::vector<std::size_t> begin(groups + 1);
  for (std::size_t i = 0; i < members; ++i) ++begin[group_of(i) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  return begin;
}

}  // namespace

StreamIndex::StreamIndex(const Program& program)
    : program_(program), tasks_(program.size()), streams_(program.streams.size()) {
  task_begin_ = group_begins(program.streams.size(), program.size(), [&](std::size_t i) { return program.stream[i]; });
  std::vector<std::size_t> next(task_begin_);
  CancellationSteps steps;
  for (TaskId task = 0; task < program.size(); ++task) {
    steps.step();
    tasks_[next[program.stream[task]]++] = task;
  }

  stream_begin_ = group_begins(program.ranks.size(), program.streams.size(),
                               [&](std::size_t i) { return program.streams[i].rank; });
  std::iota(streams_.begin(), streams_.end(), StreamId{0});
  std::stable_sort(streams_.begin(), streams_.end(), [&](StreamId a, StreamId b) {
    const Stream& x = program.streams[a];
    const Stream& y = program.streams[b];
    return x.rank != y.rank ? x.rank < y.rank : x.kind < y.kind;
  });
}

std::span<const TaskId> StreamIndex::tasks_on(StreamId stream) const {
  return std::span(tasks_).subspan(task_begin_[stream], task_begin_[stream + 1] - task_begin_[stream]);
}

std::span<const StreamId> StreamIndex::streams_of(std::uint32_t rank) const {
  return std::span(streams_).subspan(stream_begin_[rank], stream_begin_[rank + 1] - stream_begin_[rank]);
}

StreamId StreamIndex::find(std::uint32_t rank, StreamKind kind) const {
  for (const StreamId stream : streams_of(rank)) {
    if (program_.streams[stream].kind == kind) return stream;
  }
  return kNoStream;
}

std::span<const TaskId> StreamIndex::compute_tasks_of(std::uint32_t rank) const {
  const StreamId stream = find(rank, StreamKind::compute);
  return stream == kNoStream ? std::span<const TaskId>() : tasks_on(stream);
}

}  // namespace mirfak
