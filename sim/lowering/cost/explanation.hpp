#pragma once

#include <string>
#include <vector>

namespace mirfak {

// Derivation of a cost: the formula, the inputs of this case, and the source of each constant. Cases that differ only
// in size have the same formula and inputs.
struct Explanation {
  struct Input {
    std::string name;    // "compute efficiency"
    std::string value;   // "0.851"
    std::string source;  // "fit to 9240 measured shapes, ..."
  };
  std::string formula;  // "max(launch, bytes / (bandwidth efficiency))"
  std::string numbers;  // "12.00 MiB: memory 7.109 us"
  std::vector<Input> inputs;
  // The formula with these numbers, in seconds; its value is the time that is explained. It consists of numbers, names
  // of functions (max, min), + - * / ^ and parentheses.
  std::string evaluation = {};  // "2.4e-06 + 1.25829e+07 / 2.97145e+12"
};

// Returns the explanation of a time that the node type's correction multiplies by `factor`.
Explanation corrected(Explanation explanation, double factor);

}  // namespace mirfak
