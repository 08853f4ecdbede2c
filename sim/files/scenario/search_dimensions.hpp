#pragma once

#include "base/values.hpp"
#include "plan/strategy_space.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// A parameter of strategies that a search varies: a key of `search.space` with its list of values, and a key of
// `strategy`. Values are held as numbers: the index in an enumeration, or 0 or 1 for a truth value.
struct SearchDimension {
  std::string_view key;
  bool is_number;  // a whole number: lists may have ranges
  int least;
  int most;
  std::string_view zero;                       // is_number: the word for 0; empty: 0 is no value, or a number
  const std::vector<std::string>& (*names)();  // of an enumeration
  double (*read)(const Node&, const SearchDimension&);
  Value (*value)(double, const SearchDimension&);
  std::vector<double> (*values)(const StrategySpace&);
  void (*assign)(StrategySpace&, const std::vector<double>&);
  double (*of)(const Strategy&);
  void (*set)(Strategy&, double);
};
std::span<const SearchDimension> search_dimensions();

// Reads a list of values, or one value: numbers, ranges such as 1..80, shares, words. Error(input) for an empty list, a
// value that is listed twice, or anything that is not a value of the dimension.
std::vector<double> read_values(const Node& node, const SearchDimension& dimension);

// Returns [all, 1..79], which reads back as the same values.
Value values_list(const std::vector<double>& values, const SearchDimension& dimension);
// Reads and writes lists of whole numbers only.
std::vector<int> read_numbers(const Node& node, int least, int most);
Value numbers_list(const std::vector<int>& numbers);

}  // namespace mirfak
