#pragma once

#include "base/units.hpp"

#include <string>

namespace mirfak {

// A single number of a result, and everything that is said of it: texts, tables, pages, files and Python take all of it
// from here. A new figure is an entry of a table of these and the code that computes it.
struct FigureInfo {
  std::string key;           // in JSON, CSV, HDF5, Python and assertions; its last word is its unit (unit_of_key)
  std::string label;         // "exposed communication"
  std::string meaning;       // a sentence
  std::string unknown = {};  // when the figure is not known: "no price is known for some GPU"; empty: it always is
  bool whole = false;        // counts something
  bool truth = false;        // 1: true, 0: false
};

// A figure of one result.
struct FigureValue {
  const FigureInfo* figure = nullptr;
  double number = 0;
  bool known = true;
  bool asked = true;  // false: JSON leaves it out, as nothing is said of the facility, or as it stands in `activities`

  const std::string& key() const { return figure->key; }
};

// The meaning with what stands for a value that is not known: "One optimizer step. None: nothing is known of it."
std::string meaning_with_unknown(const FigureInfo& figure, const char* nothing);

// "20.8 s", "not known", "yes".
std::string text_of(const FigureValue& value);

}  // namespace mirfak
