#pragma once

#include "base/error.hpp"
#include "base/units.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mirfak {

// A single number of a result, with all texts about it: texts, tables, pages, files and Python take these texts from
// here. A new figure is an entry in a table of FigureInfo and the code that computes the number.
struct FigureInfo {
  std::string key;           // in JSON, CSV, HDF5, Python and assertions; its last word is its unit (unit_of_key)
  std::string label;         // "exposed communication"
  std::string meaning;       // a sentence
  std::string unknown = {};  // text if it is not known: "no price is known for some GPU"; empty: it is always known
  bool whole = false;        // true: the figure counts something
  bool truth = false;        // true: the figure is a truth value, 1 for true and 0 for false
};

// The value of a figure in one result.
struct FigureValue {
  const FigureInfo* figure = nullptr;
  double number = 0;
  bool known = true;
  bool asked = true;  // false: JSON leaves the figure out: the facility is not stated, or `activities` holds the figure

  const std::string& key() const { return figure->key; }
};

// A figure and the function that computes it from the inputs of its kind of result.
template <typename Inputs>
struct FigureOf : FigureInfo {
  std::function<double(const Inputs&)> number;
  std::function<bool(const Inputs&)> is_known = {};  // empty: the figure is always known

  FigureValue value(const Inputs& inputs) const {
    const double computed = number(inputs);
    return {this, computed, (!is_known || is_known(inputs)) && std::isfinite(computed)};
  }
};

// Makes a table of figures one by one, with the properties that only few figures have.
template <typename Figure>
class FigureList {
 public:
  template <typename Number>
  FigureList& add(std::string key, std::string label, std::string meaning, Number number) {  // NOLINT(performance-*)
    Figure& figure = figures_.emplace_back();
    figure.key = std::move(key);
    figure.label = std::move(label);
    figure.meaning = std::move(meaning);
    figure.number = std::move(number);
    return *this;
  }
  template <typename Known>
  FigureList& unknown(const char* when, Known is_known) {
    figures_.back().unknown = when;
    figures_.back().is_known = std::move(is_known);
    return *this;
  }
  // Calls each of the functions with the figure that was added last.
  template <typename... Change>
  FigureList& with(const Change&... change) {
    (change(figures_.back()), ...);
    return *this;
  }
  std::vector<Figure> take() { return std::move(figures_); }

 private:
  std::vector<Figure> figures_;
};

inline void counted(FigureInfo& figure) { figure.whole = true; }

// Returns the figure of a table that has this key. Error(internal) if no figure has the key.
template <typename Table>
const auto& figure_of(const Table& table, std::string_view key) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const FigureInfo& of) { return of.key == key; });
  if (found == table.end()) fail_internal("no figure has the key " + std::string(key));
  return *found;
}

// Returns the meaning, completed with the value that stands for an unknown figure: "One optimizer step. None: nothing
// is known of it."
std::string meaning_with_unknown(const FigureInfo& figure, const char* nothing);

}  // namespace mirfak
