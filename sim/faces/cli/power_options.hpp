#pragma once

#include "cli/options.hpp"
#include "simulation/power_grid.hpp"

#include <string>

namespace mirfak {

// Options --power and --power-resolution.
struct PowerOptions {
  std::string file;
  std::string resolution;

  // Adds the options.
  void add_to(CommandSyntax& syntax, const PowerResolutions& resolutions);
  bool given() const { return !file.empty(); }
  // Returns the resolution in seconds. Error(input) for one that is no time or out of range, for one without --power,
  // and for a file whose ending stands for none of the formats.
  double checked_resolution_s() const;

 private:
  PowerResolutions resolutions_;
};

}  // namespace mirfak
