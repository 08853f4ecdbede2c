#include "base/file_arguments.hpp"
#include "calibration/calibrated_tables.hpp"
#include "calibration/calibration_report.hpp"
#include "model/attention_kernels.hpp"
#include "python/findings.hpp"
#include "python/functions.hpp"
#include "python/inputs.hpp"
#include "python/waiting.hpp"
#include "validation/own_runs_report.hpp"
#include "validation/recorded_run_report.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace mirfak::python {

namespace {

namespace fs = std::filesystem;
using Path = fs::path;
using Only = std::vector<std::pair<std::string, std::string>>;

// The measured objects of tables, as Python states them.
struct Measured {
  std::string gpu;
  std::string link;
  std::string precision;
  std::string attention;
  bool score = false;
};

std::vector<RowFilter> filters_of(const Only& only) {
  std::vector<RowFilter> out;
  for (const auto& [column, value] : only) out.push_back({column, value});
  return out;
}

// Files that a call names, checked before any work.
class NamedFiles {
 public:
  void reads(const std::string& label, const Path& path) { add(FileRole::input, label, path); }
  void reads(const std::string& label, const std::vector<Path>& paths) {
    for (const Path& path : paths) reads(label, path);
  }
  void writes(const std::string& label, const Path& path, FileRole role = FileRole::output) { add(role, label, path); }
  void check() const { check_files(files_); }

 private:
  void add(FileRole role, const std::string& label, const Path& path) {
    if (!path.empty()) files_.push_back({role, label, path});
  }
  std::vector<FileArgument> files_;
};

Findings told(const CalibratedTables& found) { return {calibration_json(found), calibration_text(found)}; }

Findings of_tables(const std::vector<Path>& tables, const Measured& measured, const Only& only,
                   const std::string& source, const Path& out, const Path& data) {
  NamedFiles files;
  files.reads("tables", tables);
  files.writes("out", out, FileRole::update);
  files.check();
  const Catalog catalog(data_folders(data).hardware);
  CalibrationTarget target{catalog, measured.gpu, measured.link, {}, filters_of(only), source, measured.score};
  if (!measured.precision.empty()) {
    target.precision = static_cast<Precision>(choice_of("precision", measured.precision, precision_names()));
  }
  const std::vector<std::string>& kernels = attention_kernel_names();
  target.attention = kernels[choice_of("attention", measured.attention, kernels)];
  return told(calibrate_tables(tables, target, out));
}

Findings of_machine(const std::vector<Path>& tables, const MachineToCalibrate& machine, const Only& only,
                    const std::string& source, const Path& data) {
  NamedFiles files;
  files.reads("tables", tables);
  files.reads("machine", machine.description);
  for (const Path& path : profiles_of(machine)) files.writes("out", path, FileRole::later_output);
  files.check();
  const Catalog catalog(data_folders(data).hardware);
  return told(calibrate_machine(machine, tables, {catalog, {}, {}, {}, filters_of(only), source}));
}

Findings of_trace(TraceToCalibrate given, const std::optional<Input>& scenario, const Path& data) {
  NamedFiles files;
  std::error_code unknown;
  if (!fs::is_directory(given.trace, unknown)) files.reads("trace", given.trace);
  if (scenario && scenario->is_file) files.reads("scenario", scenario->text);
  files.writes("out", given.out);
  files.writes("framework", given.framework);
  files.check();
  if (scenario) given.scenario = scenario->document();
  const CalibratedTrace found = calibrate_by_trace(given, data_folders(data));
  return {calibrated_trace_json(found), calibrated_trace_text(found)};
}

Findings of_runs(const RunsToCalibrate& given, const Path& data) {
  NamedFiles files;
  files.reads("runs", given.table);
  files.reads("mapping", given.map);
  files.writes("out", given.out);
  files.check();
  const CalibratedRuns found = calibrate_by_runs(given, data);
  return {own_runs_json(found), own_runs_text(found)};
}

template <typename Work>
Findings found_by(const Work& work) {
  return wait_for(nb::none(), [&](Reporter& /*unused*/) { return work(); });
}

void add_of_tables(nb::module_& module) {
  module.def(
      "calibrate",
      [](const std::vector<Path>& tables, const std::string& gpu, const std::string& link, const std::string& precision,
         const std::string& attention, bool score, const Only& only, const std::string& source, const Path& out,
         const Path& data) {
        const Measured measured{gpu, link, precision, attention, score};
        return found_by([&] { return of_tables(tables, measured, only, source, out, data); });
      },
      "tables"_a, "gpu"_a, "link"_a, "precision"_a, "attention"_a, "score"_a, "only"_a, "source"_a, "out"_a, "data"_a,
      "Fits constants to tables: see mirfak.calibrate().");
  module.def(
      "calibrate_machine",
      [](const std::vector<Path>& tables, const Path& machine, const std::string& name, const Path& out,
         const Only& only, const std::string& source, const Path& data) {
        return found_by([&] { return of_machine(tables, {machine, name, out}, only, source, data); });
      },
      "tables"_a, "machine"_a, "name"_a, "out"_a, "only"_a, "source"_a, "data"_a,
      "Makes profiles of a machine: see mirfak.calibrate_machine().");
}

void add_of_trainings(nb::module_& module) {
  module.def(
      "calibrate_trace",
      [](const Path& trace, const std::optional<Input>& scenario, const Path& out, const Path& framework,
         const Path& data) {
        return found_by([&] { return of_trace({trace, std::nullopt, out, framework}, scenario, data); });
      },
      "trace"_a, "scenario"_a.none(), "out"_a, "framework"_a, "data"_a,
      "Tells what a profiler recorded: see mirfak.calibrate_trace().");
  module.def(
      "calibrate_runs",
      [](const Path& runs, const Path& mapping, const Only& only, const std::string& source, const Path& out,
         const Path& data) {
        return found_by([&] { return of_runs({runs, mapping, out, source, filters_of(only)}, data); });
      },
      "runs"_a, "mapping"_a, "only"_a, "source"_a, "out"_a, "data"_a,
      "Corrects a node type by measured runs: see mirfak.calibrate_runs().");
}

}  // namespace

void add_calibration(nb::module_& module) {
  add_of_tables(module);
  add_of_trainings(module);
}

}  // namespace mirfak::python
