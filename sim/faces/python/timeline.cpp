#include "python/timeline.hpp"

#include "python/arrays.hpp"
#include "python/waiting.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <string>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace mirfak::python {

namespace {

template <typename Kind, std::size_t kCount>
std::vector<std::string> names_of() {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < kCount; ++i) out.emplace_back(name_of(static_cast<Kind>(i)));
  return out;
}

std::vector<std::string> task_names(const Program& program) {
  std::vector<std::string> out;
  for (const TaskClass& of : program.classes) out.push_back(of.name);
  return out;
}

// Adds an array over a vector of the object: `values(object)`.
template <typename Class, typename Values>
void add_view(nb::class_<Class>& type, const char* name, const Values& values, const char* meaning) {
  type.def_prop_ro(
      name, [values](nb::handle self) { return view(values(nb::cast<const Class&>(self)), self); }, meaning);
}
// Adds an array over one member of the elements of a vector of the object.
template <typename Class, typename Values, typename Row, typename T>
void add_view(nb::class_<Class>& type, const char* name, const Values& values, T Row::*member, const char* meaning) {
  type.def_prop_ro(
      name, [values, member](nb::handle self) { return view(values(nb::cast<const Class&>(self)), member, self); },
      meaning);
}

void add_tasks(nb::class_<Execution>& type) {
  const auto start = [](const Execution& of) -> const auto& { return of.timeline().start; };
  const auto end = [](const Execution& of) -> const auto& { return of.timeline().end; };
  const auto stream = [](const Execution& of) -> const auto& { return of.program().stream; };
  const auto task_class = [](const Execution& of) -> const auto& { return of.program().task_class; };
  const auto microbatch = [](const Execution& of) -> const auto& { return of.program().microbatch; };
  add_view(type, "start_ps", start, "Start of each task, in picoseconds (int64).");
  add_view(type, "end_ps", end, "End of each task, in picoseconds (int64).");
  add_view(type, "stream", stream, "Stream of each task: an index into stream_rank and stream_kind.");
  add_view(type, "task_class", task_class, "Class of each task: an index into class_kind, class_stage, ...");
  add_view(type, "microbatch", microbatch, "Microbatch of each task, from 0; -1: it belongs to none.");
}

void add_streams(nb::class_<Execution>& type) {
  const auto streams = [](const Execution& of) -> const auto& { return of.program().streams; };
  const auto ranks = [](const Execution& of) -> const auto& { return of.program().ranks; };
  add_view(type, "stream_rank", streams, &Stream::rank, "Rank of each stream: an index into rank and rank_stage.");
  add_view(type, "stream_kind", streams, &Stream::kind, "Kind of each stream: an index into stream_kinds.");
  add_view(type, "rank", ranks, &ProgramRank::rank, "The global number of each simulated rank.");
  add_view(type, "rank_stage", ranks, &ProgramRank::stage, "The pipeline stage of each simulated rank, from 0.");
  add_view(type, "multiplicity", ranks, &ProgramRank::multiplicity,
           "Number of ranks behaving alike that each simulated rank stands for.");
}

void add_classes(nb::class_<Execution>& type) {
  const auto classes = [](const Execution& of) -> const auto& { return of.program().classes; };
  add_view(type, "class_kind", classes, &TaskClass::kind, "Kind of each class of tasks: an index into task_kinds.");
  add_view(type, "class_stage", classes, &TaskClass::stage, "Its pipeline stage; -1: it belongs to none.");
  add_view(type, "class_chunk", classes, &TaskClass::chunk, "Its chunk of the stage; -1: it belongs to none.");
  add_view(type, "class_bytes", classes, &TaskClass::bytes, "Bytes that one of its tasks sends, or moves in memory.");
  add_view(type, "class_flop", classes, &TaskClass::flop, "FLOPs of one of its tasks.");
  type.def_prop_ro(
      "class_name", [](const Execution& self) { return task_names(self.program()); },
      "Name of each class of tasks: 'forward', 'all-reduce gradients'.");
}

