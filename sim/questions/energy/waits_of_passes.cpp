#include "energy/waits_of_passes.hpp"

#include "base/error.hpp"
#include "engine/execute.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace mirfak {

namespace {

bool is_pass(TaskKind kind) {
  return kind == TaskKind::forward || kind == TaskKind::backward || kind == TaskKind::weight_gradient;
}

// True for kernels and exchanges of passes; kernels of the optimizer belong to no pass.
bool in_pass(const Program& program, TaskId task) {
  switch (program.streams[program.stream[task]].kind) {
    case StreamKind::compute:
      return is_pass(program.class_of(task).kind);
    case StreamKind::tensor:
    case StreamKind::context:
    case StreamKind::expert:
      return true;
    default:
      return false;
  }
}

// True for transfers between stages and collectives of replicas.
bool is_outside(const Program& program, TaskId task) {
  switch (program.streams[program.stream[task]].kind) {
    case StreamKind::host:
    case StreamKind::compute:
    case StreamKind::tensor:
    case StreamKind::context:
    case StreamKind::expert:
    case StreamKind::group:
      return false;
    default:
      return true;
  }
}

using StreamPlace = std::pair<std::uint32_t, StreamKind>;  // rank, kind
StreamPlace place_of(const Program& program, TaskId task) {
  const Stream& stream = program.streams[program.stream[task]];
  return {stream.rank, stream.kind};
}

class WaitWriter {
 public:
  WaitWriter(const LoweredPasses& whole, const LoweredPasses& cut) : whole_(whole), out_(tables_of(whole.program)) {
    if (whole.begins.size() != cut.begins.size()) fail_internal("passes that are cut are other passes");
    const Timeline timeline = execute(cut.program);
    pass_ends_.assign(cut.begins.size(), 0);
    std::size_t pass = 0;
    for (TaskId task = 0; task < cut.program.size(); ++task) {
      while (pass < cut.begins.size() && cut.begins[pass] <= task) ++pass;
      if (is_outside(cut.program, task)) outside_ends_[place_of(cut.program, task)].push_back(timeline.end[task]);
      if (pass == 0 || !in_pass(cut.program, task)) continue;
      pass_ends_[pass - 1] = std::max(pass_ends_[pass - 1], timeline.end[task]);
    }
    find_last_tasks();
  }

  Program write() {
    const Program& program = whole_.program;
    stream_free_.assign(program.streams.size(), 0);
    for (TaskId task = 0; task < program.size(); ++task) {
      after_.clear();
      for (const TaskId before : program.dependencies_of(task)) after_.push_back(written_[before]);
      Picoseconds lasting = program.duration[task];
      if (is_outside(program, task)) lasting = std::max<Picoseconds>(0, next_outside_end(task) - start(task));
      if (last_of_pass_[task] >= 0) wait(task);
      written_.push_back(add(task, program.task_class[task], lasting));
    }
    return std::move(out_);
  }

 private:
  static Program tables_of(const Program& program) {
    Program out;
    out.classes = program.classes;
    for (TaskClass& of : out.classes) of.traffic = kNoTraffic;
    out.streams = program.streams;
    out.ranks = program.ranks;
    out.groups = program.groups;
    out.groupings = program.groupings;
    return out;
  }

  // Finds for each task of the whole program the pass that its compute task ends; -1: none.
  void find_last_tasks() {
    const Program& program = whole_.program;
    last_of_pass_.assign(program.size(), -1);
    for (std::size_t pass = 0; pass < whole_.begins.size(); ++pass) {
      const TaskId end =
          pass + 1 < whole_.begins.size() ? whole_.begins[pass + 1] : static_cast<TaskId>(program.size());
      TaskId last = kNoTask;
      for (TaskId task = whole_.begins[pass]; task < end; ++task) {
        if (in_pass(program, task)) last = task;
      }
      if (last != kNoTask) last_of_pass_[last] = static_cast<std::int64_t>(pass);
    }
  }

  Picoseconds next_outside_end(TaskId task) {
    const StreamPlace place = place_of(whole_.program, task);
    const std::vector<Picoseconds>& ends = outside_ends_[place];
    const std::size_t turn = turns_[place]++;
    if (turn >= ends.size()) fail_internal("a program of whole passes has other transfers");
    return ends[turn];
  }

  // Returns the start of a task that waits for `after_`.
  Picoseconds start(TaskId task) const {
    Picoseconds start = stream_free_[whole_.program.stream[task]];
    for (const TaskId before : after_) start = std::max(start, ends_[before]);
    return start;
  }

  // Adds a wait before the last task of a pass: the time that the pass's exchanges wait for other traffic on their
  // links.
  void wait(TaskId task) {
    const Program& program = whole_.program;
    const Picoseconds end = pass_ends_[static_cast<std::size_t>(last_of_pass_[task])];
    const Picoseconds waits = end - start(task) - program.duration[task];
    if (waits > 0) add(task, class_of_waits(program.class_of(task).stage), waits);
  }

  ClassId class_of_waits(std::int32_t stage) {
    const auto [known, is_new] = classes_.try_emplace(stage, 0);
    if (!is_new) return known->second;
    TaskClass of;
    of.kind = TaskKind::collective;
    of.name = "wait for links that others use";
    of.stage = stage;
    return known->second = out_.add_class(std::move(of));
  }

  TaskId add(TaskId like, ClassId of, Picoseconds lasting) {
    const Program& program = whole_.program;
    const Picoseconds end = start(like) + lasting;
    stream_free_[program.stream[like]] = end;
    ends_.push_back(end);
    return out_.add_task(program.stream[like], of, lasting, after_, program.microbatch[like]);
  }

  const LoweredPasses& whole_;
  Program out_;
  std::vector<Picoseconds> pass_ends_;
  std::map<StreamPlace, std::vector<Picoseconds>> outside_ends_;
  std::map<StreamPlace, std::size_t> turns_;
  std::vector<std::int64_t> last_of_pass_;
  std::vector<TaskId> written_;  // by task of the whole program
  std::vector<TaskId> after_;
  std::vector<Picoseconds> ends_;         // by task written
  std::vector<Picoseconds> stream_free_;  // by stream
  std::map<std::int32_t, ClassId> classes_;
};

}  // namespace

Program with_waits(const LoweredPasses& whole, const LoweredPasses& cut) { return WaitWriter(whole, cut).write(); }

}  // namespace mirfak
