#pragma once

#include "program/program.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mirfak {

// Collects the activities on the shared links of a program: a task that one rank does alone is an activity, and the
// tasks that several ranks do together are one activity. Follows an execution and reports when an activity begins.
class Activities {
 public:
  // `program` must outlive this object.
  explicit Activities(const Program& program);

  bool uses_links(TaskId task) {
    const OfClass& of = classes_[program_.task_class[task]];
    return of.traffic != kNoTraffic && !uses_of(of, seat(program_.stream[task], of)).empty();
  }

  // An activity that has begun, identified by the stream of the first of its tasks that began.
  struct Begun {
    StreamId stream = 0;
    std::span<const LinkUse> uses;  // each link once
    double slower = 1;              // factor that divides the bandwidths in `uses`: Program::slower_by()
    Picoseconds duration = 0;       // at full speed: the longest duration of its tasks
  };
  // Begins a task that uses links. Returns nullopt if the task has to wait for the other tasks of its activity.
  std::optional<Begun> begin(TaskId task);
  // Writes the tasks of a running activity to `out`; valid until a task begins that follows one of them on its stream.
  void tasks_of(StreamId stream, std::vector<TaskId>& out) const;

 private:
  // Properties of a class that an activity needs.
  struct OfClass {
    std::uint32_t traffic = kNoTraffic;
    GroupingId grouping = kAlone;
    bool is_transfer = false;
  };
  // A stream as a member of activities. `grouping` and `is_transfer` are those of the last task that was asked about,
  // and what follows from them is kept, since it seldom changes from task to task.
  struct Seat {
    GroupingId grouping = kAlone;
    bool is_transfer = false;
    std::uint32_t members = 1;  // ranks of the group
    std::uint32_t group = 0;    // number of the group within its grouping
    std::uint32_t place = 0;    // index into activities_, if there are several members
    TaskId task = kNoTask;      // runs, or waits for other members
    StreamId next = kLast;      // stream of the activity's next task
  };
  struct Activity {
    std::uint32_t missing = 0;
    StreamId first = 0;
    StreamId last = 0;
    Picoseconds longest = 0;
  };
  static constexpr StreamId kLast = static_cast<StreamId>(-1);

  Seat& seat(StreamId stream, const OfClass& of) {
    Seat& seat = seats_[stream];
    if (seat.grouping != of.grouping || seat.is_transfer != of.is_transfer) take_seat(seat, stream, of);
    return seat;
  }
  void take_seat(Seat& seat, StreamId stream, const OfClass& of) const;
  std::uint32_t place_in(GroupId group, StreamId stream, bool is_transfer) const;
  // Returns what Program::traffic_of() does.
  std::span<const LinkUse> uses_of(const OfClass& of, const Seat& seat) const {
    const std::uint32_t entry = of.traffic + seat.group;
    return std::span(program_.link_uses)
        .subspan(program_.link_use_begin[entry], program_.link_use_begin[entry + 1] - program_.link_use_begin[entry]);
  }

  const Program& program_;
  std::vector<OfClass> classes_;
  std::vector<Seat> seats_;           // by stream
  std::vector<Activity> activities_;  // for each group, the activities that may run at the same time
};

}  // namespace mirfak
