#include "python/iteration.hpp"

#include "base/error.hpp"
#include "base/units.hpp"
#include "launch/runnable_search.hpp"
#include "python/captured.hpp"
#include "python/json.hpp"
#include "python/sampling.hpp"
#include "python/waiting.hpp"
#include "report/explanation.hpp"
#include "report/result_json.hpp"
#include "report/spread_report.hpp"
#include "report/summary_text.hpp"
#include "scenario/idle_keys.hpp"
#include "scenario/jobs_file.hpp"
#include "simulation/figures.hpp"
#include "simulation/laws.hpp"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <utility>
#include <variant>

namespace nb = nanobind;
using namespace nb::literals;

namespace mirfak::python {

Iteration::Iteration(Scenario scenario, std::shared_ptr<const ScenarioSources> sources, const LoweringOptions& lowering)
    : scenario_(std::move(scenario)), sources_(std::move(sources)), lowering_(lowering) {
  const Stopwatch watch;
  result_ = simulate(scenario_.job, lowering_).result;
  wall_time_s_ = watch.seconds();
}

const std::vector<std::string>& Iteration::notes() const {
  const std::lock_guard lock(mutex_);
  if (notes_) return *notes_;
  std::vector<std::string> all = notes_on(scenario_.job, result_);
  const bool as_usual = !lowering_.unfolded && !lowering_.operators;
  for (std::string& note :
       notes_on_keys(scenario_, *sources_, as_usual ? result_ : mirfak::simulate(scenario_.job).result)) {
    const bool of_draws = spread_ && note.find("cluster.perturbations") != std::string::npos;
    if (!of_draws) all.push_back(std::move(note));
  }
  const std::filesystem::path& hardware = sources_->folders.hardware;
  for (std::string& note : notes_on_program(scenario_.job, scenario_.document, hardware))
    all.push_back(std::move(note));
  const AssertionResult asserted = check_assertions(scenario_.assertions, scenario_.job, result_);
  for (std::string& note : notes_on_assertions(asserted)) all.push_back(std::move(note));
  notes_ = std::move(all);
  return *notes_;
}

std::shared_ptr<const Simulation> Iteration::simulation() const {
  const std::lock_guard lock(mutex_);
  if (!simulation_) simulation_ = std::make_shared<const Simulation>(simulate(scenario_.job, lowering_));
  return simulation_;
}

Sensitivity Iteration::gains(double factor) const { return mirfak::sensitivity(*simulation(), factor, lowering_); }

nlohmann::ordered_json Iteration::json() const { return result_json(scenario_.job, result_, wall_time_s_); }

nlohmann::ordered_json Iteration::whole_json() const {
  nlohmann::ordered_json out = json();
  add_reserve(*simulation(), out);
  out["notes"] = notes();
  if (spread_) out["spread"] = spread_json(*spread_);
  return out;
}

namespace {

// Refuses arguments that mean nothing for a capture.
void check_of_capture(const Document& document, const LoweringOptions& lowering) {
  const std::pair<bool, const char*> others[] = {{lowering.operators, "detail"}, {lowering.unfolded, "unfolded"}};
  for (const auto& [given, name] : others) {
    if (!given) continue;
    fail_input({document.name(), 0, 0}, fmt::format("{} is of models and strategies, and this is of a capture", name),
               "leave it out");
  }
}

using Simulated = std::variant<std::unique_ptr<Iteration>, std::unique_ptr<SimulatedCapture>>;

Simulated simulated(const Input& input, const LoweringOptions& lowering, const SampleChoice& samples) {
  const std::optional<SpreadOptions> sampling = sampling_of(samples);
  std::shared_ptr<const ScenarioSources> sources = sources_of(input.data);
  const Document document = input.document();
  if (has_jobs(document)) {
    fail_input({document.name(), 0, 0}, "these are several jobs on one cluster", "call mirfak.simulate_jobs()");
  }
  if (names_capture(document)) {
    check_of_capture(document, lowering);
    return std::make_unique<SimulatedCapture>(document, *sources, sampling);
  }
  auto out = std::make_unique<Iteration>(parse_scenario(document, *sources), std::move(sources), lowering);
  if (sampling) out->sample(*sampling);
  return out;
}

nb::object object_of(const FigureValue& value) {
  if (!value.known) return nb::none();
  if (value.figure->truth) return nb::bool_(value.number != 0);
  if (value.figure->whole) return nb::int_(static_cast<std::int64_t>(value.number));
  return nb::float_(value.number);
}

// Adds a property for each figure of the JSON, under the same name.
void add_figures(IterationClass& type) {
  for (const IterationFigure& figure : iteration_figures()) {
    if (figure.elsewhere) continue;
    const char* const known = figure.truth ? "bool" : figure.whole ? "int" : "float";
    const std::string signature =
        fmt::format("def {}(self) -> {}{}", figure.key, known, figure.unknown.empty() ? "" : " | None");
    type.def_prop_ro(
        figure.key.c_str(),
        [&figure](const Iteration& self) {
          return object_of(figure.value({self.result(), self.scenario().job.cluster.facility()}));
        },
        nb::for_getter(nb::sig(signature.c_str())), meaning_with_unknown(figure, "None").c_str());
  }
}

// Adds the power of hosts and network, which the JSON has only if the cluster states anything about its facility.
void add_facility(IterationClass& type) {
  const auto add = [&](const char* key, const char* meaning) {
    const std::string signature = fmt::format("def {}(self) -> float | None", key);
    type.def_prop_ro(
        key,
        [key](const Iteration& self) {
          const nlohmann::ordered_json all = self.json();
          return all.contains(key) ? to_python(all[key]) : nb::object(nb::none());
        },
        nb::for_getter(nb::sig(signature.c_str())), meaning);
  };
  add("host_power_w", "Watts of all hosts; None: the cluster says nothing of its facility.");
  add("network_power_w", "Watts of the network; None: the cluster says nothing of its facility.");
}

void add_tables(IterationClass& type) {
  type.def_prop_ro(
          "fullest_stage", [](const Iteration& self) { return self.result().fullest_stage; },
          "The stage with the largest share of its memory in use, from 0.")
      .def_prop_ro("wall_time_s", &Iteration::wall_time_s, "Seconds that the simulation itself took.")
      .def_prop_ro(
          "activities", [](const Iteration& self) { return to_python(self.json()["activities"]); },
          nb::for_getter(nb::sig("def activities(self) -> dict[str, float]")),
          "Time of an iteration by its use, in seconds, mean over stages: adds up to iteration_time_s.")
      .def_prop_ro(
          "prices", [](const Iteration& self) { return to_python(self.json()["prices"]); },
          nb::for_getter(nb::sig("def prices(self) -> list[dict[str, typing.Any]]")),
          "For each entry of the cluster: its GPU, USD for an hour of one, and where that price is from; None: "
          "unknown.")
      .def_prop_ro(
          "stages",
          [](const Iteration& self) {
            return nb::module_::import_("mirfak._frames").attr("stages_frame")(to_python(self.json()["stages"]));
          },
          nb::for_getter(nb::sig("def stages(self) -> pandas.DataFrame")),
          "A row for each pipeline stage (and class of replicas): its GPU, power in watts, seconds by activity, bytes "
          "of memory by part.")
      .def(
          "plot",
          [](const nb::object& self, const std::string& kind, const nb::object& axes) {
            return nb::module_::import_("mirfak._plots").attr("plot_result")(self, kind, axes);
          },
          "kind"_a = "breakdown", nb::kw_only(), "axes"_a.none() = nb::none(),
          nb::sig("def plot(self, kind: str = 'breakdown', *, axes: matplotlib.axes.Axes | None = None) -> "
                  "matplotlib.axes.Axes"),
          "Draws with matplotlib, and returns the axes, those given or of a new figure. kind: 'breakdown', where the "
          "time "
          "goes; 'memory'; 'timeline', what the GPU of each stage does.")
      .def(
          "_repr_html_",
          [](const nb::object& self) { return nb::module_::import_("mirfak._html").attr("result_html")(self); },
          nb::sig("def _repr_html_(self) -> str"), "The result as notebooks show it.")
      .def_prop_ro(
          "notes",
          [](const Iteration& self) {
            return wait_for(nb::none(), [&](Reporter& /*unused*/) { return self.notes(); });
          },
          "Sentences on the result: keys of the scenario that change nothing, figures that stand in for hardware "
          "that was not measured, assertions that do not hold.")
      .def_prop_ro(
          "spread",
          [](const Iteration& self) -> nb::object {
            return self.spread() ? to_python(spread_json(*self.spread())) : nb::object(nb::none());
          },
          nb::for_getter(nb::sig("def spread(self) -> dict[str, typing.Any] | None")),
          "Many iterations, each with its own draw of cluster.perturbations: mean, quantiles, causes, in seconds; "
          "None without samples.");
}

void add_texts(IterationClass& type) {
  type.def_prop_ro(
          "name", [](const Iteration& self) { return self.scenario().name; }, "The scenario's file, or 'scenario'.")
      .def_prop_ro(
          "resolved", [](const Iteration& self) { return self.scenario().resolved; },
          "The scenario as YAML with every default written out and overrides applied.")
      .def_prop_ro(
          "defaulted", [](const Iteration& self) { return self.scenario().defaulted; },
          "The keys of `resolved` that the scenario leaves out.")
      .def(
          "to_dict",
          [](const Iteration& self) {
            return to_python(wait_for(nb::none(), [&](Reporter& /*unused*/) { return self.whole_json(); }));
          },
          nb::sig("def to_dict(self) -> dict[str, typing.Any]"),
          "All of it, with the keys of `mirfak simulate --format json`.")
      .def(
          "summary",
          [](const Iteration& self) {
            return wait_for(nb::none(), [&](Reporter& /*unused*/) {
              return summary_text(self.scenario(), *self.simulation(), self.notes());
            });
          },
          "The tables that `mirfak simulate` prints.")
      .def(
          "explain",
          [](const Iteration& self) {
            return wait_for(nb::none(), [&](Reporter& /*unused*/) {
              return text_of(explanation(self.scenario(), *self.simulation()));
            });
          },
          "Every cost with its formula, inputs and sources.")
      .def("__repr__", [](const Iteration& self) {
        return fmt::format("<mirfak.Result of {}: {:.4g} s an iteration on {} GPUs{}>", self.scenario().name,
                           self.result().iteration_time_s, self.result().gpus,
                           self.result().fits ? "" : ", which have too little memory");
      });
}

}  // namespace

void add_iteration(nb::module_& module) {
  module.def(
      "figure_label", [](const std::string& key) { return iteration_figure(key).label; }, "key"_a,
      "The words for a figure of an iteration, which all tables have.");
  module.def(
      "figure_text", [](const std::string& key, double value) { return format(value, unit_of_key(key)); }, "key"_a,
      "value"_a, "A figure with three digits and the unit that its key says.");
  IterationClass type(module, "Result",
                      "A simulated iteration. Its attributes are the keys of `mirfak simulate --format json`.");
  add_figures(type);
  add_facility(type);
  add_tables(type);
  add_texts(type);
  add_iteration_files(type);
  module.def(
      "simulate",
      [](const Input& input, bool unfolded, bool operators, int samples, std::optional<std::uint64_t> seed,
         bool antithetic) {
        const LoweringOptions lowering{unfolded, operators};
        const SampleChoice choice{samples, seed, antithetic};
        Simulated found = work_here([&] { return simulated(input, lowering, choice); });
        return std::visit([](auto& of) -> nb::object { return nb::cast(std::move(of)); }, found);
      },
      "input"_a, "unfolded"_a, "operators"_a, "samples"_a, "seed"_a.none(), "antithetic"_a,
      nb::sig("def simulate(input: Input, unfolded: bool, operators: bool, samples: int, seed: int | None, "
              "antithetic: bool) -> Result | SimulatedCapture"),
      "Simulates one iteration: see mirfak.simulate().");
}

}  // namespace mirfak::python
