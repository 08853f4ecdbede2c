#pragma once

#include "base/csv.hpp"
#include "validation/run_mapping.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// The vocabulary that all tables share (vocabulary.yaml of a folder), and the mapping files next to it (NAME.map.yaml),
// each of which adds rules for some tables or sources only.
class RunMappings {
 public:
  // Error(input) for a folder without a vocabulary, and as of load_mapping.
  static RunMappings from_folder(const std::filesystem::path& folder);

  const RunMapping& vocabulary() const { return vocabulary_; }
  const std::vector<RunMapping>& all() const { return mappings_; }  // each followed by the vocabulary

  // Returns the mapping of a user's own file, followed by the vocabulary.
  RunMapping own(const std::filesystem::path& file) const;

  // Returns the mapping of a row, by the name of its table, else by its source; the vocabulary if there is none.
  const RunMapping& of(std::string_view table, std::string_view source) const;

 private:
  RunMapping vocabulary_;
  std::vector<RunMapping> mappings_;
};

// Checks letters of tiers. Error(input) for letters that no row has by this vocabulary: they would silently leave out
// all rows. `what`: the letters' origin, for the error.
void check_tiers(std::string_view what, const std::string& tiers, const RunMapping& vocabulary);

// Returns NAME.map.yaml next to NAME.csv, if there is one.
std::optional<std::filesystem::path> mapping_beside(const std::filesystem::path& table);

}  // namespace mirfak
