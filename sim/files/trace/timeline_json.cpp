// Chrome's trace event format: one JSON array of events, written event by event. Its times are microseconds; a
// picosecond is their sixth decimal, so integers are printed as decimals and nothing is rounded.
// A flow joins the two ends of a transfer. Lowering writes them as neighbours: the send, then its receive.

#include "trace/timeline_json.hpp"

#include "base/origin.hpp"
#include "base/staged_file.hpp"
#include "base/text.hpp"
#include "program/replica_kinds.hpp"
#include "simulation/link_use.hpp"
#include "simulation/long_iteration.hpp"
#include "simulation/replica_labels.hpp"
#include "trace/rank_series.hpp"
#include "trace/stream_index.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <functional>
#include <iterator>
#include <utility>

namespace mirfak {

namespace {

constexpr double kGibibyte = 1024.0 * 1024 * 1024;

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string microseconds(Picoseconds time) { return fmt::format("{}.{:06}", time / 1000000, time % 1000000); }

// Returns one of the colours that Chrome's viewer knows.
std::string_view colour_of(const TaskClass& described) {
  switch (described.kind) {
    case TaskKind::forward:
      return "thread_state_runnable";
    case TaskKind::backward:
      return "thread_state_running";
    case TaskKind::weight_gradient:
      return "rail_animation";
    case TaskKind::kernel:
      return "rail_response";
    case TaskKind::collective:
    case TaskKind::transfer:
      return "thread_state_iowait";
    case TaskKind::optimizer:
      return "rail_load";
    case TaskKind::issue:
    case TaskKind::meeting:
      break;
  }
  return "grey";
}

bool sends(StreamKind kind) { return kind == StreamKind::send_forward || kind == StreamKind::send_backward; }

StreamKind receiver_of(StreamKind sender) {
  return sender == StreamKind::send_forward ? StreamKind::recv_forward : StreamKind::recv_backward;
}

std::string own_name(const ProgramRank& rank) {
  return fmt::format("stage {} rank {} (data {}, context {}, tensor {})", rank.stage, rank.rank, rank.data,
                     rank.context, rank.tensor);
}

// Returns the name of a rank, which may stand for other ranks.
std::string rank_name(const Simulation& simulation, const ProgramRank& rank) {
  if (rank.multiplicity == 1) return own_name(rank);
  if (has_mixed_replicas(simulation)) {
    const StagePlan& plan = simulation.plans[rank.plan];
    return fmt::format("stage {} replicas {} on {} ({} ranks, alike)", rank.stage, replicas_text(plan),
                       plan.costs.hardware->hardware.name(), rank.multiplicity);
  }
  if (simulation.program.whole_teams) return fmt::format("{} and {} alike", own_name(rank), rank.multiplicity - 1);
  if (!simulation.program.kind_of_replica.empty()) {
    const std::vector<int> replicas = replicas_of(simulation.program, simulation.plans, rank);
    return fmt::format("stage {} replicas {} ({} ranks, alike)", rank.stage, ranges_text(replicas), rank.multiplicity);
  }
  return fmt::format("stage {} (ranks {}-{}, alike)", rank.stage, rank.rank, rank.rank + rank.multiplicity - 1);
}

class TimelineWriter {
 public:
  // Functions that name ranks. `rank`: the name of a rank by its index into Program::ranks; `process`: the number of
  // its process; `chunked`: true if the names of a class's passes contain their chunk.
  struct Names {
    std::function<std::string(std::uint32_t)> rank;
    std::function<std::uint32_t(std::uint32_t)> process;
    std::function<bool(ClassId)> chunked;
    std::uint32_t behind = 0;  // number of the process after all ranks
  };

  // `links`: the use of the program's links, from which the binding links are drawn. `simulation`: of one job, to draw
  // memory and power.
  TimelineWriter(const std::filesystem::path& path, const Program& program, const Timeline& timeline, Names names,
                 std::span<const LinkUsage> links = {}, const Simulation* simulation = nullptr)
      : program_(program),
        timeline_(timeline),
        links_(links),
        simulation_(simulation),
        names_(std::move(names)),
        index_(program_),
        path_(path.string()),
        out_(path, std::ios::binary | std::ios::trunc) {
    if (!out_) fail();
    describe_classes();
  }

