#include "trace/trace_hdf5.hpp"

#include "base/staged_file.hpp"
#include "simulation/figures.hpp"
#include "simulation/long_iteration.hpp"
#include "simulation/replica_labels.hpp"
#include "trace/hdf5_columns.hpp"
#include "trace/pass_spans.hpp"
#include "trace/rank_series.hpp"
#include "trace/stream_index.hpp"
#include "trace/traffic.hpp"

#include <fmt/format.h>

#include <limits>

namespace mirfak {

namespace {

constexpr std::int64_t kSchemaVersion = 1;

// Writes the use of shared links, and the communication that they slow down. Names of communication are codes of
// `names`.
void write_shared_links(Hdf5File& file, const std::string& at, const Program& program,
                        std::span<const LinkUsage> shared, const LinkOwners& owners, NameTable& names) {
  Columns<std::uint32_t, double, double, double, double, double, double> links(
      file, at + "/shared_links", "link", "bandwidth_bytes_per_s", "bytes", "mean_use", "peak_use", "binds_s",
      "most_asked");
  Columns<std::uint32_t, std::uint32_t, double, double, double> slowed(file, at + "/slowed", "link", "name", "times",
                                                                       "full_speed_s", "slowed_s");
  std::vector<std::uint32_t> owner_of_row;
  std::vector<std::vector<double>> by(owners.names.size());  // by owner, then by row
  for (const LinkUsage& usage : shared) {
    links.append(usage.link, program.links[usage.link].bytes_per_s, usage.bytes, usage.mean_use, usage.peak_use,
                 usage.binds_s, usage.most_asked);
    for (const SlowedCommunication& each : slowed_by_name(program, usage.held, owners)) {
      slowed.append(usage.link, names.code(each.name), each.times, each.full_speed_s, each.slowed_s);
      owner_of_row.push_back(static_cast<std::uint32_t>(each.owner));
      for (std::size_t i = 0; i < by.size(); ++i) by[i].push_back(each.by[i]);
    }
  }
  links.finish();
  slowed.finish();
  if (owners.names.empty()) return;
  Hdf5Column<std::uint32_t> jobs(file, at + "/slowed/job");
  for (const std::uint32_t owner : owner_of_row) jobs.append(owner);
  jobs.finish();
  for (std::size_t i = 0; i < by.size(); ++i) {
    Hdf5Column<double> column(file, fmt::format("{}/slowed/by_job_{}_s", at, i));
    for (const double seconds : by[i]) column.append(seconds);
    column.finish();
  }
}

class TraceWriter {
 public:
  // `measurement`: nullptr for a simulated iteration. `at`: the group that holds the iteration, "" or "/jobs/0".
  TraceWriter(Hdf5File& file, const Simulation& simulation, const Measurement* measurement, std::string at = {})
      : file_(file),
        at_(std::move(at)),
        simulation_(simulation),
        program_(simulation.program),
        index_(program_),
        measurement_(measurement) {}

  void write(const Scenario& scenario) {
    file_.write(at_ + "/scenario", scenario.resolved);
    for (const char* group : {"/names", "/summary", "/stages", "/ranks", "/groups", "/tasks", "/links", "/shared_links",
                              "/slowed", "/memory", "/power"}) {
      file_.add_group(at_ + group);
    }
    write_names();
    write_summary(scenario);
    write_stages();
    write_ranks();
    write_groups();
    write_tasks();
    if (measurement_ != nullptr) write_dependencies();
    write_links();
    write_memory();
    write_power();
  }

 private:
  std::uint32_t global_rank(std::uint32_t rank) const { return program_.ranks[rank].rank; }
  const StagePlan& plan_of(std::uint32_t rank) const { return simulation_.plans[program_.ranks[rank].plan]; }

  void write_names();
  void write_measurement();
  void write_summary(const Scenario& scenario);
  void write_stages();
  void write_classes();
  void write_ranks();
  void write_groups();
  void write_tasks();
  void write_dependencies();
  void write_links();
  void write_memory();
  void write_power();

