#include "base/error.hpp"
#include "base/staged_file.hpp"
#include "base/units.hpp"
#include "page/page_data.hpp"
#include "python/functions.hpp"
#include "python/inputs.hpp"
#include "python/json.hpp"
#include "python/waiting.hpp"
#include "report/train_report.hpp"
#include "scenario/stated_notes.hpp"
#include "trace/training_power_file.hpp"
#include "trace/training_trace.hpp"
#include "training/prediction.hpp"

#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace mirfak::python {

namespace {

struct PredictedTraining {
  Scenario scenario;
  TrainingPrediction prediction;
  double wall_time_s = 0;
  ReadFiles::ListPointer read = ReadFiles::of_this_thread();

  TrainReport report() const {
    std::vector<std::string> notes = stated_notes(scenario.document);
    for (std::string& note : notes_on_assertions(check_assertions(scenario.assertions, scenario.job, prediction))) {
      notes.push_back(std::move(note));
    }
    return {scenario, prediction, std::move(notes)};
  }
};

std::unique_ptr<PredictedTraining> predicted_training(const Input& input, int samples, std::uint64_t seed) {
  if (samples < 1 || samples > kMostTrainingRuns) {
    fail_input({}, fmt::format("samples: expected 1 to {} runs, found {}", kMostTrainingRuns, samples));
  }
  const Stopwatch watch;
  Scenario scenario = parse_scenario(input.document(), *sources_of(input.data));
  TrainingPrediction prediction = predict_training(scenario.job, operations_of(scenario), samples, seed);
  return std::make_unique<PredictedTraining>(
      PredictedTraining{std::move(scenario), std::move(prediction), watch.seconds()});
}

PowerFile power_of(const PredictedTraining& self, double resolution_s) {
  check_power_resolution(resolution_s, kTrainingResolutions);
  TrainingPower power = power_of_run(self.prediction.course, self.prediction.median_run, resolution_s);
  power.notes = notes_on_idle_hosts(self.scenario.job.cluster);
  return power_file_of(power, self.scenario.resolved);
}

}  // namespace

void add_training(nb::module_& module) {
  nb::class_<PredictedTraining>(module, "PredictedTraining", "Result of mirfak.train().")
      .def(
          "to_dict",
          [](const PredictedTraining& self) { return to_python(train_json(self.report(), self.wall_time_s)); },
          nb::sig("def to_dict(self) -> dict[str, typing.Any]"), "The keys of `mirfak train --format json`.")
      .def(
          "summary", [](const PredictedTraining& self) { return train_text(self.report()); },
          "Text that `mirfak train` prints.")
      .def(
          "write_trace",
          [](const PredictedTraining& self, const std::filesystem::path& path) {
            write_beside(self.read, [&] { write_training_trace(path, self.scenario, self.prediction); });
          },
          "path"_a, nb::sig("def write_trace(self, path: str | os.PathLike[str]) -> None"),
          "Writes the run that ends at the median as HDF5.")
      .def(
          "power",
          [](const PredictedTraining& self, double resolution_s) {
            return to_python(power_file_json(power_of(self, resolution_s)));
          },
          "resolution_s"_a, nb::sig("def power(self, resolution_s: float) -> dict[str, typing.Any]"),
          "Watts of the machine over the run that ends at the median: the keys of `mirfak train --power FILE.json`.")
      .def(
          "write_power",
          [](const PredictedTraining& self, const std::filesystem::path& path, double resolution_s) {
            write_beside(self.read, [&] { write_power(path, power_of(self, resolution_s)); });
          },
          "path"_a, "resolution_s"_a,
          nb::sig("def write_power(self, path: str | os.PathLike[str], resolution_s: float) -> None"),
          "Writes the same as FILE.csv, FILE.json or FILE.h5.")
      .def(
          "write_report",
          [](const PredictedTraining& self, const std::filesystem::path& path) {
            write_beside(self.read,
                         [&] { write_text_file(path, page_of(training_page_data(self.report(), self.wall_time_s))); });
          },
          "path"_a, nb::sig("def write_report(self, path: str | os.PathLike[str]) -> None"),
          "Writes a page (HTML) with the run and the reasons of its figures.");
  module.def(
      "train",
      [](const Input& input, int samples, std::uint64_t seed) {
        return wait_for(nb::none(), [&](Reporter& /*unused*/) { return predicted_training(input, samples, seed); });
      },
      "input"_a, "samples"_a, "seed"_a, "Simulates whole trainings: see mirfak.train().");
}

}  // namespace mirfak::python