  void write() {
    text("{{\"displayTimeUnit\": \"ms\", \"traceEvents\": [");
    for (std::uint32_t rank = 0; rank < program_.ranks.size(); ++rank) name_rank(rank);
    for (std::uint32_t rank = 0; rank < program_.ranks.size(); ++rank) {
      for (const StreamId stream : index_.streams_of(rank)) write_stream(stream);
    }
    write_memory_and_power();
    write_links();
    text("\n]}}\n");
    flush();
    out_.close();
    if (!out_) fail();
  }

 private:
  // The texts that all events of a class share.
  struct ClassText {
    std::string begin;      // {"name": "...
    std::string end;        // text after the name: ... "args": {...}}
    bool numbered = false;  // the microbatch is part of the name
  };

  [[noreturn]] void fail() const { fail_to_write(path_, errno); }

  template <typename... Args>
  void text(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    if (buffer_.size() > (std::size_t{1} << 20)) flush();
  }
  void begin_event() {
    text("{}", first_ ? "\n" : ",\n");
    first_ = false;
  }
  void flush() {
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    if (!out_) fail();
    buffer_.clear();
  }

  void describe_classes();
  void name_rank(std::uint32_t rank);
  void write_stream(StreamId id);
  void write_task(TaskId task, const Stream& stream);
  void write_flow(TaskId send, const Stream& stream);
  void write_links();
  void write_use(std::uint32_t process, const std::string& name, const LinkUsage& usage);
  void write_point(std::uint32_t process, const std::string& name, Picoseconds time, const char* unit, double value);
  void write_memory_and_power();
  std::uint32_t process(const Stream& stream) const { return names_.process(stream.rank); }

