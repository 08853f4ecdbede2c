#pragma once

#include "base/document.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Name with a selection of its elements, "xpu[0:8:2]", by Python's rules (negative numbers count from the end), except
// that numbers beyond the end are refused.
struct IndexSlice {
  std::string name;
  std::vector<int> indices;  // ordered as in the slice
};

// Returns the name in "xpu[0:8:2]". Error(input) at `text` if the text is no slice.
std::string slice_name(const std::string& text, const Node& where);
// Reads a slice; `count` is the number of elements that exist. Error(input) at `where`.
IndexSlice read_slice(const std::string& text, int count, const Node& where);

}  // namespace mirfak
