#include "replay/step_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <utility>

namespace mirfak {

namespace {

constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);

// Instances that begin together, or one that begins alone.
struct JointStart {
  std::vector<std::uint32_t> members;  // instances
  std::vector<std::uint32_t> next;     // units that wait for one of them
  std::uint32_t waits_for = 0;         // number of units waited for that have not been written
  double start_s = 0;                  // latest start of a member in the first step
};

class Writer {
 public:
  Writer(const MeasuredTrace& trace, const StepGraph& graph, const RecordedSteps& recorded)
      : trace_(trace), graph_(graph), recorded_(recorded), size_(graph.operations.size()) {}

  StepProgram write() {
    make_units();
    join_units();
    write_ranks();
    out_.task_of.assign(recorded_.instances(), kNoTask);
    streams_of_rank_.resize(trace_.ranks.size());
    for (const std::uint32_t unit : order()) write_unit(units_[unit]);
    return std::move(out_);
  }

 private:
  // A stream, and the operation of the graph that was put on it last.
  struct OpenStream {
    StreamKind kind{};
    StreamId id = 0;
    StreamId meetings = kNone;  // stream of the meetings of its operations
    std::uint32_t last = 0;
  };

  std::uint32_t instance(std::size_t replica, std::uint32_t operation) const {
    return static_cast<std::uint32_t>(replica * size_ + operation);
  }
  std::uint32_t operation_of(std::uint32_t instance) const { return static_cast<std::uint32_t>(instance % size_); }

  void add_unit(std::vector<std::uint32_t> members) {
    JointStart unit;
    for (const std::uint32_t member : members) {
      unit_of_[member] = static_cast<std::uint32_t>(units_.size());
      unit.start_s = std::max(unit.start_s, trace_.operations[recorded_.operation(0, member)].start_s);
    }
    unit.members = std::move(members);
    units_.push_back(std::move(unit));
  }

  void make_units() {
    unit_of_.assign(recorded_.instances(), kNone);
    std::map<int, std::vector<std::size_t>> by_peer;
    for (std::size_t replica = 0; replica < recorded_.replicas.size(); ++replica) {
      by_peer[recorded_.replicas[replica].peer].push_back(replica);
    }
    for (const OperationGroup& group : graph_.groups) {
      for (const auto& [peer, replicas] : by_peer) {
        std::vector<std::uint32_t> members;
        for (const std::size_t replica : replicas) {
          for (const std::uint32_t operation : group.members) members.push_back(instance(replica, operation));
          if (!group.across_data) add_unit(std::exchange(members, {}));
        }
        if (!members.empty()) add_unit(std::move(members));
      }
    }
    for (std::uint32_t i = 0; i < unit_of_.size(); ++i) {
      if (unit_of_[i] == kNone) add_unit({i});
    }
  }

  void join_units() {
    for (std::uint32_t i = 0; i < unit_of_.size(); ++i) {
      for (const std::uint32_t before : graph_.operations[operation_of(i)].after) {
        units_[unit_of_[instance(i / size_, before)]].next.push_back(unit_of_[i]);
        ++units_[unit_of_[i]].waits_for;
      }
    }
  }

  // Returns a topological order: of the units that may come next, the one that began first in the first step.
  std::vector<std::uint32_t> order() {
    using Ready = std::pair<double, std::uint32_t>;
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    for (std::uint32_t unit = 0; unit < units_.size(); ++unit) {
      if (units_[unit].waits_for == 0) ready.emplace(units_[unit].start_s, unit);
    }
    std::vector<std::uint32_t> out;
    while (!ready.empty()) {
      out.push_back(ready.top().second);
      ready.pop();
      for (const std::uint32_t next : units_[out.back()].next) {
        if (--units_[next].waits_for == 0) ready.emplace(units_[next].start_s, next);
      }
    }
    if (out.size() < units_.size()) fail_cycle();
    return out;
  }

  // A waiting unit cannot be written because a unit that it waits for cannot be written: following these ends in a
  // cycle.
  [[noreturn]] void fail_cycle() const {
    std::vector<std::uint32_t> path;  // operations of the graph
    std::map<std::uint32_t, std::size_t> seen;
    std::uint32_t unit = 0;
    while (units_[unit].waits_for == 0) ++unit;
    while (seen.try_emplace(unit, path.size()).second) {
      const auto [waiting, before] = unwritten_before(units_[unit]);
      path.push_back(operation_of(waiting));
      unit = unit_of_[before];
    }
    path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(seen[unit]));
    constexpr std::size_t shown = 6;
    std::string text;
    for (std::size_t i = 0; i < std::min(path.size(), shown); ++i) {
      text += graph_.operations[path[i]].name.text() + " waits for ";
    }
    text += path.size() > shown ? "..., for " : "";
    const GraphOperation& first = graph_.operations[path.front()];
    fail_input(first.where, fmt::format("operations wait for each other: {}{}", text, first.name.text()),
               "operations of a group wait for all that one of them waits for");
  }

