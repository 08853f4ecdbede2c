#include "report/source_list.hpp"

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

Section SourceList::section() const {
  Table table(">|");
  for (std::size_t i = 0; i < sources_.size(); ++i) table.add({fmt::format("[{}]", i + 1), sources_[i]});
  return {"Sources", {table}};
}

std::string FormulaList::cite(const Explanation& why) {
  if (why.formula.empty()) return {};
  auto found = std::find_if(formulas_.begin(), formulas_.end(),
                            [&](const Explanation& known) { return same_constants(known, why); });
  if (found == formulas_.end()) found = formulas_.insert(formulas_.end(), why);
  return letters(static_cast<std::size_t>(found - formulas_.begin()));
}

Section FormulaList::section(SourceList& sources) const {
  Section out = {"Formulas and their constants", {}};
  for (std::size_t i = 0; i < formulas_.size(); ++i) {
    out.add(fmt::format("  {}  {}\n", letters(i), formulas_[i].formula));
    Table table("|>|", 5);
    for (const Explanation::Input& input : formulas_[i].inputs) {
      table.add({input.name, input.value, sources.cite(input.source)});
    }
    out.add(table);
  }
  return out;
}

}  // namespace mirfak
