#include "base/staged_file.hpp"
#include "comparison/captured_difference.hpp"
#include "comparison/captured_options.hpp"
#include "comparison/compared_scenario.hpp"
#include "comparison/comparison_report.hpp"
#include "comparison/difference_report.hpp"
#include "comparison/option_results.hpp"
#include "page/page_data.hpp"
#include "python/findings.hpp"
#include "python/functions.hpp"
#include "python/inputs.hpp"
#include "python/json.hpp"
#include "python/waiting.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace mirfak::python {

namespace {

// Compared options, with all data that reports on them use.
struct ComparedOptions {
  ComparisonFile file;
  Comparison comparison;
  ReadFiles::ListPointer read = ReadFiles::of_this_thread();
};

// Options of a model, or what is printed of a captured program on its options.
using FoundComparison = std::variant<std::unique_ptr<ComparedOptions>, std::unique_ptr<Findings>>;

// Compares options. Overrides apply to the scenario of all options, not to the file of options.
FoundComparison compared_options(const Input& input, int threads, Reporter& reporter) {
  const Input file{input.text, input.is_file, {}, input.data};
  auto out = std::make_unique<ComparedOptions>();
  out->file = parse_comparison(file.document(), input.overrides);
  const std::size_t options = out->file.choices.size();
  if (compares_captures(out->file)) {
    const CapturedComparison captured = compare_captures(
        out->file, data_folders(input.data), [&](std::size_t done) { reporter.report(done, options); },
        [&] { return reporter.given_up(); });
    return std::make_unique<Findings>(
        Findings{captured_comparison_json(out->file, captured), captured_comparison_text(out->file, captured)});
  }
  out->comparison = compare_options(
      out->file, data_folders(input.data), threads, [&](std::size_t done) { reporter.report(done, options); },
      [&] { return reporter.given_up(); });
  return out;
}

Findings difference(const Input& a, const Input& b, const std::vector<std::string>& of_a,
                    const std::vector<std::string>& of_b) {
  const std::shared_ptr<const ScenarioSources> sources = sources_of(a.data);
  if (names_capture(a.document()) && names_capture(b.document())) {
    const CaptureSources of_captures(*sources);
    const ComparedCapture first = compared_capture(a.document(), of_a, of_captures);
    const ComparedCapture second = compared_capture(b.document(), of_b, of_captures);
    const CaptureDifference found = capture_difference(first, second);
    return {capture_difference_json(first, second, found), capture_difference_text(first, second, found)};
  }
  const ComparedScenario first = compared_scenario(a.document(), of_a, *sources);
  const ComparedScenario second = compared_scenario(b.document(), of_b, *sources);
  const ResultDifference found = result_difference(first.run(), second.run());
  return {difference_json(first.run(), second.run(), found), difference_text(first.run(), second.run(), found)};
}

}  // namespace

void add_comparison(nb::module_& module) {
  nb::class_<ComparedOptions>(module, "ComparedOptions", "Result of mirfak.compare().")
      .def(
          "to_dict", [](const ComparedOptions& self) { return to_python(comparison_json(self.file, self.comparison)); },
          nb::sig("def to_dict(self) -> dict[str, typing.Any]"), "The keys of `mirfak compare --format json`.")
      .def(
          "summary", [](const ComparedOptions& self) { return comparison_text(self.file, self.comparison); },
          "Text that `mirfak compare` prints.")
      .def(
          "write_report",
          [](const ComparedOptions& self, const std::filesystem::path& path) {
            write_beside(self.read,
                         [&] { write_text_file(path, page_of(comparison_page_data(self.file, self.comparison))); });
          },
          "path"_a, nb::sig("def write_report(self, path: str | os.PathLike[str]) -> None"),
          "Writes a page (HTML) with the table and a plot.");
  module.def(
      "compare",
      [](const Input& input, int threads, const nb::object& progress) {
        FoundComparison found =
            wait_for(progress, [&](Reporter& reporter) { return compared_options(input, threads, reporter); });
        return std::visit([](auto& of) -> nb::object { return nb::cast(std::move(of)); }, found);
      },
      "input"_a, "threads"_a, "progress"_a.none(),
      nb::sig("def compare(input: Input, threads: int, progress: typing.Callable[[int, int], object] | None) "
              "-> ComparedOptions | Findings"),
      "Compares options for one job: see mirfak.compare().");
  module.def(
      "diff",
      [](const Input& a, const Input& b, const std::vector<std::string>& of_a, const std::vector<std::string>& of_b) {
        return wait_for(nb::none(), [&](Reporter& /*unused*/) { return difference(a, b, of_a, of_b); });
      },
      "a"_a, "b"_a, "overrides_a"_a, "overrides_b"_a, "Differences between two scenarios: see mirfak.diff().");
}

}  // namespace mirfak::python
