#include "comparison/difference_parts.hpp"

#include "base/json_parts.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownKernels = 12;
constexpr double kBarWidth = 20;

// Returns a bar whose letters say the sign of a difference.
std::string signed_bar(double difference, double largest) {
  return largest > 0 ? bar_text(std::abs(difference) / largest, kBarWidth, difference < 0 ? '-' : '+') : "";
}

double largest_of(const std::vector<ComparedFigure>& figures) {
  double largest = 0;
  for (const ComparedFigure& figure : figures) largest = std::max(largest, std::abs(figure.difference()));
  return largest;
}

std::string kernel_text(const std::optional<KernelSeconds>& kernel) {
  if (!kernel) return "-";
  return fmt::format("{} x {}", format_count(kernel->times), format_seconds(kernel->seconds / kernel->times));
}

}  // namespace

std::string shown_seconds(double value) { return format_seconds(value); }
std::string shown_change(double seconds) { return with_plus_or_minus(seconds, shown_seconds); }

std::string relative_text(double a, double b) { return a > 0 ? format_signed_percent(b / a - 1) : ""; }

Table table_of_both(const char* last) { return Table(fmt::format("| >A | >B | >B - A | {}", last)); }

std::string keys_text(const std::vector<KeyDifference>& keys) {
  if (keys.empty()) return "\nBoth scenarios say the same.\n";
  Table table("| A | B");
  for (const KeyDifference& key : keys) {
    table.add({key.key, key.a.value_or("(none)"), key.b.value_or("(none)")});
  }
  return "\nWhat is set otherwise\n" + table.text();
}

std::string activities_text(const std::vector<ComparedFigure>& activities, double of_a, double of_b) {
  Table table = table_of_both("");
  const double largest = largest_of(activities);
  for (const ComparedFigure& figure : activities) {
    if (*figure.a <= 0 && *figure.b <= 0) continue;
    table.add({figure.title, format_seconds(*figure.a), format_seconds(*figure.b), shown_change(figure.difference()),
               signed_bar(figure.difference(), largest)});
  }
  table.add({"iteration", format_seconds(of_a), format_seconds(of_b), shown_change(of_b - of_a)});
  return "\nWhere the time of a GPU goes: the differences add up to that of the iteration\n" + table.text();
}

std::string kernels_text(const std::string& title, const std::vector<ComparedKernel>& kernels) {
  if (kernels.empty() || kernels.front().difference() == 0) return {};
  Table table = table_of_both("");
  double rest = 0;
  std::size_t left_out = 0;
  const double largest = std::abs(kernels.front().difference());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const ComparedKernel& kernel = kernels[i];
    if (i >= kShownKernels || (kernel.a && kernel.b && format_seconds(kernel.difference()) == "0 s")) {
      rest += kernel.difference();
      ++left_out;
      continue;
    }
    const std::string only = !kernel.b ? "  only A" : !kernel.a ? "  only B" : "";
    table.add({kernel.name, kernel_text(kernel.a), kernel_text(kernel.b), shown_change(kernel.difference()),
               signed_bar(kernel.difference(), largest) + only});
  }
  if (left_out > 0) table.add({fmt::format("{} others", left_out), "", "", shown_change(rest)});
  return "\n" + title + "\n" + table.text();
}

std::string memory_parts_text(const std::vector<ComparedFigure>& memory) {
  if (largest_of(memory) < 1) return {};
  Table table = table_of_both("");
  double of_a = 0;
  double of_b = 0;
  for (const ComparedFigure& part : memory) {
    of_a += *part.a;
    of_b += *part.b;
    if (*part.a <= 0 && *part.b <= 0) continue;
    table.add({part.title, format_bytes(*part.a), format_bytes(*part.b),
               with_plus_or_minus(part.difference(), format_bytes)});
  }
  table.add({"together", format_bytes(of_a), format_bytes(of_b), with_plus_or_minus(of_b - of_a, format_bytes)});
  return "\nPeak memory of the fullest GPU\n" + table.text();
}

Json kernel_json(const std::optional<KernelSeconds>& kernel) {
  if (!kernel) return {};
  return {{"times", kernel->times}, {"seconds", kernel->seconds}};
}

nlohmann::ordered_json keys_json(const std::vector<KeyDifference>& keys) {
  Json out = Json::array();
  for (const KeyDifference& key : keys) {
    out.push_back({{"key", key.key}, {"a", json_or_null(key.a)}, {"b", json_or_null(key.b)}});
  }
  return out;
}

nlohmann::ordered_json figures_json(const std::vector<ComparedFigure>& figures) {
  Json out = Json::object();
  for (const ComparedFigure& figure : figures) {
    out[figure.key] = {{"a", json_or_null(figure.a)},
                       {"b", json_or_null(figure.b)},
                       {"difference", figure.a && figure.b ? Json(figure.difference()) : Json()}};
  }
  return out;
}

Table difference_rows() { return Table("-:section | -:name | -:a | -:b | -:difference"); }

void add_row(Table& rows, std::string section, const std::string& name, const std::optional<double>& a,
             const std::optional<double>& b) {
  const std::optional<double> more = a && b ? std::optional(*b - *a) : std::nullopt;
  rows.add({std::move(section), name, as_number(a), as_number(b), as_number(more)});
}

void add_figure_rows(Table& rows, const char* section, const std::vector<ComparedFigure>& figures) {
  for (const ComparedFigure& figure : figures) add_row(rows, section, figure.key, figure.a, figure.b);
}

}  // namespace mirfak
