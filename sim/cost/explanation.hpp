#pragma once

#include <string>
#include <vector>

namespace mirfak {

// Why a cost is what it is: the formula, what this case puts into it, and where each constant comes from. Cases that
// differ in size only have the same formula and inputs.
struct Explanation {
  struct Input {
    std::string name;    // "compute efficiency"
    std::string value;   // "0.851"
    std::string source;  // "fit to 9240 measured shapes, ..."
  };
  std::string formula;  // "max(launch, bytes / (bandwidth efficiency))"
  std::string numbers;  // "12.00 MiB: memory 7.109 us"
  std::vector<Input> inputs;
  // The formula with these numbers, in seconds: what it comes to is the time that is explained. Numbers, names of
  // functions (max, min), + - * / ^ and parentheses.
  std::string evaluation = {};  // "2.4e-06 + 1.25829e+07 / 2.97145e+12"
};

// The same where the node type's correction multiplies the time.
Explanation corrected(Explanation explanation, double factor);

}  // namespace mirfak
