#include "report/source_list.hpp"

#include "report/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

// Returns the letters of an index: A, B, ..., Z, AA, AB, ...
std::string letters(std::size_t index) {
  std::string out;
  for (++index; index > 0; index = (index - 1) / 26) {
    out.insert(out.begin(), static_cast<char>('A' + static_cast<int>((index - 1) % 26)));
  }
  return out;
}

bool same_input(const Explanation::Input& a, const Explanation::Input& b) {
  return a.name == b.name && a.value == b.value && a.source == b.source;
}

bool same_constants(const Explanation& a, const Explanation& b) {
  return a.formula == b.formula && a.inputs.size() == b.inputs.size() &&
         std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), same_input);
}

}  // namespace

std::string SourceList::cite(const std::string& source) {
  if (source.empty()) return {};
  auto found = std::find(sources_.begin(), sources_.end(), source);
  if (found == sources_.end()) found = sources_.insert(sources_.end(), source);
  return fmt::format("[{}]", found - sources_.begin() + 1);
}

std::string SourceList::text() const {
  TextTable table("rl");
  for (std::size_t i = 0; i < sources_.size(); ++i) table.add_row({fmt::format("[{}]", i + 1), sources_[i]});
  return "\nSources\n" + table.text();
}

std::string FormulaList::cite(const Explanation& why) {
  if (why.formula.empty()) return {};
  auto found = std::find_if(formulas_.begin(), formulas_.end(),
                            [&](const Explanation& known) { return same_constants(known, why); });
  if (found == formulas_.end()) found = formulas_.insert(formulas_.end(), why);
  return letters(static_cast<std::size_t>(found - formulas_.begin()));
}

std::string FormulaList::text(SourceList& sources) const {
  std::string out = "\nFormulas and their constants\n";
  for (std::size_t i = 0; i < formulas_.size(); ++i) {
    out += fmt::format("  {}  {}\n", letters(i), formulas_[i].formula);
    TextTable table("lrl", 5);
    for (const Explanation::Input& input : formulas_[i].inputs) {
      table.add_row({input.name, input.value, sources.cite(input.source)});
    }
    out += table.text();
  }
  return out;
}

}  // namespace mirfak
