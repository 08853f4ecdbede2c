#include "capture/captured_trace.hpp"

#include "base/staged_file.hpp"
#include "capture/capture_figures.hpp"
#include "trace/hdf5_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

// Streams of a trace's tasks, in the order of their codes.
enum class TraceStream : std::uint8_t { host, compute, communication };
constexpr std::array<const char*, 3> kStreamNames = {"host", "compute", "communication"};

constexpr std::array<const char*, 2> kGroupKinds = {"process_group", "transfer"};

class CapturedTraceWriter {
 public:
  CapturedTraceWriter(Hdf5File& file, const CapturedScenario& scenario, const CaptureSimulation& simulation)
      : file_(file),
        scenario_(scenario),
        capture_(*simulation.capture),
        executed_(simulation.executed),
        result_(simulation.result) {}

  void write() {
    file_.write("/scenario", scenario_.resolved);
    for (const char* group : {"/names", "/summary", "/ranks", "/groups", "/tasks", "/power"}) file_.add_group(group);
    write_summary();
    write_ranks();
    write_tasks();
    write_groups();
    write_power();
  }

 private:
  // A task of a captured rank by its place: indices of CapturedProgram::ranks and of PricedRank::tasks.
  struct Place {
    std::size_t rank = 0;
    std::size_t task = 0;
    std::size_t kernel = 0;  // place among the rank's kernels
  };

  void write_summary();
  void write_ranks();
  void write_tasks();
  void write_groups();
  void write_power();
  std::vector<Place> in_order() const;
  const CaptureEvent* event_of(const PricedRank& rank, const CapturedTask& task) const;
  static bool is_kernel(const CapturedTask& task, const CaptureEvent* event) {
    return !task.on_host && event->kind == CaptureEventKind::launch;
  }
  std::int32_t group_of(std::int64_t rank, const CapturedCommunication& made);

  struct TracedGroup {
    bool message = false;
    std::vector<std::int64_t> ranks;
    std::set<std::int64_t> members;  // captured ranks that take part
  };

  Hdf5File& file_;
  const CapturedScenario& scenario_;
  const Capture& capture_;
  const CapturedProgram& executed_;
  const CaptureResult& result_;
  std::vector<TracedGroup> groups_;
  std::map<std::string, std::size_t> group_codes_;
};

void CapturedTraceWriter::write_summary() {
  file_.write_attribute("/summary", "scenario", std::string_view(scenario_.name));
  file_.write_attribute("/summary", "program", std::string_view(capture_.program));
  file_.write_attribute("/summary", "capture", std::string_view(capture_.hash));
  for (const FigureValue& value : figure_values(result_, scenario_.cluster.facility())) {
    const IterationFigure& figure = iteration_figure(value.key());
    if (figure.stored && value.asked && value.known) {
      file_.write_attribute("/summary", figure.key.c_str(), value.number);
    }
  }
}

void CapturedTraceWriter::write_ranks() {
  Columns<std::uint32_t, std::uint32_t, std::uint32_t> columns(file_, "/ranks", "rank", "multiplicity", "gpu");
  NameTable gpus;
  for (const CapturedRankResult& rank : result_.ranks) {
    columns.append(static_cast<std::uint32_t>(rank.rank), static_cast<std::uint32_t>(rank.stands_for),
                   gpus.code(rank.gpu));
  }
  columns.finish();
  file_.write("/names/gpu", gpus.names());
  const auto column = [&](const std::string& name, auto value_of) {
    Hdf5Column<double> values(file_, "/ranks/" + name);
    for (const CapturedRankResult& rank : result_.ranks) values.append(value_of(rank));
    values.finish();
  };
  for (const CapturedTimePart& part : captured_time_parts()) {
    column(part.key, [&](const CapturedRankResult& rank) { return rank.times.*part.seconds; });
  }
  column("energy_j", [](const CapturedRankResult& rank) { return rank.energy_j; });
  column("peak_allocated_bytes", [](const CapturedRankResult& rank) { return rank.allocated_bytes; });
  column("graph_bytes", [](const CapturedRankResult& rank) { return rank.graph_bytes; });
  column("peak_reserved_bytes", [](const CapturedRankResult& rank) { return rank.reserved_bytes; });
  column("memory_peak_bytes", [](const CapturedRankResult& rank) { return rank.memory_bytes; });
  column("memory_capacity_bytes", [](const CapturedRankResult& rank) { return rank.capacity_bytes; });
}

