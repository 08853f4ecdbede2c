#include "base/written_number.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <span>
#include <vector>

namespace mirfak {

namespace {

// A unit as it is written, in the unit of the key.
struct WrittenUnit {
  std::string_view name;
  double size = 1;
};

// The units of keys whose names end with a word.
struct UnitsOfKeys {
  std::string_view ending;
  std::vector<WrittenUnit> units;
};

constexpr double kMinute = 60, kHour = 3600, kDay = 86400;
constexpr double kKi = 1024, kMi = kKi * kKi, kGi = kMi * kKi, kTi = kGi * kKi;

std::vector<WrittenUnit> byte_rates() {
  return {{"B/s", 1},        {"kB/s", 1e3},     {"MB/s", 1e6},      {"GB/s", 1e9},    {"TB/s", 1e12},
          {"Mb/s", 1e6 / 8}, {"Gb/s", 1e9 / 8}, {"Tb/s", 1e12 / 8}, {"Gbps", 1e9 / 8}};
}

// The first entry whose ending a key has counts.
std::span<const UnitsOfKeys> units_of_keys() {
  static const std::vector<UnitsOfKeys> kUnits = {
      {"bytes_per_s", byte_rates()},
      {"bandwidth", byte_rates()},
      {"bytes",
       {{"B", 1},
        {"kB", 1e3},
        {"KB", 1e3},
        {"MB", 1e6},
        {"GB", 1e9},
        {"TB", 1e12},
        {"PB", 1e15},
        {"KiB", kKi},
        {"MiB", kMi},
        {"GiB", kGi},
        {"TiB", kTi}}},
      {"per_s", {}},
      {"s",
       {{"ns", 1e-9},
        {"us", 1e-6},
        {"ms", 1e-3},
        {"s", 1},
        {"sec", 1},
        {"min", kMinute},
        {"h", kHour},
        {"hours", kHour},
        {"d", kDay},
        {"days", kDay}}},
      {"hours", {{"min", 1 / kMinute}, {"h", 1}, {"hours", 1}, {"d", 24}, {"days", 24}}},
      {"days", {{"h", 1.0 / 24}, {"hours", 1.0 / 24}, {"d", 1}, {"days", 1}, {"weeks", 7}}},
      {"w", {{"W", 1}, {"kW", 1e3}, {"MW", 1e6}, {"GW", 1e9}}},
      {"mhz", {{"MHz", 1}, {"GHz", 1e3}}},
      {"hz", {{"Hz", 1}, {"MHz", 1e6}, {"GHz", 1e9}}},
      {"usd", {{"k", 1e3}, {"M", 1e6}}},
      {"price", {}},
      {"sequence_length", {{"k", kKi}, {"K", kKi}, {"M", kMi}}},
      {"max_sequence", {{"k", kKi}, {"K", kKi}, {"M", kMi}}},
  };
  return kUnits;
}

// Units of keys that count things.
std::span<const WrittenUnit> counts() {
  static const std::vector<WrittenUnit> kCounts = {{"k", 1e3}, {"K", 1e3}, {"M", 1e6},
                                                   {"B", 1e9}, {"G", 1e9}, {"T", 1e12}};
  return kCounts;
}

// Returns the last name of a path, without the number of an item.
std::string_view name_at_end(std::string_view path) {
  path = path.substr(0, path.find_last_not_of("0123456789[]") + 1);
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

bool ends_with_word(std::string_view name, std::string_view word) {
  return name == word || (name.ends_with(word) && name[name.size() - word.size() - 1] == '_');
}

std::span<const WrittenUnit> units_of(std::string_view key) {
  const std::string_view name = name_at_end(key);
  for (const UnitsOfKeys& each : units_of_keys()) {
    if (ends_with_word(name, each.ending)) return each.units;
  }
  return counts();
}

bool is_money(std::string_view key) {
  const std::string_view name = name_at_end(key);
  return name == "price" || name.find("usd") != std::string_view::npos;
}

}  // namespace

std::optional<double> written_number(std::string_view text, std::string_view key) {
  const bool dollars = text.starts_with('$');
  if (dollars && !is_money(key)) return std::nullopt;
  if (dollars) text.remove_prefix(1);
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number)) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(stop - text.data()));
  if (unit.empty()) return dollars ? std::optional(number) : std::nullopt;
  if (unit.front() == ' ') unit.remove_prefix(1);
  for (const WrittenUnit& each : units_of(key)) {
    if (each.name == unit) return number * each.size;
  }
  return std::nullopt;
}

std::string units_of_written_number(std::string_view key) {
  std::string out;
  for (const WrittenUnit& each : units_of(key)) out += fmt::format("{}{}", out.empty() ? "" : ", ", each.name);
  return out;
}

}  // namespace mirfak
