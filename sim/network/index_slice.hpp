#pragma once

#include "base/document.hpp"

#include <string>
#include <vector>

namespace mirfak {

// "xpu[0:8:2]": a name and which of its elements, by Python's rules (negative numbers count from the end), but that
// numbers beyond the end are refused.
struct IndexSlice {
  std::string name;
  std::vector<int> indices;  // in the order of the slice
};

// The name of "xpu[0:8:2]". Error(input) at `text` where it is none.
std::string slice_name(const std::string& text, const Node& where);
// `count`: of the elements that there are. Error(input) at `where`.
IndexSlice read_slice(const std::string& text, int count, const Node& where);

}  // namespace mirfak