  const Program& program_;
  const Timeline& timeline_;
  std::span<const LinkUsage> links_;
  const Simulation* simulation_;
  Names names_;
  StreamIndex index_;
  std::string path_;
  std::ofstream out_;
  fmt::memory_buffer buffer_;
  std::vector<ClassText> classes_;
  bool first_ = true;
};

void TimelineWriter::describe_classes() {
  for (ClassId id = 0; id < program_.classes.size(); ++id) {
    const TaskClass& described = program_.classes[id];
    ClassText shared;
    std::string name = described.name;
    if (described.kind == TaskKind::forward) name = "F";
    if (described.kind == TaskKind::backward) name = "B";
    if (described.kind == TaskKind::weight_gradient) name = "W";
    shared.begin = json_text(name);
    shared.begin.pop_back();
    const bool chunked = described.chunk >= 0 && names_.chunked(id);
    shared.end = fmt::format(
        "{}\", \"cat\": \"{}\", \"cname\": \"{}\", \"args\": {{\"stage\": {}, \"chunk\": {}, \"bytes\": {}, "
        "\"flop\": {}, \"energy_j\": {}, \"microbatch\": ",
        chunked ? fmt::format(" chunk {}", described.chunk) : "", name_of(described.kind), colour_of(described),
        described.stage, described.chunk, described.bytes, described.flop, described.energy_j);
    shared.numbered = described.kind != TaskKind::kernel && described.kind != TaskKind::collective;
    classes_.push_back(std::move(shared));
  }
}

void TimelineWriter::name_rank(std::uint32_t rank) {
  const auto describe = [&](const char* what, int thread, const std::string& args) {
    begin_event();
    text("{{\"ph\": \"M\", \"name\": \"{}\", \"pid\": {}, \"tid\": {}, \"args\": {{{}}}}}", what, names_.process(rank),
         thread, args);
  };
  describe("process_name", 0, "\"name\": " + json_text(names_.rank(rank)));
  describe("process_sort_index", 0, fmt::format("\"sort_index\": {}", rank));
  if (rank == 0) describe("process_labels", 0, "\"labels\": " + json_text(origin_text()));
  for (const StreamId stream : index_.streams_of(rank)) {
    const StreamKind kind = program_.streams[stream].kind;
    if (kind == StreamKind::group) continue;
    const int thread = static_cast<int>(kind);
    describe("thread_name", thread, "\"name\": " + json_text(std::string(name_of(kind))));
    describe("thread_sort_index", thread, fmt::format("\"sort_index\": {}", thread));
  }
}

void TimelineWriter::write_stream(StreamId id) {
  const Stream& stream = program_.streams[id];
  if (stream.kind == StreamKind::group) return;
  for (const TaskId task : index_.tasks_on(id)) {
    if (timeline_.end[task] == timeline_.start[task]) continue;
    write_task(task, stream);
    if (sends(stream.kind)) write_flow(task, stream);
  }
}

void TimelineWriter::write_task(TaskId task, const Stream& stream) {
  const ClassText& shared = classes_[program_.task_class[task]];
  const std::int32_t microbatch = program_.microbatch[task];
  begin_event();
  text("{{\"ph\": \"X\", \"pid\": {}, \"tid\": {}, \"ts\": {}, \"dur\": {}, \"name\": {}", process(stream),
       static_cast<int>(stream.kind), microseconds(timeline_.start[task]),
       microseconds(timeline_.end[task] - timeline_.start[task]), shared.begin);
  if (shared.numbered && microbatch >= 0) text(" mb {}", microbatch);
  text("{}{}}}}}", shared.end, microbatch);
}

void TimelineWriter::write_flow(TaskId send, const Stream& stream) {
  const TaskId receive = send + 1;
  if (receive >= program_.size() || program_.microbatch[receive] != program_.microbatch[send]) return;
  const Stream& other = program_.streams[program_.stream[receive]];
  if (other.kind != receiver_of(stream.kind)) return;
  const auto end_of_flow = [&](const char* phase, const Stream& at, Picoseconds time) {
    begin_event();
    text(
        "{{\"ph\": \"{}\", \"bp\": \"e\", \"id\": {}, \"cat\": \"transfer\", \"name\": \"transfer\", \"pid\": {}, "
        "\"tid\": {}, \"ts\": {}}}",
        phase, send, process(at), static_cast<int>(at.kind), microseconds(time));
  };
  end_of_flow("s", stream, timeline_.start[send]);
  end_of_flow("f", other, (timeline_.start[receive] + timeline_.end[receive]) / 2);
}

// Writes the links that add most time, as counters of a process after the ranks.
void TimelineWriter::write_links() {
  constexpr std::size_t most = 8;
  const std::vector<LinkId> binding = binding_links(program_, links_);
  if (binding.empty()) return;
  const std::uint32_t process = names_.behind;
  const auto describe = [&](const char* what, const std::string& args) {
    begin_event();
    text("{{\"ph\": \"M\", \"name\": \"{}\", \"pid\": {}, \"tid\": 0, \"args\": {{{}}}}}", what, process, args);
  };
  describe("process_name", "\"name\": \"links that bind\"");
  describe("process_sort_index", fmt::format("\"sort_index\": {}", program_.ranks.size()));
  for (std::size_t i = 0; i < std::min(most, binding.size()); ++i) {
    const LinkUsage& usage = links_[binding[i]];
    write_use(process, json_text(program_.links[usage.link].name), usage);
  }
}

void TimelineWriter::write_point(std::uint32_t process, const std::string& name, Picoseconds time, const char* unit,
                                 double value) {
  begin_event();
  text("{{\"ph\": \"C\", \"pid\": {}, \"name\": {}, \"ts\": {}, \"args\": {{\"{}\": {}}}}}", process, name,
       microseconds(time), unit, value);
}

void TimelineWriter::write_use(std::uint32_t process, const std::string& name, const LinkUsage& usage) {
  for (const LinkUsePoint& point : usage.points) {
    write_point(process, name, point.time, "use", std::min(point.use, 1.0));
  }
}

// Writes memory and power of every rank, if the simulation is known.
void TimelineWriter::write_memory_and_power() {
  if (simulation_ == nullptr) return;
  for_each_memory(*simulation_, index_, [&](std::uint32_t rank, const RankMemory& memory) {
    for (const MemoryPoint& point : memory_over_time(memory, timeline_.makespan)) {
      write_point(names_.process(rank), "\"memory\"", point.time, "GiB", point.use.total() / kGibibyte);
    }
  });
  for (std::uint32_t rank = 0; rank < program_.ranks.size(); ++rank) {
    const StagePlan& plan = simulation_->plans[program_.ranks[rank].plan];
    for (const PowerPoint& point : power_over_time(*simulation_, plan, index_.compute_tasks_of(rank))) {
      write_point(names_.process(rank), "\"power\"", point.time, "W", point.watts);
    }
  }
}

// Returns names for a program's own ranks: each rank's process has the rank's number.
TimelineWriter::Names own_names(const Program& program, const std::function<std::string(const ProgramRank&)>& name) {
  std::uint32_t behind = 0;
  for (const ProgramRank& rank : program.ranks) behind = std::max(behind, rank.rank + rank.multiplicity);
  return {[&program, name](std::uint32_t rank) { return name(program.ranks[rank]); },
          [&program](std::uint32_t rank) { return program.ranks[rank].rank; }, [](ClassId) { return false; }, behind};
}

// Names for several jobs: the process of a rank has the number of its device, and the rank is named after its job.
class JobNames {
 public:
  JobNames(const JointSimulation& simulation, std::span<const std::string> names)
      : simulation_(simulation), names_(names), job_of_rank_(simulation.joint.job_of_rank()) {}

