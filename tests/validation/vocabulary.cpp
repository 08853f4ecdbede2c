// Every word that occurs in measured tables is known: it means something, is irrelevant for a stated reason, or is
// listed as not understood. And of the tables themselves, few rows are skipped.

#include "base/text.hpp"
#include "cluster/catalog.hpp"
#include "fixture.hpp"
#include "support/source_root.hpp"
#include "validation/row_reader.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <set>

using namespace mirfak;
using namespace mirfak::test;

namespace {

const std::filesystem::path kShared = std::filesystem::path(source_root()).parent_path() / "shared";
const std::filesystem::path kTruth = kShared / "truth";

// True if some rule of the column is about the word, whatever else the row says.
bool is_listed(const ColumnMapping& column, const std::string& word) {
  std::vector<std::string> parts = {word};
  if (!column.parts.empty()) parts = parts_of_cell(word, column.parts);
  for (const std::string& part : parts) {
    bool known = false;
    for (const WordRule& rule : column.rules) {
      for (const WordPattern& pattern : rule.words) known = known || pattern.match(part).has_value();
    }
    if (!known) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("every word of the tables' vocabularies is listed") {
  for (const auto& [folder, least] : {std::pair{"truth", 500U}, std::pair{"first-contact", 50U}}) {
    const std::filesystem::path file = kShared / folder / "vocabulary.csv";
    if (!std::filesystem::exists(file)) continue;
    const CsvTable words = CsvTable::from_file(file);
    REQUIRE(words.rows() > least);
    for (std::size_t row = 0; row < words.rows(); ++row) {
      const std::string& name = words.text(row, words.require("column"));
      const std::string& word = words.text(row, words.require("words"));
      INFO(name);
      INFO(word);
      const ColumnMapping* column = mappings().vocabulary().find(name);
      REQUIRE(column != nullptr);
      CHECK(is_listed(*column, word));
    }
  }
}

TEST_CASE("every GPU has a word") {
  const Catalog catalog(folders().hardware);
  std::set<std::string> named;
  for (const WordRule& rule : mappings().vocabulary().find("gpu")->rules) {
    for (const KeyValue& set : rule.set) {
      if (set.key != "node") continue;
      const Document node = Document::from_file(folders().hardware / "nodes" / (set.value.scalar + ".yaml"));
      named.insert(node.root().find("gpu")->scalar);
    }
  }
  for (const std::string& gpu : catalog.names(ProfileKind::gpu)) {
    INFO(gpu);
    CHECK(named.contains(gpu));
  }
}

TEST_CASE("of the rows of tier A at most 5 % are skipped, and none of the published ones") {
  const std::filesystem::path published = std::filesystem::path(source_root()) / "validate" / "published";
  for (const std::filesystem::path& folder : {published, kTruth}) {
    if (!std::filesystem::exists(folder)) continue;
    int complete = 0;
    int skipped = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".csv" || entry.path().stem() == "vocabulary") continue;
      for (const ValidatedRun& run : read_runs(CsvTable::from_file(entry.path()), mappings(), folders())) {
        if (run.run.tier != "A") continue;
        ++complete;
        if (!run.skipped.empty()) ++skipped;
      }
    }
    INFO(folder.string());
    CHECK(complete > 1500);
    CHECK(skipped <= (folder == published ? 0 : complete / 20));
  }
}

TEST_CASE("no word of a column is listed twice without a condition that tells the two apart") {
  for (const ColumnMapping& column : mappings().vocabulary().columns) {
    std::set<std::string> plain;
    for (const WordRule& rule : column.rules) {
      for (const WordPattern& word : rule.words) {
        INFO(column.name);
        INFO(word.text());
        CHECK_FALSE(plain.contains(lower_case(word.text())));
        if (rule.when.empty()) plain.insert(lower_case(word.text()));
      }
    }
  }
}
