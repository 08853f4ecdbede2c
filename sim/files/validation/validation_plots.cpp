#include "validation/validation_plots.hpp"

#include "base/markup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mirfak {

namespace {

// Returns the beginning of a picture.
std::string svg_head(double width, double height) {
  return fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0:.0f} {1:.0f}' width='{0:.0f}' height='{1:.0f}' "
      "font-family='sans-serif' font-size='11' fill='#222'>\n<rect width='100%' height='100%' fill='white'/>\n",
      width, height);
}

constexpr double kPlot = 560;  // side of the square that the axes span
constexpr double kScatterLeft = 70;
constexpr double kScatterTop = 20;
constexpr double kLegend = 300;  // width
constexpr double kBand = 0.10;

// Logarithmic axis of whole decades.
struct LogAxis {
  double first = 0;  // exponents of ten
  double last = 1;

  double place(double value) const { return (std::log10(value) - first) / (last - first); }
  double x(double value) const { return kScatterLeft + kPlot * place(value); }
  double y(double value) const { return kScatterTop + kPlot * (1 - place(value)); }
};

LogAxis axis_of(std::span<const ScatterSeries> series) {
  double min = std::numeric_limits<double>::infinity();
  double max = 0;
  for (const ScatterSeries& set : series) {
    for (const auto& [x, y] : set.points) {
      min = std::min({min, x, y});
      max = std::max({max, x, y});
    }
  }
  if (max <= 0) return {};
  const double first = std::floor(std::log10(min));
  return {first, std::max(std::ceil(std::log10(max)), first + 1)};
}

std::string colour(std::size_t index) {
  // Hues are a golden angle apart, so that neighbours in the legend differ.
  return fmt::format("hsl({:.0f},65%,{}%)", std::fmod(137.508 * static_cast<double>(index), 360.0),
                     index % 2 == 0 ? 40 : 55);
}

std::string label_of(double exponent) {
  const double value = std::pow(10, exponent);
  return exponent < 0 ? fmt::format("{:.{}f} s", value, static_cast<int>(-exponent)) : fmt::format("{:.0f} s", value);
}

std::string grid(const LogAxis& axis) {
  std::string out;
  for (double exponent = axis.first; exponent <= axis.last; ++exponent) {
    const double value = std::pow(10, exponent);
    const double x = axis.x(value);
    const double y = axis.y(value);
    out += fmt::format("<path d='M{:.1f} {:.1f}V{:.1f}M{:.1f} {:.1f}H{:.1f}' stroke='#ddd'/>\n", x, kScatterTop,
                       kScatterTop + kPlot, kScatterLeft, y, kScatterLeft + kPlot);
    out += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='middle'>{}</text>\n", x, kScatterTop + kPlot + 18,
                       label_of(exponent));
    out += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='end'>{}</text>\n", kScatterLeft - 6, y + 4,
                       label_of(exponent));
  }
  return out;
}

std::string diagonal(const LogAxis& axis) {
  const double min = std::pow(10, axis.first);
  const double max = std::pow(10, axis.last);
  const auto line = [&](double factor, const char* style) {
    return fmt::format("<path d='M{:.1f} {:.1f}L{:.1f} {:.1f}' clip-path='url(#plot)' {}/>\n", axis.x(min),
                       axis.y(min * factor), axis.x(max), axis.y(max * factor), style);
  };
  return line(1 + kBand, "stroke='#999' stroke-dasharray='4'") + line(1 - kBand, "stroke='#999' stroke-dasharray='4'") +
         line(1, "stroke='#444'");
}

constexpr double kSide = 320;  // side of the square that the axes span
constexpr double kLeft = 60;
constexpr double kTop = 16;
constexpr int kTicks = 5;

double x_of(double share) { return kLeft + kSide * share; }
double y_of(double share) { return kTop + kSide * (1 - share); }

std::string axes() {
  std::string out;
  for (int tick = 0; tick <= kTicks; ++tick) {
    const double share = static_cast<double>(tick) / kTicks;
    out += fmt::format("<path d='M{:.1f} {:.1f}V{:.1f}M{:.1f} {:.1f}H{:.1f}' stroke='#ddd'/>\n", x_of(share), y_of(1),
                       y_of(0), x_of(0), y_of(share), x_of(1));
    out += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='middle'>{:.0f} %</text>\n", x_of(share), y_of(0) + 18,
                       100 * share);
    out += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='end'>{:.0f} %</text>\n", x_of(0) - 6, y_of(share) + 4,
                       100 * share);
  }
  out += fmt::format("<path d='M{:.1f} {:.1f}L{:.1f} {:.1f}' stroke='#999' stroke-dasharray='4'/>\n", x_of(0), y_of(0),
                     x_of(1), y_of(1));
  out += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='middle'>measurements that a range shall hold</text>\n",
                     x_of(0.5), y_of(0) + 40);
  return out +
         fmt::format("<text transform='translate(14 {:.1f}) rotate(-90)' text-anchor='middle'>that it holds</text>\n",
                     y_of(0.5));
}

}  // namespace

std::string scatter_svg(std::span<const ScatterSeries> series) {
  const LogAxis axis = axis_of(series);
  const double width = kScatterLeft + kPlot + kLegend;
  const double height = std::max(kScatterTop + kPlot + 50, 40 + 16 * static_cast<double>(series.size()));
  std::string out = svg_head(width, height);
  out += fmt::format("<clipPath id='plot'><rect x='{}' y='{}' width='{}' height='{}'/></clipPath>\n", kScatterLeft,
                     kScatterTop, kPlot, kPlot);
  out += grid(axis) + diagonal(axis);
  for (std::size_t i = 0; i < series.size(); ++i) {
    const double y = kScatterTop + 10 + 16 * static_cast<double>(i);
    out += fmt::format("<g fill='{}' fill-opacity='0.7'><circle cx='{:.0f}' cy='{:.0f}' r='4'/>\n", colour(i),
                       kScatterLeft + kPlot + 20, y - 4);
    for (const auto& [measured, predicted] : series[i].points) {
      out += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='2.5'/>\n", axis.x(measured), axis.y(predicted));
    }
    out += fmt::format("</g><text x='{:.0f}' y='{:.0f}'>{}</text>\n", kScatterLeft + kPlot + 30, y,
                       escaped(series[i].name));
  }
  out += fmt::format("<text x='{:.0f}' y='{:.0f}' text-anchor='middle'>measured seconds of an iteration</text>\n",
                     kScatterLeft + kPlot / 2, kScatterTop + kPlot + 40);
  out +=
      fmt::format("<text transform='translate(14 {:.0f}) rotate(-90)' text-anchor='middle'>predicted</text>\n</svg>\n",
                  kScatterTop + kPlot / 2);
  return out;
}

std::string reliability_svg(std::span<const Reliability> points) {
  std::string out = svg_head(kLeft + kSide + 70, kTop + kSide + 50);
  out += axes();
  std::string line;
  for (const Reliability& point : points) {
    line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", x_of(point.level), y_of(point.coverage));
  }
  out += fmt::format("<path d='{}' fill='none' stroke='#1f5fa8' stroke-width='1.5'/>\n", line);
  for (const Reliability& point : points) {
    out += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='3.5' fill='#1f5fa8'/>\n", x_of(point.level),
                       y_of(point.coverage));
    out += fmt::format("<text x='{:.1f}' y='{:.1f}' fill='#1f5fa8'>{:.0f} % wide</text>\n", x_of(point.level) + 8,
                       y_of(point.coverage) + 12, 100 * point.mean_width);
  }
  return out + "</svg>\n";
}

}  // namespace mirfak