  std::string rank(std::uint32_t rank) const {
    return names_[job_of_rank_[rank]] + ": " + rank_name(of(rank), described(rank));
  }
  std::uint32_t process(std::uint32_t rank) const {
    return static_cast<std::uint32_t>(of(rank).job.device_of(static_cast<int>(described(rank).rank)));
  }
  bool chunked(ClassId id) const {
    std::size_t job = simulation_.alone.size() - 1;
    while (simulation_.joint.first[job].classes > id) --job;
    return simulation_.alone[job].job.strategy.virtual_pipeline > 1;
  }

 private:
  const Simulation& of(std::uint32_t rank) const { return simulation_.alone[job_of_rank_[rank]]; }
  const ProgramRank& described(std::uint32_t rank) const { return simulation_.joint.program.ranks[rank]; }

  const JointSimulation& simulation_;
  std::span<const std::string> names_;
  std::vector<std::uint32_t> job_of_rank_;
};

}  // namespace

void write_timeline_json(const std::filesystem::path& path, const Simulation& simulation) {
  require_whole(simulation, "a timeline");
  StagedFile staged(path);
  TimelineWriter::Names names =
      own_names(simulation.program, [&](const ProgramRank& rank) { return rank_name(simulation, rank); });
  names.chunked = [&](ClassId) { return simulation.job.strategy.virtual_pipeline > 1; };
  const std::vector<LinkUsage> links = link_usage(simulation.program, simulation.timeline);
  TimelineWriter(staged.path(), simulation.program, simulation.timeline, std::move(names), links, &simulation).write();
  staged.commit();
}

void write_timeline_json(const std::filesystem::path& path, const JointSimulation& simulation,
                         const NetworkUse& links) {
  StagedFile staged(path);
  const JobNames jobs(simulation, links.owners.names);
  const TimelineWriter::Names names = {
      [&](std::uint32_t rank) { return jobs.rank(rank); }, [&](std::uint32_t rank) { return jobs.process(rank); },
      [&](ClassId id) { return jobs.chunked(id); }, static_cast<std::uint32_t>(links.places.network.gpus())};
  TimelineWriter(staged.path(), simulation.joint.program, simulation.timeline, names, links.links).write();
  staged.commit();
}

void write_timeline_json(const std::filesystem::path& path, const Program& program, const Timeline& timeline) {
  StagedFile staged(path);
  TimelineWriter(staged.path(), program, timeline, own_names(program, own_name)).write();
  staged.commit();
}

}  // namespace mirfak
