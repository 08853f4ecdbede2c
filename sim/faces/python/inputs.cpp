#include "python/inputs.hpp"

#include "base/error.hpp"
#include "base/origin.hpp"
#include "base/text.hpp"
#include "capture/capture_file.hpp"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace nb = nanobind;

namespace mirfak::python {

namespace {

std::mutex sources_mutex;  // guards the next variable
std::map<std::string, std::shared_ptr<const ScenarioSources>> known_sources;

}  // namespace

Document Input::document() const {
  if (is_file && is_capture(text)) {
    fail_input(
        {text, 0, 0}, "a capture does not say on what it runs",
        "give simulate() nodes='TYPE:COUNT', such as nodes='hgx-h100:8', or name it in a scenario with a cluster");
  }
  Document out = is_file ? Document::from_file(text) : Document::from_text(text, "scenario");
  for (const std::string& assignment : overrides) out.override_value(assignment);
  return out;
}

std::size_t choice_of(std::string_view what, const std::string& name, const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    fail_input({}, fmt::format("{}: expected {}, found '{}'", what, join_or(names), excerpt(name)),
               did_you_mean(name, names, ""));
  }
  return static_cast<std::size_t>(found - names.begin());
}

std::shared_ptr<const ScenarioSources> sources_of(const std::filesystem::path& data) {
  const std::lock_guard lock(sources_mutex);
  std::shared_ptr<const ScenarioSources>& of = known_sources[data.string()];
  if (!of) of = std::make_shared<const ScenarioSources>(data_folders(data));
  return of;
}

void forget_sources() {
  const std::lock_guard lock(sources_mutex);
  known_sources.clear();
}

void check_power_resolution(double seconds, const PowerResolutions& resolutions) {
  if (resolutions.allow(seconds)) return;
  fail_input({}, fmt::format("resolution_s: expected seconds from {:g} to {:g}, found {:g}", resolutions.shortest_s,
                             resolutions.longest_s, seconds));
}

void add_input(nb::module_& module) {
  nb::class_<Input>(module, "Input", "A scenario, a search or a sweep that was not read yet, with its overrides.")
      .def(
          "__init__",
          [](Input* self, std::string text, bool is_file, std::vector<std::string> overrides, std::string data) {
            new (self) Input{std::move(text), is_file, std::move(overrides), std::move(data)};
          },
          nb::arg("text"), nb::arg("is_file"), nb::arg("overrides"), nb::arg("data"),
          "text: YAML or JSON, or a path where is_file; overrides: KEY=VALUE; data: the folder of models/ and "
          "hw_profiles/.");
  module.def(
      "data_hash",
      [](const std::string& data) {
        const DataFolders folders = data_folders(data);
        return data_hash({folders.models, folders.hardware});
      },
      nb::arg("data"), "A hash of all files of models/ and hw_profiles/ in this folder.");
  module.def("reload_data", &forget_sources,
             "Has models and hardware profiles read anew; they are kept in memory from the first use on.");
}

}  // namespace mirfak::python
