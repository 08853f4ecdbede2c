#include "engine/activities.hpp"

#include <algorithm>
#include <utility>

// Several activities of a group may run at the same time: one on each kind of stream, and for transfers one in each
// direction. Activities in one place begin one after the other, since streams run their tasks in order, and all tasks
// of an activity begin before any task of the next activity in its place. So a place holds one activity at a time. Its
// tasks are a list through the seats of their streams.

namespace mirfak {

namespace {

constexpr std::uint32_t kPlaces = 2 * kStreamKinds;  // places of a group

bool receives(StreamKind kind) { return kind == StreamKind::recv_forward || kind == StreamKind::recv_backward; }

}  // namespace

Activities::Activities(const Program& program) : program_(program), seats_(program.streams.size()) {
  for (const TaskClass& of : program.classes) {
    classes_.push_back({of.traffic, of.grouping, of.kind == TaskKind::transfer});
  }
  if (!program.link_uses.empty()) activities_.resize(program.groups.size() * kPlaces);
}

void Activities::take_seat(Seat& seat, StreamId stream, const OfClass& of) const {
  seat = {of.grouping, of.is_transfer};
  if (of.grouping == kAlone) return;
  const Grouping& grouping = program_.groupings[of.grouping];
  const GroupId group = grouping.of_rank[program_.streams[stream].rank];
  if (group == kNoGroup) return;
  seat.group = group - grouping.first;
  seat.members = static_cast<std::uint32_t>(program_.groups[group].ranks.size());
  seat.place = place_in(group, stream, of.is_transfer);
}

// Returns the place of an activity of a group. The direction of a transfer follows from the stage that sends; a
// collective, which may also join stages, has no direction.
std::uint32_t Activities::place_in(GroupId group, StreamId stream, bool is_transfer) const {
  const Stream& on = program_.streams[stream];
  if (!is_transfer) return kPlaces * group + 2 * static_cast<std::uint32_t>(on.kind);
  const std::vector<ProgramRank>& ranks = program_.ranks;
  const bool of_first = ranks[on.rank].stage == ranks[program_.groups[group].ranks.front()].stage;
  const bool sender_is_first = of_first != receives(on.kind);
  return kPlaces * group + 2 * static_cast<std::uint32_t>(sending_stream(on.kind)) + (sender_is_first ? 1 : 0);
}

std::optional<Activities::Begun> Activities::begin(TaskId task) {
  const StreamId stream = program_.stream[task];
  const OfClass& of = classes_[program_.task_class[task]];
  Seat& own = seat(stream, of);
  own.task = task;
  own.next = kLast;
  const Picoseconds duration = program_.duration[task];
  if (own.members == 1) return Begun{stream, uses_of(of, own), program_.slower_by(task), duration};
  Activity& activity = activities_[own.place];
  if (activity.missing == 0) {
    activity = {own.members, stream, stream, duration};
  } else {
    seats_[std::exchange(activity.last, stream)].next = stream;
    activity.longest = std::max(activity.longest, duration);
  }
  if (--activity.missing > 0) return std::nullopt;
  return Begun{activity.first, uses_of(of, own), program_.slower_by(task), activity.longest};
}

void Activities::tasks_of(StreamId stream, std::vector<TaskId>& out) const {
  out.clear();
  for (StreamId member = stream; member != kLast; member = seats_[member].next) out.push_back(seats_[member].task);
}

}  // namespace mirfak
