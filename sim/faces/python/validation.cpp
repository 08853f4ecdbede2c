#include "base/csv.hpp"
#include "python/functions.hpp"
#include "python/inputs.hpp"
#include "python/json.hpp"
#include "python/waiting.hpp"
#include "validation/run_mappings.hpp"
#include "validation/validate_runs.hpp"
#include "validation/validation_report.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace mirfak::python {

namespace {

nlohmann::ordered_json validated(const std::vector<std::filesystem::path>& files, const std::string& tiers,
                                 const std::filesystem::path& own_mapping, const std::filesystem::path& data,
                                 Reporter& reporter) {
  const DataFolders folders = data_folders(data);
  const RunMappings mappings = RunMappings::from_folder(mapping_folder(data));
  check_tiers("tiers", tiers, mappings.vocabulary());
  std::optional<RunMapping> own;
  if (!own_mapping.empty()) own = mappings.own(own_mapping);
  std::vector<ValidationTable> tables;
  for (const std::filesystem::path& file : files) {
    tables.push_back(
        {file.stem().string(), validate_runs(CsvTable::from_file(file), mappings, folders, own ? &*own : nullptr)});
    reporter.report(tables.size(), files.size());
  }
  return validation_json(tables, tiers);
}

}  // namespace

void add_validation(nb::module_& module) {
  module.def(
      "validate",
      [](const std::vector<std::filesystem::path>& files, const std::string& tiers,
         const std::filesystem::path& own_mapping, const std::filesystem::path& data, const nb::object& progress) {
        return to_python(wait_for(
            progress, [&](Reporter& reporter) { return validated(files, tiers, own_mapping, data, reporter); }));
      },
      "files"_a, "tiers"_a, "own_mapping"_a, "data"_a, "progress"_a.none(),
      nb::sig("def validate(files: collections.abc.Sequence[str | os.PathLike[str]], tiers: str, own_mapping: str | "
              "os.PathLike[str], data: str | os.PathLike[str], progress: typing.Any) -> dict[str, typing.Any]"),
      "Compares predictions with measured runs: see mirfak.validate().");
}

}  // namespace mirfak::python
