// Measured runs that fitted into memory or did not, against their predictions: studies of Megatron Bridge in which
// one option changes (../shared/effects); AMP's and Sailor's runs are in mixed_clusters.cpp, and published runs, which
// all ran, in accuracy.cpp. Bounds are what the model reaches today.

#include "support/source_root.hpp"
#include "validation/validate_runs.hpp"

#include <doctest/doctest.h>

#include <filesystem>

using namespace mirfak;

TEST_CASE("Megatron Bridge's studies: all runs that ran are predicted to fit, three of five that did not are not") {
  const std::filesystem::path source = source_root();
  const std::filesystem::path table = source.parent_path() / "shared" / "effects" / "measured-effects.csv";
  if (!std::filesystem::exists(table)) {
    MESSAGE("skipped: " << table.string() << " is not here");
    return;
  }
  const DataFolders folders{source / "models", source / "hw_profiles"};
  const RunMappings mappings = RunMappings::from_folder(source / "validate" / "published");
  const SourceScore outcomes = score(validate_runs(CsvTable::from_file(table), mappings, folders), "effects", "B");
  CHECK(outcomes.skipped == 0);
  CHECK(outcomes.errors.count == 0);  // no time is compared
  CHECK(outcomes.ran == 20);
  CHECK(outcomes.too_large == 0);
  CHECK(outcomes.out_of_memory == 5);
  CHECK(outcomes.wrongly_fitting <= 2);
  CHECK(outcomes.right_outcomes() >= 23);
}