const CaptureEvent* CapturedTraceWriter::event_of(const PricedRank& rank, const CapturedTask& task) const {
  return task.event < 0 ? nullptr : &capture_.ranks[rank.rank].events[static_cast<std::size_t>(task.event)];
}

// Returns the tasks of all ranks in the order of the program, which is topological.
std::vector<CapturedTraceWriter::Place> CapturedTraceWriter::in_order() const {
  std::vector<std::pair<TaskId, Place>> tasks;
  for (std::size_t r = 0; r < executed_.ranks.size(); ++r) {
    const PricedRank& rank = executed_.ranks[r];
    std::size_t kernels = 0;
    for (std::size_t i = 0; i < rank.tasks.size(); ++i) {
      const bool kernel = is_kernel(rank.tasks[i], event_of(rank, rank.tasks[i]));
      tasks.push_back({executed_.joined.task_of[r][i], {r, i, kernel ? kernels++ : 0}});
    }
  }
  std::sort(tasks.begin(), tasks.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Place> out;
  for (const auto& [task, place] : tasks) out.push_back(place);
  return out;
}

std::int32_t CapturedTraceWriter::group_of(std::int64_t rank, const CapturedCommunication& made) {
  const bool message = !collective_of(made);
  std::vector<std::int64_t> ranks = made.ranks;
  if (message) ranks = {std::min(rank, made.peer), std::max(rank, made.peer)};
  const std::string name = message ? fmt::format("{} {}", ranks.front(), ranks.back()) : group_name(made);
  const auto [found, is_new] = group_codes_.try_emplace(name, groups_.size());
  if (is_new) groups_.push_back({message, std::move(ranks), {}});
  groups_[found->second].members.insert(rank);
  return static_cast<std::int32_t>(found->second);
}

void CapturedTraceWriter::write_tasks() {
  Columns<std::uint32_t, std::uint8_t, std::uint8_t, std::uint32_t, std::int32_t, std::int32_t, std::int32_t,
          std::int32_t, double, double, double, double, double, std::int32_t, std::uint32_t, std::uint8_t>
      columns(file_, "/tasks", "rank", "stream", "kind", "name", "group", "stage", "chunk", "microbatch", "start_s",
              "end_s", "bytes", "flop", "energy_j", "cuda_stream", "module", "phase");
  NameTable names;
  const std::vector<std::string> phases(kCapturePhaseNames.begin(), kCapturePhaseNames.end());
  for (const Place& place : in_order()) {
    const PricedRank& rank = executed_.ranks[place.rank];
    const CapturedTask& task = rank.tasks[place.task];
    const CaptureEvent* event = event_of(rank, task);
    const TaskId id = executed_.joined.task_of[place.rank][place.task];
    const TaskClass& described = executed_.joined.program.class_of(id);
    const std::int64_t number = capture_.ranks[rank.rank].rank;
    TraceStream stream = TraceStream::host;
    std::string name = described.name;
    std::int32_t group = -1;
    double bytes = 0;
    double flop = 0;
    double energy_j = 0;
    if (is_kernel(task, event)) {
      stream = TraceStream::compute;
      name = capture_.operators[event->entry].name;
      const KernelCost& cost = executed_.price(rank, *event).cost;
      bytes = cost.bytes;
      flop = cost.flop;
      energy_j = rank.energy_j[place.kernel];
    } else if (!task.on_host) {
      stream = TraceStream::communication;
      const CapturedCommunication& made = capture_.communication[event->entry];
      name = made.kind;
      group = group_of(number, made);
      bytes = std::max(made.in_bytes, made.out_bytes);
    }
    columns.append(static_cast<std::uint32_t>(number), static_cast<std::uint8_t>(stream),
                   static_cast<std::uint8_t>(described.kind), names.code(name), group, -1, -1, -1,
                   to_seconds(executed_.timeline.start[id]), to_seconds(executed_.timeline.end[id]), bytes, flop,
                   energy_j, task.on_host ? -1 : event->stream, event == nullptr ? 0 : event->module,
                   static_cast<std::uint8_t>(event == nullptr ? CapturePhase::optimizer : event->phase));
  }
  columns.finish();
  std::vector<std::string> kinds;
  for (std::size_t i = 0; i < kTaskKinds; ++i) kinds.emplace_back(name_of(static_cast<TaskKind>(i)));
  file_.write("/names/stream", std::vector<std::string>(kStreamNames.begin(), kStreamNames.end()));
  file_.write("/names/kind", kinds);
  file_.write("/names/task", names.names());
  file_.write("/names/module", capture_.modules);
  file_.write("/names/phase", phases);
}

void CapturedTraceWriter::write_groups() {
  Columns<std::uint32_t, std::uint8_t, std::uint32_t, std::uint32_t> columns(file_, "/groups", "group", "kind", "size",
                                                                             "rank");
  for (std::size_t id = 0; id < groups_.size(); ++id) {
    for (const std::int64_t rank : groups_[id].members) {
      columns.append(static_cast<std::uint32_t>(id), groups_[id].message ? 1 : 0,
                     static_cast<std::uint32_t>(groups_[id].ranks.size()), static_cast<std::uint32_t>(rank));
    }
  }
  columns.finish();
  file_.write("/names/group", std::vector<std::string>(kGroupKinds.begin(), kGroupKinds.end()));
}

// Each kernel adds its energy over its time to the draw of a GPU that waits.
void CapturedTraceWriter::write_power() {
  Columns<std::uint32_t, double, double> columns(file_, "/power", "rank", "time_s", "watts");
  for (std::size_t r = 0; r < executed_.ranks.size(); ++r) {
    const PricedRank& rank = executed_.ranks[r];
    const double waiting_w = scenario_.cluster.groups()[rank.group].hardware.gpu.blocked_w.value;
    std::map<Picoseconds, double> changes;
    std::size_t kernel = 0;
    for (std::size_t i = 0; i < rank.tasks.size(); ++i) {
      if (!is_kernel(rank.tasks[i], event_of(rank, rank.tasks[i]))) continue;
      const double energy_j = rank.energy_j[kernel++];
      const TaskId id = executed_.joined.task_of[r][i];
      const Picoseconds start = executed_.timeline.start[id];
      const Picoseconds end = executed_.timeline.end[id];
      if (end == start) continue;
      changes[start] += energy_j / to_seconds(end - start);
      changes[end] -= energy_j / to_seconds(end - start);
    }
    const auto number = static_cast<std::uint32_t>(capture_.ranks[rank.rank].rank);
    const Picoseconds last = executed_.timeline.makespan;
    changes[0] += 0;
    double watts = waiting_w;
    for (const auto& [time, by] : changes) {
      if (time == last) continue;
      watts = std::max(waiting_w, watts + by);
      columns.append(number, to_seconds(time), watts);
    }
    columns.append(number, to_seconds(last), watts);
  }
  columns.finish();
}

}  // namespace

void write_trace(const std::filesystem::path& path, const CapturedScenario& scenario,
                 const CaptureSimulation& simulation) {
  StagedFile staged(path);
  Hdf5File file = Hdf5File::create(staged.path());
  write_trace_head(file, "mirfak trace", false);
  CapturedTraceWriter(file, scenario, simulation).write();
  file.write_out();
  staged.commit();
}

}  // namespace mirfak
