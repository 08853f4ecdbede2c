#pragma once

#include "base/section.hpp"
#include "cost/explanation.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Sources, each listed once and cited by its number.
class SourceList {
 public:
  std::string cite(const std::string& source);  // "[3]"; "" for no source
  Section section() const;                      // the numbered list

 private:
  std::vector<std::string> sources_;
};

// Formulas with their constants, each listed once and cited by a letter.
class FormulaList {
 public:
  std::string cite(const Explanation& why);    // "A"; "" for no formula
  Section section(SourceList& sources) const;  // the list, citing `sources`

 private:
  std::vector<Explanation> formulas_;
};

}  // namespace mirfak
