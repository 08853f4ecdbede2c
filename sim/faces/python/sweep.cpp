#include "base/staged_file.hpp"
#include "python/arrays.hpp"
#include "python/functions.hpp"
#include "python/inputs.hpp"
#include "python/json.hpp"
#include "python/waiting.hpp"
#include "scenario/sweep_file.hpp"
#include "sweep/merge.hpp"
#include "sweep/run_sweep.hpp"
#include "sweep/sweep_hdf5.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace mirfak::python {

namespace {

// A finished sweep in the order of its points: columns for NumPy arrays over its memory.
struct FinishedSweep {
  std::vector<AxisTable> axes;
  std::vector<std::uint32_t> point;
  std::vector<std::uint8_t> status;
  std::vector<double> figures;  // one row after another
  std::vector<std::string> reason;
  SweepTable table;
  std::vector<std::string> notes;

  explicit FinishedSweep(SweepTable of) : table(std::move(of)) {
    std::vector<std::size_t> rows(table.rows());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    std::sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) { return table.point(a) < table.point(b); });
    figures.reserve(rows.size() * point_figure_keys().size());
    for (const std::size_t row : rows) {
      point.push_back(table.point(row));
      status.push_back(static_cast<std::uint8_t>(table.status(row)));
      reason.emplace_back(table.reason(row));
      const std::span<const double> of_row = table.figures(row);
      figures.insert(figures.end(), of_row.begin(), of_row.end());
    }
    order_ = std::move(rows);
    table.axes = axis_tables(parse_sweep(Document::from_text(table.heading.definition, "/sweep")));
    SweepOutcome outcome;
    tell(table, outcome);
    notes = outcome.notes;
  }

  std::string scenario(std::size_t place) const {
    std::string out;
    for (const std::uint32_t section : table.resolved(order_.at(place))) out += table.texts()[section];
    return out;
  }

 private:
  std::vector<std::size_t> order_;  // rows of the table in the order of points
};

nb::object values_of(const AxisTable& axis) {
  if (axis.type == AxisType::integer) return nb::cast(axis.integers);
  if (axis.type == AxisType::number) return nb::cast(axis.numbers);
  nb::list out;
  for (const std::uint8_t value : axis.booleans) out.append(nb::bool_(value != 0));
  for (const std::string& value : axis.texts) out.append(nb::str(value.c_str(), value.size()));
  return out;
}

// Returns the values of each axis key at all points of the sweep.
nb::object axis_columns(const FinishedSweep& sweep) {
  nb::dict out;
  for (const AxisTable& axis : sweep.table.axes) {
    const nb::object values = values_of(axis);
    nb::list column;
    for (const std::uint32_t point : sweep.point) column.append(values[axis.index_at(point)]);
    out[axis.key.c_str()] = column;
  }
  return out;
}

using Figures = nb::ndarray<nb::numpy, const double, nb::ndim<2>>;

Figures figures_of(nb::handle self) {
  const auto& sweep = nb::cast<const FinishedSweep&>(self);
  return Figures(sweep.figures.data(), {sweep.point.size(), point_figure_keys().size()}, self);
}

std::vector<std::string> status_names() {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < kPointStatuses; ++i) out.emplace_back(name_of(static_cast<PointStatus>(i)));
  return out;
}

SweepFile sweep_of(const Input& input) {
  const Document document =
      input.is_file ? Document::from_file(input.text) : Document::from_text(input.text, "scenario");
  return parse_sweep(document, input.overrides);
}

// Returns true if the table is written; else the run was given up, with all finished points in the journal.
bool swept(const Input& input, const std::filesystem::path& out, SweepOptions options, Reporter& reporter) {
  const SweepFile sweep = sweep_of(input);
  options.interrupted = [&reporter] { return reporter.given_up(); };
  options.counted = [&reporter](std::uint64_t done, std::uint64_t total) { reporter.report(done, total); };
  return run_sweep(sweep, data_folders(input.data), out, options).complete;
}

void add_finished(nb::module_& module) {
  nb::class_<FinishedSweep>(module, "FinishedSweep", "The points of a sweep, in their order.")
      .def("__len__", [](const FinishedSweep& self) { return self.point.size(); })
      .def("axes", &axis_columns, nb::sig("def axes(self) -> dict[str, list[typing.Any]]"),
           "Values at each point, by the keys on the axes.")
      .def_prop_ro(
          "point", [](nb::handle self) { return view(nb::cast<const FinishedSweep&>(self).point, self); },
          "Numbers of the points.")
      .def_prop_ro(
          "status", [](nb::handle self) { return view(nb::cast<const FinishedSweep&>(self).status, self); },
          "Index into status_names(), for each point.")
      .def_prop_ro("figures", &figures_of, "A row for each point, a column for each of figure_keys().")
      .def_ro("reason", &FinishedSweep::reason, "Reason why a point is not ok, for each point; '': it is.")
      .def_ro("notes", &FinishedSweep::notes, "On axes that change nothing.")
      .def("scenario", &FinishedSweep::scenario, "place"_a, "The resolved scenario of a point as YAML.");
}

}  // namespace

void add_sweep(nb::module_& module) {
  add_finished(module);
  module.def(
      "sweep",
      [](const Input& input, const std::filesystem::path& out, bool resume, int shard, int shards, int threads,
         const nb::object& progress) {
        SweepOptions options;
        options.jobs = threads;
        options.shard = shard;
        options.shards = shards;
        options.resume = resume;
        return wait_for(progress, [&](Reporter& reporter) { return swept(input, out, options, reporter); });
      },
      "input"_a, "out"_a, "resume"_a, "shard"_a, "shards"_a, "threads"_a, "progress"_a.none(),
      nb::sig(
          "def sweep(input: Input, out: str | os.PathLike[str], resume: bool, shard: int, shards: int, threads: int, "
          "progress: typing.Any) -> bool"),
      "Simulates a part of a sweep, shard I of N, from 1: see mirfak.sweep().");
  module.def(
      "sweep_points", [](const Input& input) { return sweep_of(input).points(); }, "input"_a,
      "Number of points that a sweep has.");
  module.def(
      "merge_sweeps",
      [](const std::vector<std::filesystem::path>& shards, const std::filesystem::path& out) {
        wait_for(nb::none(), [&](Reporter& /*unused*/) {
          check_writable(out);
          merge_sweeps(shards, out);
          return true;
        });
      },
      "shards"_a, "out"_a,
      nb::sig("def merge_sweeps(shards: collections.abc.Sequence[str | os.PathLike[str]], out: str | os.PathLike[str]) "
              "-> None"),
      "Puts the tables of all shards together.");
  module.def(
      "read_sweep",
      [](const std::filesystem::path& path) {
        return wait_for(nb::none(),
                        [&](Reporter& /*unused*/) { return std::make_unique<FinishedSweep>(read_sweep_table(path)); });
      },
      "path"_a, nb::sig("def read_sweep(path: str | os.PathLike[str]) -> FinishedSweep"),
      "Reads a finished table: see mirfak.read_sweep().");
  module.def("status_names", &status_names, "Outcomes that a point of a sweep may have.");
  module.def("figure_keys", &point_figure_keys, "The figures of a point of a sweep, SI, with units in their names.");
}

}  // namespace mirfak::python
