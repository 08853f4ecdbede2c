#include "engine/activities.hpp"

#include <algorithm>
#include <limits>

// Several activities of a group may run at the same time: one on each kind of stream, and for transfers one in each
// direction. Activities in one place begin one after the other, since streams run their tasks in order, and all tasks
// of an activity begin before any task of the next activity in its place. So a place holds one activity at a time.

namespace mirfak {

namespace {

constexpr std::size_t kAloneHere = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kPlaces = 2 * kStreamKinds;  // places of a group

bool receives(StreamKind kind) { return kind == StreamKind::recv_forward || kind == StreamKind::recv_backward; }

}  // namespace

Activities::Activities(const Program& program)
    : program_(program), of_stream_(program.streams.size(), kAloneHere), alone_(program.streams.size(), kNoTask) {
  if (!program.link_uses.empty()) activities_.resize(program.groups.size() * kPlaces);
}

// Returns the place of a task's activity. The direction of a transfer follows from the stage that sends; a collective,
// which may also join stages, has no direction.
std::size_t Activities::together(TaskId task, GroupId group) const {
  const Stream& stream = program_.streams[program_.stream[task]];
  if (program_.class_of(task).kind != TaskKind::transfer) {
    return kPlaces * group + 2 * static_cast<std::size_t>(stream.kind);
  }
  const std::vector<ProgramRank>& ranks = program_.ranks;
  const bool of_first = ranks[stream.rank].stage == ranks[program_.groups[group].ranks.front()].stage;
  const bool sender_is_first = of_first != receives(stream.kind);
  return kPlaces * group + 2 * static_cast<std::size_t>(sending_stream(stream.kind)) + (sender_is_first ? 1 : 0);
}

std::optional<Activities::Begun> Activities::begin(TaskId task) {
  const StreamId stream = program_.stream[task];
  const GroupId group = program_.group_of(task);
  const std::size_t members = group == kNoGroup ? 1 : program_.groups[group].ranks.size();
  if (members == 1) {
    of_stream_[stream] = kAloneHere;
    alone_[stream] = task;
    return Begun{stream, program_.traffic_of(task), program_.slower_by(task), program_.duration[task]};
  }
  const std::size_t place = together(task, group);
  Activity& activity = activities_[place];
  if (activity.missing == 0) {
    activity.tasks.clear();
    activity.stream = stream;
    activity.missing = members;
    activity.longest = 0;
    of_stream_[stream] = place;
  }
  activity.tasks.push_back(task);
  activity.longest = std::max(activity.longest, program_.duration[task]);
  if (--activity.missing > 0) return std::nullopt;
  return Begun{activity.stream, program_.traffic_of(task), program_.slower_by(task), activity.longest};
}

std::span<const TaskId> Activities::tasks_of(StreamId stream) const {
  const std::size_t place = of_stream_[stream];
  return place == kAloneHere ? std::span(&alone_[stream], 1) : std::span(activities_[place].tasks);
}

}  // namespace mirfak