  // Returns a member, and an instance that the member waits for and whose unit is not written.
  std::pair<std::uint32_t, std::uint32_t> unwritten_before(const JointStart& unit) const {
    for (const std::uint32_t member : unit.members) {
      for (const std::uint32_t operation : graph_.operations[operation_of(member)].after) {
        const std::uint32_t before = instance(member / size_, operation);
        if (units_[unit_of_[before]].waits_for > 0) return {member, before};
      }
    }
    fail_internal("a graph of operations has neither an order nor a cycle");
  }

  void write_ranks() {
    for (const MeasuredRank& rank : trace_.ranks) {
      ProgramRank out;
      out.rank = static_cast<std::uint32_t>(rank.number);
      out.stage = static_cast<std::uint32_t>(rank.stage);
      out.tensor = static_cast<std::uint32_t>(rank.peer);
      out.data = static_cast<std::uint32_t>(rank.data);
      out_.program.ranks.push_back(out);
    }
  }

  void write_unit(const JointStart& unit) {
    std::vector<TaskId> after;
    for (const std::uint32_t member : unit.members) {
      for (const std::uint32_t before : graph_.operations[operation_of(member)].after) {
        after.push_back(out_.task_of[instance(member / size_, before)]);
      }
    }
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    const bool meets = unit.members.size() > 1;
    if (meets) {
      OpenStream& stream = stream_for(unit.members.front());
      if (stream.meetings == kNone) {
        stream.meetings = out_.program.add_stream(recorded_.rank_of[unit.members.front()], StreamKind::group);
      }
      after = {out_.program.add_task(stream.meetings, meeting_class(), 0, after)};
    }
    for (const std::uint32_t member : unit.members) {
      OpenStream& stream = stream_for(member);
      const std::uint32_t operation = operation_of(member);
      out_.task_of[member] =
          out_.program.add_task(stream.id, class_of(operation), 0, after, graph_.operations[operation].name.number);
      stream.last = operation;
    }
  }

  OpenStream& stream_for(std::uint32_t instance) {
    const std::uint32_t operation = operation_of(instance);
    const std::uint32_t rank = recorded_.rank_of[instance];
    const StreamKind kind = operation_kinds()[graph_.operations[operation].name.kind].stream;
    std::vector<OpenStream>& streams = streams_of_rank_[rank];
    for (OpenStream& stream : streams) {
      if (stream.kind == kind && (stream.last == operation || ordered(stream.last, operation))) return stream;
    }
    streams.push_back({kind, out_.program.add_stream(rank, kind), kNone, operation});
    return streams.back();
  }

  // Returns true if the graph orders `before` before `operation`, which is not written yet on this rank.
  bool ordered(std::uint32_t before, std::uint32_t operation) {
    const auto [known, is_new] = ordered_.try_emplace({before, operation}, false);
    if (!is_new) return known->second;
    std::vector<std::uint32_t> open{operation};
    std::vector<bool> seen(size_);
    while (!open.empty()) {
      const std::uint32_t next = open.back();
      open.pop_back();
      for (const std::uint32_t other : graph_.operations[next].after) {
        if (other == before) return known->second = true;
        if (!seen[other]) open.push_back(other);
        seen[other] = true;
      }
    }
    return false;
  }

  ClassId meeting_class() {
    if (meeting_ == kNone) {
      TaskClass described;
      described.kind = TaskKind::meeting;
      described.name = "meeting";
      meeting_ = out_.program.add_class(std::move(described));
    }
    return meeting_;
  }

  ClassId class_of(std::uint32_t operation) {
    const OperationKindId kind = graph_.operations[operation].name.kind;
    const int stage = recorded_.stage_of[operation];
    const auto [known, is_new] = classes_.try_emplace({kind, stage}, 0);
    if (is_new) {
      TaskClass described;
      described.kind = operation_kinds()[kind].task;
      described.name = operation_kinds()[kind].name;
      described.stage = stage;
      known->second = out_.program.add_class(std::move(described));
    }
    return known->second;
  }

  const MeasuredTrace& trace_;
  const StepGraph& graph_;
  const RecordedSteps& recorded_;
  std::size_t size_;  // operations of the graph
  std::vector<JointStart> units_;
  std::vector<std::uint32_t> unit_of_;
  std::vector<std::vector<OpenStream>> streams_of_rank_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> ordered_;
  std::map<std::pair<OperationKindId, int>, ClassId> classes_;
  ClassId meeting_ = kNone;
  StepProgram out_;
};

}  // namespace

StepProgram build_step_program(const MeasuredTrace& trace, const StepGraph& graph, const RecordedSteps& recorded) {
  return Writer(trace, graph, recorded).write();
}

}  // namespace mirfak
