#include "base/error.hpp"
#include "base/origin.hpp"
#include "base/staged_file.hpp"
#include "import/import_report.hpp"
#include "import/imported_files.hpp"
#include "python/errors.hpp"
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
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace mirfak::python {

namespace {

// An imported job, with all data that its report uses.
struct ImportedFiles {
  std::shared_ptr<const ScenarioSources> sources;
  ImportedJob job;
  ReadFiles::ListPointer read = ReadFiles::of_this_thread();
};

// Imports files. Errors quote options of training programs, whose names are kept.
std::unique_ptr<ImportedFiles> imported(const std::vector<std::string>& files, const ImportWishes& wishes,
                                        const std::string& data) {
  try {
    return wait_for(nb::none(), [&](Reporter& /*unused*/) {
      std::shared_ptr<const ScenarioSources> sources = sources_of(data);
      ImportedJob job = import_files(files, wishes, *sources);
      return std::make_unique<ImportedFiles>(ImportedFiles{std::move(sources), std::move(job)});
    });
  } catch (const Error& error) {
    raise_as_it_is(error);
  }
}

}  // namespace

void add_import(nb::module_& module) {
  nb::class_<ImportedFiles>(module, "ImportedFiles", "Result of mirfak.import_files().")
      .def(
          "to_dict", [](const ImportedFiles& self) { return to_python(import_json(self.job)); },
          nb::sig("def to_dict(self) -> dict[str, typing.Any]"), "The keys of `mirfak import --format json`.")
      .def(
          "summary", [](const ImportedFiles& self) { return import_text(self.job); },
          "Text that `mirfak import` prints.")
      .def(
          "yaml", [](const ImportedFiles& self) { return imported_yaml(self.job); },
          "The scenario, each key with a comment that says where it comes from.")
      .def(
          "write",
          [](const ImportedFiles& self, const std::filesystem::path& path) {
            write_beside(self.read, [&] { write_text_file(path, origin_comment() + imported_yaml(self.job)); });
          },
          "path"_a, nb::sig("def write(self, path: str | os.PathLike[str]) -> None"), "Writes that to a file.");
  module.def(
      "import_files",
      [](const std::vector<std::string>& files, std::vector<std::string> nodes, std::vector<std::string> environment,
         std::vector<std::string> parameters, int launch, int run, std::string format, std::vector<std::string> cluster,
         const std::string& data) {
        const ImportWishes wishes{.nodes = std::move(nodes),
                                  .environment = std::move(environment),
                                  .parameters = std::move(parameters),
                                  .launch = launch,
                                  .run = run,
                                  .format = std::move(format),
                                  .cluster = std::move(cluster)};
        return imported(files, wishes, data);
      },
      "files"_a, "nodes"_a, "environment"_a, "parameters"_a, "launch"_a, "run"_a, "format"_a, "cluster"_a, "data"_a,
      "Reads files of a training program: see mirfak.import_files().");
}

}  // namespace mirfak::python
