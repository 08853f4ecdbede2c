#include "report/reliability_svg.hpp"

#include <fmt/format.h>

namespace mirfak {

namespace {

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

std::string reliability_svg(std::span<const Reliability> points) {
  std::string out = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0:.0f} {1:.0f}' width='{0:.0f}' height='{1:.0f}' "
      "font-family='sans-serif' font-size='11' fill='#222'>\n<rect width='100%' height='100%' fill='white'/>\n",
      kLeft + kSide + 70, kTop + kSide + 50);
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