  Hdf5File& file_;
  std::string at_;
  const Simulation& simulation_;
  const Program& program_;
  StreamIndex index_;
  const Measurement* measurement_;
};

void TraceWriter::write_names() {
  std::vector<std::string> streams;
  for (std::size_t i = 0; i < kStreamKinds; ++i) streams.emplace_back(name_of(static_cast<StreamKind>(i)));
  std::vector<std::string> kinds;
  for (std::size_t i = 0; i < kTaskKinds; ++i) kinds.emplace_back(name_of(static_cast<TaskKind>(i)));
  file_.write(at_ + "/names/stream", streams);
  file_.write(at_ + "/names/kind", kinds);
  std::vector<std::string> groups;
  for (std::size_t i = 0; i < kGroupKinds; ++i) groups.emplace_back(name_of(static_cast<GroupKind>(i)));
  file_.write(at_ + "/names/group", groups);
}

void TraceWriter::write_measurement() {
  file_.write_attribute(at_ + "/summary", "machine", std::string_view(measurement_->machine));
  file_.write_attribute(at_ + "/summary", "backend", std::string_view(measurement_->backend));
  file_.write_attribute(at_ + "/summary", "iterations", static_cast<double>(measurement_->iterations));
  file_.write_attribute(at_ + "/summary", "shortest_iteration_s", measurement_->shortest_s);
  file_.write_attribute(at_ + "/summary", "longest_iteration_s", measurement_->longest_s);
  file_.write_attribute(at_ + "/summary", "clock_error_s", measurement_->clock_error_s);
  if (measurement_->stolen_share) file_.write_attribute(at_ + "/summary", "stolen_share", *measurement_->stolen_share);
  if (measurement_->mark_s > 0) file_.write_attribute(at_ + "/summary", "mark_s", measurement_->mark_s);
  if (measurement_->energy_j) file_.write_attribute(at_ + "/summary", "energy_j", *measurement_->energy_j);
}

void TraceWriter::write_summary(const Scenario& scenario) {
  file_.write_attribute(at_ + "/summary", "scenario", std::string_view(scenario.name));
  file_.write_attribute(at_ + "/summary", "model", std::string_view(simulation_.job.model.name));
  if (measurement_ != nullptr) write_measurement();
  for (const IterationFigure& figure : iteration_figures()) {
    if (!figure.stored || (measurement_ != nullptr && !figure.measured)) continue;
    const FigureValue value = figure.value({simulation_.result, {}});
    if (value.known) file_.write_attribute(at_ + "/summary", figure.key.c_str(), value.number);
  }
}

void TraceWriter::write_stages() {
  const auto column = [&](const std::string& name, auto value_of) {
    Hdf5Column<double> values(file_, at_ + "/stages/" + name);
    for (const StageResult& stage : simulation_.result.stages) values.append(value_of(stage));
    values.finish();
  };
  Hdf5Column<std::int32_t> stages(file_, at_ + "/stages/stage");
  for (const StagePlan& plan : simulation_.plans) stages.append(plan.stage);
  stages.finish();
  if (has_mixed_replicas(simulation_)) write_classes();
  for (std::size_t i = 0; i < kActivities; ++i) {
    column(std::string(key_of(static_cast<Activity>(i))) + "_s",
           [&](const StageResult& stage) { return stage.activity_s[i]; });
  }
  for (const MemoryPart& part : memory_parts()) {
    column(std::string(part.name) + "_bytes", [&](const StageResult& stage) { return stage.memory.peak.*part.bytes; });
  }
  column("memory_peak_bytes", [](const StageResult& stage) { return stage.memory.peak.total(); });
  column("memory_capacity_bytes", [](const StageResult& stage) { return stage.memory.capacity; });
  column("host_memory_bytes", [](const StageResult& stage) { return stage.memory.host; });
  column("host_memory_capacity_bytes", [](const StageResult& stage) { return stage.memory.host_capacity; });
}

// Writes, for mixed replicas, the class of each row of /stages and /ranks.
void TraceWriter::write_classes() {
  Hdf5Column<std::int32_t> of_ranks(file_, at_ + "/ranks/replica_class");
  for (std::uint32_t rank = 0; rank < program_.ranks.size(); ++rank) of_ranks.append(plan_of(rank).replica_class);
  of_ranks.finish();
  Columns<std::int32_t, std::int32_t, std::int32_t> columns(file_, at_ + "/stages", "replica_class", "replicas",
                                                            "microbatches");
  for (const StagePlan& plan : simulation_.plans) {
    columns.append(plan.replica_class, plan.replicas.count(), plan.replicas.microbatches);
  }
  columns.finish();
}

void TraceWriter::write_ranks() {
  Columns<std::uint32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::uint32_t, std::uint32_t> columns(
      file_, at_ + "/ranks", "rank", "stage", "tensor", "context", "data", "multiplicity", "gpu");
  NameTable gpus;
  for (std::uint32_t i = 0; i < program_.ranks.size(); ++i) {
    const ProgramRank& rank = program_.ranks[i];
    columns.append(rank.rank, static_cast<std::int32_t>(rank.stage), static_cast<std::int32_t>(rank.tensor),
                   static_cast<std::int32_t>(rank.context), static_cast<std::int32_t>(rank.data), rank.multiplicity,
                   gpus.code(plan_of(i).costs.hardware->hardware.gpu.name));
  }
  columns.finish();
  file_.write(at_ + "/names/gpu", gpus.names());
}

void TraceWriter::write_groups() {
  Columns<std::uint32_t, std::uint8_t, std::uint32_t, std::uint32_t> columns(file_, at_ + "/groups", "group", "kind",
                                                                             "size", "rank");
  for (GroupId id = 0; id < program_.groups.size(); ++id) {
    const Group& group = program_.groups[id];
    for (const std::uint32_t rank : group.ranks) {
      columns.append(id, static_cast<std::uint8_t>(group.kind), group.size, global_rank(rank));
    }
  }
  columns.finish();
}

void TraceWriter::write_tasks() {
  Columns<std::uint32_t, std::uint8_t, std::uint8_t, std::uint32_t, std::int32_t, std::int32_t, std::int32_t,
          std::int32_t, double, double, double, double, double>
      columns(file_, at_ + "/tasks", "rank", "stream", "kind", "name", "group", "stage", "chunk", "microbatch",
              "start_s", "end_s", "bytes", "flop", "energy_j");
  NameTable names;
  std::vector<std::uint32_t> name_of_class;
  for (const TaskClass& described : program_.classes) name_of_class.push_back(names.code(described.name));
  for (TaskId task = 0; task < program_.size(); ++task) {
    const Stream& stream = program_.streams[program_.stream[task]];
    const TaskClass& described = program_.class_of(task);
    columns.append(global_rank(stream.rank), static_cast<std::uint8_t>(stream.kind),
                   static_cast<std::uint8_t>(described.kind), name_of_class[program_.task_class[task]],
                   static_cast<std::int32_t>(program_.group_of(task)), described.stage, described.chunk,
                   program_.microbatch[task], to_seconds(simulation_.timeline.start[task]),
                   to_seconds(simulation_.timeline.end[task]), described.bytes, described.flop,
                   measurement_ == nullptr ? described.energy_j : std::numeric_limits<double>::quiet_NaN());
  }
  columns.finish();
  file_.write(at_ + "/names/task", names.names());
}

void TraceWriter::write_dependencies() {
  file_.add_group(at_ + "/dependencies");
  Hdf5Column<std::int64_t> begin(file_, at_ + "/dependencies/begin");
  for (const TaskId first : program_.dependency_begin) begin.append(first);
  begin.finish();
  Hdf5Column<std::uint32_t> tasks(file_, at_ + "/dependencies/task");
  for (const TaskId task : program_.dependencies) tasks.append(task);
  tasks.finish();
}

void TraceWriter::write_links() {
  Columns<std::uint32_t, std::int32_t, double, double, double> columns(file_, at_ + "/links", "link", "rank", "time_s",
                                                                       "bytes_per_s", "utilisation");
  std::vector<std::string> names;
  const std::vector<LinkUsage> shared = link_usage(program_, simulation_.timeline);
  for_each_link(simulation_, index_, shared, [&](const LinkTraffic& link) {
    const auto code = static_cast<std::uint32_t>(names.size());
    const std::int32_t rank =
        link.rank < 0 ? -1 : static_cast<std::int32_t>(global_rank(static_cast<std::uint32_t>(link.rank)));
    names.push_back(link.name);
    for (const LinkUsePoint& point : link.points) {
      columns.append(code, rank, to_seconds(point.time), point.bytes_per_s, point.use);
    }
  });
  columns.finish();
  file_.write(at_ + "/names/link", names);
  // In a measured iteration tasks take longer for other reasons than shared links.
  NameTable tasks;  // numbered as by write_tasks()
  for (const TaskClass& described : program_.classes) tasks.code(described.name);
  write_shared_links(file_, at_, program_, measurement_ == nullptr ? shared : std::vector<LinkUsage>(), {}, tasks);
}

void TraceWriter::write_memory() {
  Columns<std::uint32_t, double, double, double, double> columns(file_, at_ + "/memory", "rank", "time_s", "bytes",
                                                                 "activation_bytes", "workspace_bytes");
  const auto write = [&](std::uint32_t rank, const RankMemory& memory) {
    for (const MemoryPoint& point : memory_over_time(memory, simulation_.timeline.makespan)) {
      columns.append(global_rank(rank), to_seconds(point.time), point.use.total(), point.use.activations,
                     point.use.workspace);
    }
  };
  if (measurement_ == nullptr) for_each_memory(simulation_, index_, write);
  columns.finish();
}

void TraceWriter::write_power() {
  Columns<std::uint32_t, double, double> columns(file_, at_ + "/power", "rank", "time_s", "watts");
  for (std::uint32_t rank = 0; measurement_ == nullptr && rank < program_.ranks.size(); ++rank) {
    for (const PowerPoint& point : power_over_time(simulation_, plan_of(rank), index_.compute_tasks_of(rank))) {
      columns.append(global_rank(rank), to_seconds(point.time), point.watts);
    }
  }
  columns.finish();
}

void write(const std::filesystem::path& path, const Scenario& scenario, const Simulation& simulation,
           const Measurement* measurement) {
  StagedFile staged(path);
  Hdf5File file = Hdf5File::create(staged.path());
  write_trace_head(file, "mirfak trace", measurement != nullptr);
  TraceWriter(file, simulation, measurement).write(scenario);
  file.write_out();
  staged.commit();
}

// Writes one of several jobs, with all its iterations as one program.
void write_job(Hdf5File& file, const NamedJob& job, const JointSimulation& simulation, std::size_t index) {
  const std::string at = fmt::format("/jobs/{}", index);
  file.add_group(at);
  file.write_attribute(at, "name", std::string_view(job.name));
  const Simulation run = simulation.run_of(index);
  TraceWriter(file, run, nullptr, at).write(job.scenario);
  Hdf5Column<std::uint32_t> devices(file, at + "/ranks/device");
  for (const ProgramRank& rank : run.program.ranks) {
    devices.append(static_cast<std::uint32_t>(job.job().device_of(static_cast<int>(rank.rank))));
  }
  devices.finish();
  file.add_group(at + "/iterations");
  Columns<double, double, std::uint8_t> iterations(file, at + "/iterations", "begin_s", "end_s", "counts");
  const JobAmongOthers& of = simulation.jobs[index];
  for (std::size_t i = 0; i < simulation.joint.ends[index].size(); ++i) {
    const auto number = static_cast<int>(i);
    iterations.append(to_seconds(simulation.begin_of(index, i)), to_seconds(simulation.end_of(index, i)),
                      number >= of.first && number < of.first + of.iterations ? 1 : 0);
  }
  iterations.finish();
}

void write_links_of_jobs(Hdf5File& file, const NetworkUse& links) {
  Columns<std::uint32_t, double, double, double> columns(file, "/links", "link", "time_s", "bytes_per_s",
                                                         "utilisation");
  std::vector<std::string> names;
  for (const LinkUsage& usage : links.links) {
    names.push_back(full_name(links.program.links[usage.link]));
    for (const LinkUsePoint& point : usage.points) {
      columns.append(usage.link, to_seconds(point.time), point.bytes_per_s, point.use);
    }
  }
  columns.finish();
  file.write("/names/link", names);
  NameTable tasks;
  write_shared_links(file, "", links.program, links.links, links.owners, tasks);
  file.write("/names/task", tasks.names());
}

}  // namespace

void write_trace_head(Hdf5File& file, std::string_view filetype, bool measured) {
  file.write_attribute("/", "filetype", filetype);
  file.write_attribute("/", "schema_version", kSchemaVersion);
  write_origin(file);
  file.write_attribute("/", "origin", std::string_view(measured ? "measured" : "simulated"));
}

void write_trace(const std::filesystem::path& path, const JobsFile& jobs, const JointSimulation& simulation,
                 const NetworkUse& links) {
  StagedFile staged(path);
  Hdf5File file = Hdf5File::create(staged.path());
  write_trace_head(file, "mirfak trace of jobs", false);
  file.write("/scenario", jobs.text);
  for (const char* group : {"/names", "/summary", "/links", "/shared_links", "/slowed", "/jobs"}) file.add_group(group);
  file.write("/names/job", jobs.names());
  file.write_attribute("/summary", "from_s", to_seconds(simulation.from));
  file.write_attribute("/summary", "to_s", to_seconds(simulation.to));
  write_links_of_jobs(file, links);
  for (std::size_t job = 0; job < jobs.jobs.size(); ++job) write_job(file, jobs.jobs[job], simulation, job);
  file.write_out();
  staged.commit();
}

void write_trace(const std::filesystem::path& path, const Scenario& scenario, const Simulation& simulation) {
  require_whole(simulation, "a trace");
  write(path, scenario, simulation, nullptr);
}

void write_trace(const std::filesystem::path& path, const Scenario& scenario, const Simulation& simulation,
                 const Measurement& measurement) {
  write(path, scenario, simulation, &measurement);
}

}  // namespace mirfak
