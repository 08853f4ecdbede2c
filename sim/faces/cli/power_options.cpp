#include "cli/power_options.hpp"

#include "base/error.hpp"
#include "base/written_number.hpp"
#include "trace/power_file.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace mirfak {

namespace {

namespace po = boost::program_options;

std::optional<double> seconds_of(const std::string& text) { return written_number(text, "power_resolution_s"); }

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
  const std::optional<double> seconds = seconds_of(resolution.empty() ? usual_ : resolution);
  if (seconds && *seconds >= *seconds_of(shortest_) && *seconds <= *seconds_of(longest_)) return *seconds;
  fail_input(
      {}, fmt::format("--power-resolution: expected a time from {} to {}, found {}", shortest_, longest_, resolution),
      fmt::format("write it with its unit, such as {}", usual_));
}

}  // namespace mirfak
