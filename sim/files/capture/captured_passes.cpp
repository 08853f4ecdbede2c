// Kernels and messages are what passes are about; the host, collectives and other streams only join them. So each task
// of the captured program hands on the last kernel of each rank and the last message of each channel that it waits
// for, however long the way. A pass ends where a message waits for one of its kernels, and begins where a kernel waits
// for a message, or for a kernel of another rank, that no kernel before it has waited for.
#include "capture/captured_passes.hpp"

#include "base/error.hpp"
#include "capture/captured_ranks.hpp"

#include <fmt/format.h>
#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace mirfak {

namespace {

// A line of tasks that follow each other: the kernels of a rank's main stream, or the messages of a channel.
using Line = std::uint32_t;

// The last task of each line that has to end first; ascending by line.
using Reach = boost::container::small_vector<std::pair<Line, TaskId>, 4>;

void add_to(Reach& reach, Line line, TaskId task) {
  const auto at = std::lower_bound(reach.begin(), reach.end(), line,
                                   [](const auto& entry, Line wanted) { return entry.first < wanted; });
  if (at != reach.end() && at->first == line) {
    at->second = std::max(at->second, task);  // tasks are in a topological order, and so are those of a line
  } else {
    reach.insert(at, {line, task});
  }
}

// True if a task is later on its line than what is known of the line.
bool is_news(Line line, TaskId task, const Reach& known) {
  const auto at = std::find_if(known.begin(), known.end(), [&](const auto& entry) { return entry.first == line; });
  return at == known.end() || at->second < task;
}

CapturedPassKind kind_in(CapturePhase phase) {
  if (phase == CapturePhase::optimizer) return CapturedPassKind::other;
  return phase == CapturePhase::forward ? CapturedPassKind::forward : CapturedPassKind::backward;
}

class PassFinder {
 public:
  PassFinder(const Capture& capture, const CapturedProgram& executed)
      : capture_(capture), executed_(executed), joined_(executed.joined.program) {}

  PassProgram write() {
    place_tasks();
    find_reaches();
    begins_.resize(joined_.size(), false);
    ends_.resize(joined_.size(), false);
    for (std::size_t rank = 0; rank < executed_.ranks.size(); ++rank) find_cuts(rank);
    for (std::size_t rank = 0; rank < executed_.ranks.size(); ++rank) find_passes(rank);
    add_messages();
    for (std::size_t rank = 0; rank < executed_.ranks.size(); ++rank) add_end(rank);
    write_ranks();
    std::stable_sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) {
      return std::tuple(a.begin, a.end, a.first) < std::tuple(b.begin, b.end, b.first);
    });
    for (const Piece& piece : pieces_) emit(piece);
    return std::move(out_);
  }

 private:
  // A task of the joined program: the rank that runs it, and its line.
  static constexpr Line kNoLine = static_cast<Line>(-1);
  struct Placed {
    std::size_t rank = 0;
    std::size_t index = 0;  // of PricedRank::tasks
    Line line = kNoLine;
  };
  // A task of the program to write.
  struct Piece {
    std::size_t rank = 0;
    std::size_t pass = kNoPass;
    Line line = kNoLine;  // messages
    TaskId first = 0;     // of the joined program
    Picoseconds begin = 0;
    Picoseconds end = 0;
    Reach after;
  };
  static constexpr std::size_t kNoPass = static_cast<std::size_t>(-1);

  const CaptureEvent& event(std::size_t rank, std::size_t index) const {
    const PricedRank& priced = executed_.ranks[rank];
    return capture_.ranks[priced.rank].events[static_cast<std::size_t>(priced.tasks[index].event)];
  }
  bool is_kernel(std::size_t rank, std::size_t index) const {
    return !executed_.ranks[rank].tasks[index].on_host && event(rank, index).kind == CaptureEventKind::launch;
  }
  TaskId task(std::size_t rank, std::size_t index) const { return executed_.joined.task_of[rank][index]; }
  Picoseconds start(TaskId task) const { return executed_.timeline.start[task]; }
  Picoseconds end(TaskId task) const { return executed_.timeline.end[task]; }

  std::int32_t main_stream(std::size_t rank) const;
  void place_tasks();
  void find_reaches();
  void find_cuts(std::size_t rank);
  void check_meeting(const Placed& at, const Placed& before, TaskId other) const;
  void find_passes(std::size_t rank);
  void add_messages();
  TaskId last_to_end(std::size_t rank) const;
  void add_end(std::size_t rank);
  void write_ranks();
  void emit(const Piece& piece);
  StreamId stream_for(const Piece& piece);
  ClassId class_for(const Piece& piece);
  std::vector<TaskId> awaited_by(const Piece& piece) const;
  void set_written(const Piece& piece, TaskId as);

  const Capture& capture_;
  const CapturedProgram& executed_;
  const Program& joined_;
  std::vector<Placed> placed_;  // by task of the joined program
  std::vector<Reach> reaches_;  // by task
  std::vector<bool> begins_;    // by task: a pass begins with this kernel
  std::vector<bool> ends_;      // by task: a pass ends with this kernel
  std::vector<Piece> pieces_;
  std::vector<TaskId> written_;    // by task of the joined program, for kernels on main streams and messages
  std::vector<Picoseconds> done_;  // by task of the program that is written: when it ends
  std::map<Line, StreamId> streams_;
  std::vector<TaskId> last_on_;  // by stream of that program
  std::map<std::pair<std::size_t, CapturedPassKind>, std::int32_t> passes_of_;
  ClassId message_ = 0;
  ClassId between_ = 0;
  PassProgram out_;
};

