#pragma once

#include "cli/options.hpp"

#include <string>

namespace mirfak {

// Options --power and --power-resolution.
struct PowerOptions {
  std::string file;
  std::string resolution;

  // Adds the options. `shortest_s`, `longest_s`, `usual`: what the resolution may be, and what it is if left out.
  void add_to(CommandSyntax& syntax, std::string shortest, std::string longest, std::string usual);
  bool given() const { return !file.empty(); }
  // Returns the resolution in seconds. Error(input) for one that is no time or out of range, for one without --power,
  // and for a file whose ending stands for none of the formats.
  double checked_resolution_s() const;

 private:
  std::string shortest_;
  std::string longest_;
  std::string usual_;
};

}  // namespace mirfak
