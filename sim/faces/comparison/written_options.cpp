#include "comparison/written_options.hpp"

#include "base/origin.hpp"
#include "base/staged_file.hpp"
#include "base/visible_text.hpp"

#include <fmt/format.h>

#include <deque>
#include <string>

namespace mirfak {

namespace {

// Returns the letters and digits of a name, with dashes for all between: "H100, on demand" is "h100-on-demand".
std::string file_words(const std::string& name) {
  std::string out;
  for (const char letter : name) {
    const bool small = (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
    if (small) out += letter;
    if (letter >= 'A' && letter <= 'Z') out += static_cast<char>(letter - 'A' + 'a');
    const bool between = !small && !(letter >= 'A' && letter <= 'Z');
    if (between && !out.empty() && out.back() != '-') out += '-';
  }
  while (out.ends_with('-')) out.pop_back();
  return out.empty() ? "option" : out;
}

}  // namespace

void write_options(const ComparisonFile& file, const std::filesystem::path& folder, Comparison& comparison) {
  std::deque<StagedFile> staged;
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    OptionResult& row = comparison.rows[i];
    if (!row.runs()) continue;
    const std::filesystem::path path = folder / fmt::format("{:02}-{}.yaml", i + 1, file_words(row.option));
    staged.emplace_back(path);
    staged.back().write(fmt::format("{}# The best strategy of the option {} of {}.\n{}", origin_comment(),
                                    visible_name(row.option), visible_name(file.name),
                                    found_scenario(*row.scenario, row.best()->found.job)));
    row.file = path.string();
  }
  commit_all(staged);
}

}  // namespace mirfak