// Returns the stream on which a rank's kernels take most time.
std::int32_t PassFinder::main_stream(std::size_t rank) const {
  std::map<std::int32_t, Picoseconds> busy;
  for (std::size_t i = 0; i < executed_.ranks[rank].tasks.size(); ++i) {
    if (is_kernel(rank, i)) busy[event(rank, i).stream] += end(task(rank, i)) - start(task(rank, i));
  }
  if (busy.empty()) return 0;
  return std::max_element(busy.begin(), busy.end(), [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

// Puts tasks on lines. Lines of ranks come first.
void PassFinder::place_tasks() {
  placed_.resize(joined_.size());
  std::map<std::tuple<std::size_t, std::string, std::int64_t>, Line> channels;
  auto next = static_cast<Line>(executed_.ranks.size());
  for (std::size_t rank = 0; rank < executed_.ranks.size(); ++rank) {
    const std::int32_t main = main_stream(rank);
    for (std::size_t i = 0; i < executed_.ranks[rank].tasks.size(); ++i) {
      Placed& at = placed_[task(rank, i)];
      at.rank = rank;
      at.index = i;
      if (executed_.ranks[rank].tasks[i].on_host) continue;
      const CaptureEvent& of = event(rank, i);
      if (of.kind == CaptureEventKind::launch) {
        if (of.stream == main) at.line = static_cast<Line>(rank);
        continue;
      }
      const CapturedCommunication& made = capture_.communication[of.entry];
      if (made.peer < 0) continue;
      const auto [known, is_new] = channels.try_emplace({rank, made.kind, made.peer}, next);
      if (is_new) ++next;
      at.line = known->second;
    }
  }
}

void PassFinder::find_reaches() {
  reaches_.resize(joined_.size());
  for (TaskId at = 0; at < joined_.size(); ++at) {
    for (const TaskId before : joined_.dependencies_of(at)) {
      if (placed_[before].line != kNoLine) {
        add_to(reaches_[at], placed_[before].line, before);
      } else {
        for (const auto& [line, last] : reaches_[before]) add_to(reaches_[at], line, last);
      }
    }
  }
}

// Finds where passes of a rank begin, and which passes end because others wait for them.
void PassFinder::find_cuts(std::size_t rank) {
  const auto own = static_cast<Line>(rank);
  Reach known;
  const Placed* before = nullptr;
  for (std::size_t i = 0; i < executed_.ranks[rank].tasks.size(); ++i) {
    const TaskId at = task(rank, i);
    const Placed& here = placed_[at];
    if (here.line == kNoLine) continue;
    for (const auto& [line, last] : reaches_[at]) {
      const bool of_kernel = line < executed_.ranks.size();
      if (here.line != own) {
        if (of_kernel) ends_[last] = true;
        continue;
      }
      if (line == own || !is_news(line, last, known)) continue;
      add_to(known, line, last);
      begins_[at] = true;
      if (!of_kernel) continue;
      if (before != nullptr) check_meeting(here, *before, last);
      ends_[last] = true;
    }
    if (here.line == own) before = &here;
  }
  const TaskId last = last_to_end(rank);
  if (last == kNoTask || placed_[last].line != kNoLine) return;
  for (const auto& [line, kernel] : reaches_[last]) {
    if (line < executed_.ranks.size()) ends_[kernel] = true;
  }
}

// Refuses a kernel that waits for a kernel of another rank inside a pass.
void PassFinder::check_meeting(const Placed& at, const Placed& before, TaskId other) const {
  const CaptureEvent& kernel = event(at.rank, at.index);
  const CapturedPassKind kind = kind_in(kernel.phase);
  if (kind == CapturedPassKind::other || kind != kind_in(event(before.rank, before.index).phase)) return;
  const auto rank_of = [&](const Placed& placed) { return capture_.ranks[executed_.ranks[placed.rank].rank].rank; };
  fail_infeasible(
      {capture_.file, capture_.ranks[executed_.ranks[at.rank].rank].line, 0},
      fmt::format("ranks {} and {} wait for each other inside a pass, at {} of '{}': clocks are planned for "
                  "ranks that meet between passes",
                  rank_of(at), rank_of(placed_[other]), capture_.operators[kernel.entry].name,
                  capture_.modules[kernel.module]),
      "capture one rank of each stage (--ranks), or set one clock: cluster.nodes[].clock_mhz");
}

void PassFinder::find_passes(std::size_t rank) {
  std::size_t kernel = 0;              // in the order of their launch
  std::vector<std::size_t> unclaimed;  // kernels of other streams before the first pass
  bool open = false;
  for (std::size_t i = 0; i < executed_.ranks[rank].tasks.size(); ++i) {
    if (!is_kernel(rank, i)) continue;
    const TaskId at = task(rank, i);
    if (placed_[at].line == kNoLine) {
      (out_.passes.empty() || out_.passes.back().rank != rank ? unclaimed : out_.passes.back().kernels)
          .push_back(kernel++);
      continue;
    }
    const CapturedPassKind kind = kind_in(event(rank, i).phase);
    if (!open || begins_[at] || out_.passes.back().kind != kind) {
      out_.passes.push_back({rank, kind, i, i, std::move(unclaimed)});
      unclaimed.clear();
      pieces_.push_back({rank, out_.passes.size() - 1, kNoLine, at, start(at), end(at), {}});
    }
    CapturedPass& pass = out_.passes.back();
    pass.last = i;
    pass.kernels.push_back(kernel++);
    pieces_.back().end = end(at);
    for (const auto& [line, last] : reaches_[at]) {
      if (line != static_cast<Line>(rank)) add_to(pieces_.back().after, line, last);
    }
    open = !ends_[at];
  }
}

void PassFinder::add_messages() {
  for (TaskId at = 0; at < joined_.size(); ++at) {
    const Line line = placed_[at].line;
    if (line == kNoLine || line < executed_.ranks.size()) continue;
    pieces_.push_back({placed_[at].rank, kNoPass, line, at, start(at), end(at), reaches_[at]});
  }
}

TaskId PassFinder::last_to_end(std::size_t rank) const {
  const std::vector<TaskId>& tasks = executed_.joined.task_of[rank];
  const auto last = std::max_element(tasks.begin(), tasks.end(),
                                     [&](TaskId a, TaskId b) { return std::pair(end(a), a) < std::pair(end(b), b); });
  return last == tasks.end() ? kNoTask : *last;
}

// Adds what a rank does after all passes and messages, as a task at the end of the last of it.
void PassFinder::add_end(std::size_t rank) {
  const TaskId last = last_to_end(rank);
  if (last == kNoTask || placed_[last].line != kNoLine) return;
  pieces_.push_back({rank, kNoPass, kNoLine, last, end(last), end(last), reaches_[last]});
}

void PassFinder::write_ranks() {
  const std::map<std::int64_t, std::int64_t> alike = ranks_alike(capture_);
  for (std::size_t rank = 0; rank < executed_.ranks.size(); ++rank) {
    const std::int64_t number = capture_.ranks[executed_.ranks[rank].rank].rank;
    ProgramRank described;
    described.rank = static_cast<std::uint32_t>(number);
    described.stage = static_cast<std::uint32_t>(rank);
    described.multiplicity = static_cast<std::uint32_t>(alike.at(number));
    out_.program.ranks.push_back(described);
    streams_[static_cast<Line>(rank)] = out_.program.add_stream(static_cast<std::uint32_t>(rank), StreamKind::compute);
  }
  TaskClass message;
  message.kind = TaskKind::transfer;
  message.name = "message";
  message_ = out_.program.add_class(std::move(message));
  TaskClass between;
  between.kind = TaskKind::issue;
  between.name = "between passes";
  between_ = out_.program.add_class(std::move(between));
  written_.assign(joined_.size(), kNoTask);
  out_.task_of.assign(out_.passes.size(), kNoTask);
}

// Returns the written tasks that a piece waits for.
std::vector<TaskId> PassFinder::awaited_by(const Piece& piece) const {
  std::vector<TaskId> out;
  for (const auto& [line, last] : piece.after) {
    if (written_[last] == kNoTask) fail_internal("a pass waits for what is not written");
    out.push_back(written_[last]);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

StreamId PassFinder::stream_for(const Piece& piece) {
  const Line line = piece.line == kNoLine ? static_cast<Line>(piece.rank) : piece.line;
  const auto [known, is_new] = streams_.try_emplace(line, 0);
  if (is_new) {
    known->second = out_.program.add_stream(static_cast<std::uint32_t>(piece.rank), StreamKind::send_forward);
  }
  return known->second;
}

ClassId PassFinder::class_for(const Piece& piece) {
  if (piece.pass == kNoPass) return piece.line == kNoLine ? between_ : message_;
  const CapturedPassKind kind = out_.passes[piece.pass].kind;
  TaskClass of;
  of.kind = kind == CapturedPassKind::forward    ? TaskKind::forward
            : kind == CapturedPassKind::backward ? TaskKind::backward
                                                 : TaskKind::optimizer;
  of.name = name_of(of.kind);
  of.stage = static_cast<std::int32_t>(piece.rank);
  of.chunk = 0;
  return out_.program.add_class(std::move(of));
}

// Writes a piece, in the order in which pieces begin. A piece that begins later than all that it waits for has ended
// does so because of the host, of collectives or of other streams: a task before it takes that long.
void PassFinder::emit(const Piece& piece) {
  Program& program = out_.program;
  const StreamId stream = stream_for(piece);
  std::vector<TaskId> after = awaited_by(piece);
  Picoseconds ready = 0;
  for (const TaskId before : after) ready = std::max(ready, done_[before]);
  if (last_on_.size() < program.streams.size()) last_on_.resize(program.streams.size(), kNoTask);
  if (last_on_[stream] != kNoTask) ready = std::max(ready, done_[last_on_[stream]]);
  if (piece.begin < ready) fail_internal("a pass begins before what it waits for has ended");
  const auto add = [&](ClassId of, Picoseconds until, std::int32_t number) {
    const TaskId task = program.add_task(stream, of, until - ready, after, number);
    done_.push_back(until);
    last_on_[stream] = task;
    ready = until;
    after.clear();
    return task;
  };
  if (piece.begin > ready) add(between_, piece.begin, -1);
  const std::int32_t number = piece.pass == kNoPass ? -1 : passes_of_[{piece.rank, out_.passes[piece.pass].kind}]++;
  set_written(piece, add(class_for(piece), piece.end, number));
}

// Notes the task that a piece was written as, for those that wait for its kernels or its message.
void PassFinder::set_written(const Piece& piece, TaskId as) {
  if (piece.pass == kNoPass) {
    written_[piece.first] = as;
    return;
  }
  out_.task_of[piece.pass] = as;
  const CapturedPass& pass = out_.passes[piece.pass];
  written_[task(pass.rank, pass.last)] = as;
}

}  // namespace

Picoseconds CapturedPass::start(const CapturedProgram& executed) const {
  return executed.timeline.start[executed.joined.task_of[rank][first]];
}

Picoseconds CapturedPass::end(const CapturedProgram& executed) const {
  return executed.timeline.end[executed.joined.task_of[rank][last]];
}

PassProgram pass_program(const Capture& capture, const CapturedProgram& executed) {
  return PassFinder(capture, executed).write();
}

}  // namespace mirfak
