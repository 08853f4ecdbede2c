#include "cli/power_options.hpp"

#include "base/error.hpp"
#include "base/units.hpp"
#include "trace/power_file.hpp"

#include <fmt/format.h>

#include <optional>

namespace mirfak {

namespace {

namespace po = boost::program_options;

// Returns a time as an argument: "10ms", "1min".
std::string time_of(double seconds) {
  if (seconds >= kSecondsPerHour) return fmt::format("{:g}h", seconds / kSecondsPerHour);
  constexpr double kMinute = 60;
  if (seconds >= kMinute) return fmt::format("{:g}min", seconds / kMinute);
  return seconds >= 1 ? fmt::format("{:g}s", seconds) : fmt::format("{:g}ms", seconds * 1e3);
}

std::string limits_of(const PowerResolutions& of) { return time_of(of.shortest_s) + " to " + time_of(of.longest_s); }

}  // namespace

void PowerOptions::add_to(CommandSyntax& syntax, const PowerResolutions& resolutions) {
  resolutions_ = resolutions;
  syntax.add_file(FileRole::output, "power", file, "FILE", "write watts over time: FILE.csv, FILE.json or FILE.h5");
  syntax.options.add_options()(
      "power-resolution", po::value(&resolution)->value_name("TIME"),
      fmt::format("of --power: {}; default {}", limits_of(resolutions_), time_of(resolutions_.usual_s)).c_str());
}

double PowerOptions::checked_resolution_s() const {
  if (!given()) {
    if (resolution.empty()) return 0;
    fail_input({}, "--power-resolution needs --power", "name a file, such as --power power.csv");
  }
  power_format_of(file);
  if (resolution.empty()) return resolutions_.usual_s;
  const std::optional<double> seconds = seconds_in(resolution);
  if (seconds && resolutions_.allow(*seconds)) return *seconds;
  fail_input({},
             fmt::format("--power-resolution: expected a time from {}, found {}", limits_of(resolutions_), resolution),
             hint_on_times());
}

}  // namespace mirfak
