#pragma once

#include "base/section.hpp"
#include "base/units.hpp"
#include "comparison/result_difference.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// Parts that all differences have in text and JSON: of B against A.

// Returns a value with its sign: "+1.20 s", "-300 ms", "0 s".
template <typename Format>
std::string with_plus_or_minus(double value, const Format& format) {
  std::string text = format(std::abs(value));
  if (text.starts_with("0 ") || text == "0" || text == "$0") return text;
  return (value < 0 ? "-" : "+") + text;
}
std::string shown_seconds(double value);
std::string shown_change(double seconds);
// Returns the difference of B from A in per cent of A; "" if A is 0.
std::string relative_text(double a, double b);

// Returns a table of both runs, with a last column for bars or shares.
Table table_of_both(const char* last);
// Adds a row of two figures, with their difference.
template <typename Format>
void add_pair(Table& table, const std::string& title, double a, double b, const Format& format) {
  table.add({title, format(a), format(b), with_plus_or_minus(b - a, format), relative_text(a, b)});
}

std::string keys_text(const std::vector<KeyDifference>& keys);
// `of_a`, `of_b`: seconds of the iterations, to which the activities of each add up.
std::string activities_text(const std::vector<ComparedFigure>& activities, double of_a, double of_b);
// Returns a table of the largest differences; "" if there are none.
std::string kernels_text(const std::string& title, const std::vector<ComparedKernel>& kernels);
std::string memory_parts_text(const std::vector<ComparedFigure>& memory);

nlohmann::ordered_json kernel_json(const std::optional<KernelSeconds>& kernel);  // null if there is none
nlohmann::ordered_json keys_json(const std::vector<KeyDifference>& keys);
nlohmann::ordered_json figures_json(const std::vector<ComparedFigure>& figures);

// Rows section,name,a,b,difference of CSV.
Table difference_rows();
void add_row(Table& rows, std::string section, const std::string& name, const std::optional<double>& a,
             const std::optional<double>& b);
void add_figure_rows(Table& rows, const char* section, const std::vector<ComparedFigure>& figures);
// Adds a row of seconds for each ComparedKernel of a list.
template <typename Kernels>
void add_kernel_rows(Table& rows, const char* section, const Kernels& kernels) {
  const auto seconds = [](const std::optional<KernelSeconds>& of) {
    return of ? std::optional(of->seconds) : std::nullopt;
  };
  for (const ComparedKernel& kernel : kernels)
    add_row(rows, section, kernel.name, seconds(kernel.a), seconds(kernel.b));
}

}  // namespace mirfak
