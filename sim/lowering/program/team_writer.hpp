#pragma once

#include "program/body.hpp"
#include "program/program.hpp"
#include "program/rank_groups.hpp"

#include <boost/container/small_vector.hpp>

#include <array>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace mirfak {

// One pass, or one part of a pass, as a rank runs it: one task, or (detail: operators) bodies step by step.
struct PassWork {
  struct Step {
    ClassId task_class = 0;
    const BodyStep* step = nullptr;
    bool of_second = false;  // in a pair: the step belongs to the second pass
  };
  using Steps = std::vector<Step>;

  FoldedBody folded;
  ClassId task_class = 0;
  ClassId issue_class = 0;
  ClassId lead_class = 0;            // one task: the work that the host issues first
  ClassId wait_class = 0;            // one task: the host's wait for the device, if it waits
  GroupingId meets = kAlone;         // one task: the ranks that begin it together
  Picoseconds host_first = 0;        // host's work before the bodies
  std::vector<const Steps*> bodies;  // in order; empty at detail "passes". In a pair, the first has those of both
  const Body* around = nullptr;      // one task: what `folded` has after the blocks of a whole pass; null: nothing
};

// Work of a team's lanes in one pass: equal for all lanes, or different for each lane and each set of lanes that act
// together, with the same steps.
class TeamWork {
 public:
  using Lanes = std::span<const std::size_t>;
  TeamWork(const PassWork& of_all)  // NOLINT(google-explicit-constructor): the usual case
      : all_(&of_all), in_steps_(!of_all.bodies.empty()), meets_(of_all.meets) {}
  // `meets`: of the pass as one task. `in_steps`: `of` returns work with bodies for all lanes; else with none for all.
  TeamWork(std::function<const PassWork&(Lanes)> of, GroupingId meets, bool in_steps)
      : of_(std::move(of)), in_steps_(in_steps), meets_(meets) {}

  const PassWork& of(Lanes lanes) const { return all_ != nullptr ? *all_ : of_(lanes); }
  const PassWork& of_lane(std::size_t lane) const { return of(Lanes(&lane, 1)); }
  bool in_steps() const { return in_steps_; }
  GroupingId meets() const { return meets_; }

 private:
  const PassWork* all_ = nullptr;
  std::function<const PassWork&(Lanes)> of_;
  bool in_steps_ = false;
  GroupingId meets_ = kAlone;
};

// Tasks that a pass waits for: a job with all ranks has such lists by the hundred thousand, with one or two tasks each.
using FewTasks = boost::container::small_vector<TaskId, 2>;
inline std::span<const TaskId> span_of(const FewTasks& tasks) { return {tasks.data(), tasks.size()}; }

template <class Tasks>
void append(Tasks& to, std::span<const TaskId> tasks) {
  to.insert(to.end(), tasks.begin(), tasks.end());
}

// Writes the tasks of one team: the tensor- and context-parallel ranks of one stage and of the data-parallel replicas
// that exchange experts' rows, so that every collective of a pass is among the team's ranks. A folded program has teams
// of one rank.
class TeamWriter {
 public:
  // `ranks`: indices into program.ranks, one per lane. References must outlive this object.
  TeamWriter(Program& program, RankGroups& groups, std::span<const std::uint32_t> ranks);

  std::size_t lanes() const { return lanes_.size(); }
  std::uint32_t rank(std::size_t lane) const { return lanes_[lane].rank; }  // index into program.ranks

  // Adds a task that the lane's next pass has to wait for, in addition to the lane's own earlier work.
  void device_waits_for(std::size_t lane, TaskId task) { lanes_[lane].device_waits.push_back(task); }
  void host_waits_for(std::size_t lane, TaskId task) { lanes_[lane].host_waits.push_back(task); }

  void run(const TeamWork& work, std::int32_t microbatch);
  // Runs two passes in parallel. If each is one task, the first has the host's work of both.
  void run_pair(const TeamWork& first, std::int32_t microbatch, const TeamWork& second, std::int32_t its_microbatch);

  // Sets of lanes that belong together. A lane that meets no other lane is a set of its own.
  using LaneGroups = std::vector<std::vector<std::size_t>>;
  const LaneGroups& lanes_in(GroupingId grouping);

  // Adds one task on a communication or host stream of a lane, after `after`. Passes do not wait for the task unless
  // told to.
  TaskId transfer(std::size_t lane, StreamKind stream, ClassId of, Picoseconds lasting, std::span<const TaskId> after,
                  std::int32_t microbatch);

  // The tasks that end a lane's passes so far.
  std::span<const TaskId> done(std::size_t lane) const { return span_of(lanes_[lane].done); }
  std::span<const TaskId> done_before(std::size_t lane) const {  // without the last
    return span_of(lanes_[lane].done_before);
  }
  TaskId last_on(std::size_t lane, StreamKind stream) const;  // kNoTask: nothing yet

 private:
  // Class and microbatch of the work that the host issues for a pass.
  struct Issued {
    ClassId issue_class = 0;
    std::int32_t microbatch = -1;
  };
  struct Lane {
    std::uint32_t rank = 0;
    std::array<StreamId, kStreamKinds> streams{};
    std::array<TaskId, kStreamKinds> last{};  // on each stream
    FewTasks done;
    FewTasks done_before;
    FewTasks device_waits;
    FewTasks host_waits;
    Picoseconds behind = 0;  // host's work after the last step, not written yet
    Issued behind_of;
  };

  StreamId stream_of(Lane& lane, StreamKind kind);
  TaskId add(Lane& lane, StreamKind stream, ClassId of, Picoseconds lasting, std::span<const TaskId> after,
             std::int32_t microbatch);
  // Lets some lanes meet for work on `stream`, after `scratch_`; `scratch_` then holds the meeting. One lane meets
  // nobody.
  void meet(std::span<const std::size_t> lanes, GroupingId grouping, StreamKind stream, std::int32_t microbatch);
  // A pass, or one pass of a pair.
  struct Running {
    const TeamWork& work;
    std::int32_t microbatch = -1;
  };
  using Pair = std::array<Running, 2>;  // for one pass, the pass twice

  TaskId issue(Lane& lane, const Issued& pass, Picoseconds lasting);
  void end_issuing(Lane& lane);
  void begin_on_host(const Running& pass);
  void run_bodies(const Pair& passes);
  void begin_pass();
  void end_pass();
  void run_folded(const Running& first, const Running& behind);
  void hand_on(const Running& first, const Running& behind);
  static bool done_on_compute(const Lane& lane);
  static void wait_on_host(Lane& lane, const std::vector<TaskId>& ends);
  void run_body(const Pair& passes, std::size_t body);
  void run_step(const TeamWork& work, std::size_t body, std::size_t at, std::span<const TaskId> issued,
                std::vector<std::vector<TaskId>>& ends, std::int32_t microbatch);
  // Adds to `scratch_` the tasks that a lane's step waits for.
  void gather_waits(std::size_t lane, const BodyStep& step, TaskId issued, const std::vector<TaskId>& ends);

  Program& program_;
  RankGroups& groups_;
  std::vector<Lane> lanes_;
  std::map<GroupingId, LaneGroups> lanes_in_;
  std::vector<TaskId> scratch_;
  std::vector<TaskId> leads_;                   // the host's work before a folded pass, for each lane
  std::vector<TeamWork::Lanes> together_with_;  // for each lane, the lanes that run a folded pass with it
};

}  // namespace mirfak
