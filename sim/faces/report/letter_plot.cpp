#include "report/letter_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

constexpr std::size_t kPlotRows = 12;

}  // namespace

LetterPlot::LetterPlot(double left, double right, double bottom, double top, std::size_t columns)
    : left_(left), right_(right), bottom_(bottom), top_(top), rows_(kPlotRows, std::string(columns, ' ')) {}

double LetterPlot::x_of(std::size_t column) const {
  return left_ + (right_ - left_) * static_cast<double>(column) / static_cast<double>(rows_.front().size() - 1);
}

void LetterPlot::mark(double x, double y, char letter) {
  const auto columns = static_cast<long>(rows_.front().size());
  const long column = std::lround((x - left_) / (right_ - left_) * static_cast<double>(columns - 1));
  const long row = std::lround((top_ - y) / (top_ - bottom_) * static_cast<double>(kPlotRows - 1));
  if (column < 0 || column >= columns || row < 0 || row >= static_cast<long>(kPlotRows)) return;
  rows_[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)] = letter;
}

std::string LetterPlot::text(const Labels& labels, std::size_t margin) const {
  margin = std::max({margin, labels.top.size(), labels.bottom.size()});
  std::string out;
  for (std::size_t row = 0; row < kPlotRows; ++row) {
    const std::string label = row == 0 ? labels.top : row + 1 == kPlotRows ? labels.bottom : "";
    std::string line = fmt::format("  {:>{}} |{}", label, margin, rows_[row]);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  const std::size_t columns = rows_.front().size();
  return out + fmt::format("  {:>{}} +{}\n  {:>{}}  {}{:>{}}\n", "", margin, std::string(columns, '-'), "", margin,
                           labels.left, labels.right, columns - std::min(columns, labels.left.size()));
}

}  // namespace mirfak