void add_execution(nb::module_& module) {
  nb::class_<Execution> type(
      module, "Timeline",
      "When each task of an iteration ran. Arrays are views of memory that the timeline keeps: read-only, not copied.");
  add_tasks(type);
  add_streams(type);
  add_classes(type);
  type.def("__len__", [](const Execution& self) { return self.program().size(); })
      .def_prop_ro(
          "makespan_ps", [](const Execution& self) { return self.timeline().makespan; },
          "When the last task ended: picoseconds.")
      .def_prop_ro(
          "stream_kinds", [](const Execution& /*self*/) { return names_of<StreamKind, kStreamKinds>(); },
          "Names of kinds of streams.")
      .def_prop_ro(
          "task_kinds", [](const Execution& /*self*/) { return names_of<TaskKind, kTaskKinds>(); },
          "Names of kinds of tasks.")
      .def(
          "frame", [](nb::handle self) { return nb::module_::import_("mirfak._frames").attr("timeline_frame")(self); },
          nb::sig("def frame(self) -> pandas.DataFrame"),
          "A row for each task: rank, stage, stream, kind, name, microbatch, start_s and end_s in seconds.");
}

void add_trace_columns(nb::class_<TraceFile>& type) {
  const auto add = [&](const char* name, auto member, const char* meaning) {
    add_view(
        type, name, [member](const TraceFile& of) -> const auto& { return of.*member; }, meaning);
  };
  add("rank", &TraceFile::rank, "Global rank of each task.");
  add("stream", &TraceFile::stream, "Stream of each task: an index into stream_names.");
  add("kind", &TraceFile::kind, "Kind of each task: an index into kind_names.");
  add("task_name", &TraceFile::task_name, "Name of each task: an index into task_names.");
  add("stage", &TraceFile::stage, "Pipeline stage of each task; -1: none.");
  add("chunk", &TraceFile::chunk, "Chunk of the stage of each task; -1: none.");
  add("microbatch", &TraceFile::microbatch, "Microbatch of each task, from 0; -1: none.");
  add("start_s", &TraceFile::start_s, "Start of each task, in seconds.");
  add("end_s", &TraceFile::end_s, "End of each task, in seconds.");
  add("bytes", &TraceFile::bytes, "Bytes that each task sends, or moves in memory.");
}

void add_trace(nb::module_& module) {
  nb::class_<TraceFile> type(
      module, "Trace",
      "A trace that was read from HDF5. Arrays are views of memory that the trace keeps: read-only, not copied.");
  add_trace_columns(type);
  type.def_ro("name", &TraceFile::name, "Name of the file.")
      .def_ro("measured", &TraceFile::measured, "True if it was measured; else it is a prediction.")
      .def_ro("scenario", &TraceFile::scenario, "The scenario as YAML.")
      .def_ro("iteration_time_s", &TraceFile::iteration_time_s, "Seconds.")
      .def_ro("stream_names", &TraceFile::stream_names, "Names of streams.")
      .def_ro("kind_names", &TraceFile::kind_names, "Names of kinds of tasks.")
      .def_ro("task_names", &TraceFile::task_names, "Names of tasks.")
      .def("__len__", &TraceFile::size)
      .def(
          "frame", [](nb::handle self) { return nb::module_::import_("mirfak._frames").attr("trace_frame")(self); },
          nb::sig("def frame(self) -> pandas.DataFrame"),
          "A row for each task: rank, stage, stream, kind, name, microbatch, start_s and end_s in seconds.");
  module.def(
      "read_trace",
      [](const std::filesystem::path& path) {
        return wait_for(nb::none(), [&](Reporter& /*unused*/) { return read_trace(path); });
      },
      "path"_a, nb::sig("def read_trace(path: str | os.PathLike[str]) -> Trace"),
      "Reads a trace that `mirfak simulate --trace`, Result.write_trace() or `mirfak-measure run` wrote.");
}

}  // namespace

void add_timeline(nb::module_& module) {
  add_execution(module);
  add_trace(module);
}

}  // namespace mirfak::python
