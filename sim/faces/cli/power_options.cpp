#include "cli/power_options.hpp"

#include "base/error.hpp"
#include "trace/power_file.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace mirfak {

namespace {

namespace po = boost::program_options;

}  // namespace

void PowerOptions::add_to(CommandSyntax& syntax, std::string shortest, std::string longest, std::string usual) {
  shortest_ = std::move(shortest);
  longest_ = std::move(longest);
  usual_ = std::move(usual);
  syntax.add_file(FileRole::output, "power", file, "FILE", "write watts over time: FILE.csv, FILE.json or FILE.h5");
  syntax.options.add_options()("power-resolution", po::value(&resolution)->value_name("TIME"),
                               fmt::format("of --power: {} to {}; default {}", shortest_, longest_, usual_).c_str());
}

double PowerOptions::checked_resolution_s() const {
  if (!given()) {
    if (resolution.empty()) return 0;
    fail_input({}, "--power-resolution needs --power", "name a file, such as --power power.csv");
  }
  power_format_of(file);
  const std::optional<double> seconds = seconds_in(resolution.empty() ? usual_ : resolution);
  if (seconds && *seconds >= *seconds_in(shortest_) && *seconds <= *seconds_in(longest_)) return *seconds;
  fail_input(
      {}, fmt::format("--power-resolution: expected a time from {} to {}, found {}", shortest_, longest_, resolution),
      hint_on_times());
}

}  // namespace mirfak
