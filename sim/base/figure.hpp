#pragma once

#include "base/error.hpp"
#include "base/units.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>

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

// The value of a figure in one result.
struct FigureValue {
  const FigureInfo* figure = nullptr;
  double number = 0;
  bool known = true;
  bool asked = true;  // false: JSON leaves it out, as nothing is said of the facility, or as it stands in `activities`

  const std::string& key() const { return figure->key; }
};

// A figure and its computation from the inputs that its kind of result gives.
template <typename Inputs>
struct FigureOf : FigureInfo {
  std::function<double(const Inputs&)> number;
  std::function<bool(const Inputs&)> is_known = {};  // empty: always

  FigureValue value(const Inputs& inputs) const {
    const double computed = number(inputs);
    return {this, computed, (!is_known || is_known(inputs)) && std::isfinite(computed)};
  }
};

// The figure of a table that has this key. Error(internal) for a key that none has.
template <typename Table>
const auto& figure_of(const Table& table, std::string_view key) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const FigureInfo& of) { return of.key == key; });
  if (found == table.end()) fail_internal("no figure has the key " + std::string(key));
  return *found;
}

// The meaning with what stands for a value that is not known: "One optimizer step. None: nothing is known of it."
std::string meaning_with_unknown(const FigureInfo& figure, const char* nothing);

}  // namespace mirfak
