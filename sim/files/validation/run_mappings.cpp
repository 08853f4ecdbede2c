#include "validation/run_mappings.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <system_error>

namespace mirfak {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".map.yaml";

bool names(const RunMapping& mapping, std::string_view table) {
  return std::find(mapping.tables.begin(), mapping.tables.end(), table) != mapping.tables.end();
}

bool has_source(const RunMapping& mapping, std::string_view source) {
  return std::any_of(mapping.sources.begin(), mapping.sources.end(),
                     [&](const WordPattern& pattern) { return pattern.match(source).has_value(); });
}

}  // namespace

RunMappings RunMappings::from_folder(const fs::path& folder) {
  RunMappings out;
  const fs::path vocabulary = folder / "vocabulary.yaml";
  std::error_code unknown;
  if (!fs::exists(vocabulary, unknown)) {
    fail_input({vocabulary.string(), 0, 0}, "there is no such file; it says what the words of tables mean",
               "name the folder that holds validate/published/ with --data or in the environment as MIRFAK_DATA");
  }
  out.vocabulary_ = load_mapping(vocabulary, nullptr);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().ends_with(kSuffix)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    RunMapping mapping = out.own(file);
    const std::string name = file.filename().string();
    mapping.tables.push_back(name.substr(0, name.size() - kSuffix.size()));
    out.mappings_.push_back(std::move(mapping));
  }
  return out;
}

RunMapping RunMappings::own(const fs::path& file) const {
  return combined(load_mapping(file, &vocabulary_), vocabulary_);
}

const RunMapping& RunMappings::of(std::string_view table, std::string_view source) const {
  for (const RunMapping& mapping : mappings_) {
    if (names(mapping, table)) return mapping;
  }
  for (const RunMapping& mapping : mappings_) {
    if (has_source(mapping, source)) return mapping;
  }
  return vocabulary_;
}

std::optional<fs::path> mapping_beside(const fs::path& table) {
  fs::path file = table;
  file.replace_extension();
  file += kSuffix;
  std::error_code unknown;
  if (!fs::exists(file, unknown)) return std::nullopt;
  return file;
}

void check_tiers(std::string_view what, const std::string& tiers, const RunMapping& vocabulary) {
  std::string known;
  if (const ColumnMapping* column = vocabulary.find("tier")) {
    for (const WordRule& rule : column->rules) {
      for (const WordPattern& word : rule.words) known += word.text();
    }
  }
  const std::size_t unknown = tiers.find_first_not_of(known);
  if (tiers.empty() || unknown != std::string::npos) {
    fail_input({}, fmt::format("{}: expected letters among {}, found '{}'", what, known, excerpt(tiers)));
  }
}

}  // namespace mirfak
