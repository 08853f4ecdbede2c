#include "report/links_svg.hpp"

#include "base/markup.hpp"
#include "base/origin.hpp"
#include "base/units.hpp"
#include "report/link_report.hpp"
#include "report/network_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

constexpr double kPage = 1180;
constexpr double kMapLeft = 24;
constexpr double kMapWidth = 790;
constexpr double kFiguresLeft = 850;
constexpr double kMapTop = 84;
constexpr double kBoxHeight = 40;
constexpr double kLine = 15;  // line height of text
constexpr double kArc = 120;  // room for links inside a row
constexpr double kStripLeft = 378;
constexpr double kStripWidth = 778;
constexpr double kStripHeight = 34;
constexpr double kStripPitch = 50;
constexpr std::size_t kMaxStrips = 6;
constexpr std::size_t kMaxPoints = 1500;  // points of a strip that are drawn one by one
constexpr int kShades = 6;

constexpr const char* kShadesStyle = R"(.h { font-size: 17px; font-weight: bold; }
.k { font-weight: bold; }
.w { fill: none; }
.u0 { stroke: #c9d6e4; } .u1 { stroke: #9dbbdb; } .u2 { stroke: #6d9dd0; }
.u3 { stroke: #417fbf; } .u4 { stroke: #2060a5; } .u5 { stroke: #0b4080; }
.f0 { fill: #c9d6e4; } .f1 { fill: #9dbbdb; } .f2 { fill: #6d9dd0; }
.f3 { fill: #417fbf; } .f4 { fill: #2060a5; } .f5 { fill: #0b4080; }
@media (prefers-color-scheme: dark) {
  .u0 { stroke: #3a4a5c; } .u1 { stroke: #3f6187; } .u2 { stroke: #4a7eb5; }
  .u3 { stroke: #64a0dd; } .u4 { stroke: #93c3f3; } .u5 { stroke: #c9e4ff; }
  .f0 { fill: #3a4a5c; } .f1 { fill: #3f6187; } .f2 { fill: #4a7eb5; }
  .f3 { fill: #64a0dd; } .f4 { fill: #93c3f3; } .f5 { fill: #c9e4ff; }
}
)";

using Box = NetworkMap::Box;
using Wire = NetworkMap::Wire;

std::string text_at(double x, double y, const std::string& text, const char* classes = "",
                    const char* anchor = "start") {
  return fmt::format("<text x='{:.1f}' y='{:.1f}' class='{}' text-anchor='{}'>{}</text>\n", x, y, classes, anchor,
                     escaped(text));
}

double round_scale(double largest) {
  for (const double top : {0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75}) {
    if (largest <= top) return top;
  }
  return 1;
}

std::string short_text(double links, double binds_s) {
  return fmt::format("{:.0f} short, for up to {}", links, format_seconds(binds_s));
}

class LinksPicture {
 public:
  LinksPicture(const LinksTitle& title, const NetworkUse& use) : title_(title), use_(use), map_(network_map(use)) {
    double largest = 0;
    for (const Wire& wire : map_.wires) largest = std::max(largest, wire.mean_use);
    std::stable_sort(map_.wires.begin(), map_.wires.end(),
                     [](const Wire& a, const Wire& b) { return a.mean_use < b.mean_use; });
    scale_ = round_scale(largest);
    place_rows();
  }

  std::string draw() {
    std::string body = heading();
    std::string marks;
    for (const Wire& wire : map_.wires) {  // the most used wires are drawn last, above the others
      const Line line = draw_wire(wire);
      body += line.drawn;
      marks += line.mark;
    }
    body += marks;
    for (const Box& box : map_.boxes) body += draw_box(box);
    for (int gap = 0; gap < map_.rows; ++gap) body += gap_figures(gap);
    body += legend();
    body += strips();
    return fmt::format(
               "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0:.0f} {1:.0f}' width='{0:.0f}' height='{1:.0f}' "
               "role='img' aria-labelledby='title desc'>\n<title id='title'>{2}</title>\n<desc id='desc'>{3}</desc>\n"
               "<metadata>{4}</metadata>\n",
               kPage, bottom_, escaped(title_.title), escaped(description()), escaped(origin_text())) +
           fmt::format("<style>\n{}{}</style>\n", kPictureStyle, kShadesStyle) +
           fmt::format("<rect width='{:.0f}' height='{:.0f}' class='paper'/>\n", kPage, bottom_) + body + "</svg>\n";
  }

 private:
  const Box& box(int id) const { return map_.boxes[static_cast<std::size_t>(id)]; }
  int lower_row(const Wire& wire) const { return std::min(box(wire.from).row, box(wire.to).row); }
  double row_y(int row) const { return row_y_[static_cast<std::size_t>(row)]; }
  double box_width(const Box& of) const { return kMapWidth / map_.boxes_in(of.row) - 12; }
  double box_left(const Box& of) const { return kMapLeft + of.place * kMapWidth / map_.boxes_in(of.row) + 6; }
  double centre(const Box& of) const { return box_left(of) + box_width(of) / 2; }
  // Returns the end of a line at the box `of`: its centre if `of` is the narrower box and its centre lies above or
  // below `other`, else the point of `of` that is nearest to the centre of `other`. Lines are upright if possible.
  double end_at(const Box& of, const Box& other) const {
    const double least = box_left(of) + 16;
    const double most = box_left(of) + box_width(of) - 16;
    const double own = centre(of);
    const double x = centre(other);
    const bool above = own > box_left(other) && own < box_left(other) + box_width(other);
    if (above && (box_width(of) <= box_width(other))) return own;
    return least < most ? std::clamp(x, least, most) : own;
  }
  double width_of(double use) const { return 1.5 + 7 * std::min(1.0, use / scale_); }
  int shade_of(double use) const { return std::min(kShades - 1, static_cast<int>(use / scale_ * kShades)); }

  std::vector<const LinkKindUse*> kinds_in(int gap) const;
  bool has_arcs(int row) const;
  void place_rows();
  std::string heading() const;
  std::string description() const;
  std::string draw_box(const Box& of) const;
  struct Line {
    std::string drawn;
    std::string mark;  // drawn above all lines
  };
  Line draw_wire(const Wire& wire) const;
  Line arc(const Wire& wire) const;
  Line line(const Wire& wire, const std::string& path, double mark_x, double mark_y) const;
  std::string wire_text(const Wire& wire) const;
  bool labelled(const Wire& wire) const;
  std::string gap_figures(int gap) const;
  std::string legend();
  std::string strips();
  std::string strip(const LinkUsage& usage, double top) const;
  std::string curve(const LinkUsage& usage, double top) const;
  std::vector<double> means_of_hairs(const LinkUsage& usage) const;
  std::string time_axis(double top, double end) const;
  std::vector<LinkId> shown_links() const;
  double time_x(Picoseconds time) const {
    return kStripLeft + kStripWidth * static_cast<double>(time - use_.from) / static_cast<double>(use_.to - use_.from);
  }

  const LinksTitle& title_;
  const NetworkUse& use_;
  NetworkMap map_;
  std::vector<double> row_y_;  // tops of the boxes by row
  double scale_ = 1;           // mean use at which links are widest
  double bottom_ = 0;
};

// Returns the kinds of links from a row to the next row, or inside a row.
std::vector<const LinkKindUse*> LinksPicture::kinds_in(int gap) const {
  std::vector<const LinkKindUse*> out;
  for (const LinkKindUse& kind : use_.kinds) {
    const bool here = std::any_of(map_.wires.begin(), map_.wires.end(),
                                  [&](const Wire& wire) { return wire.kind == kind.kind && lower_row(wire) == gap; });
    if (here) out.push_back(&kind);
  }
  return out;
}

bool LinksPicture::has_arcs(int row) const {
  return std::any_of(map_.wires.begin(), map_.wires.end(),
                     [&](const Wire& wire) { return box(wire.from).row == row && box(wire.to).row == row; });
}

// Places the rows from the top. Each row is below the figures next to the links above it.
void LinksPicture::place_rows() {
  row_y_.assign(static_cast<std::size_t>(map_.rows), 0);
  double y = kMapTop;
  for (int row = map_.rows - 1; row >= 0; --row) {
    const double figures = kLine * 3.4 * static_cast<double>(kinds_in(row).size()) + 14;
    const bool top = row == map_.rows - 1;
    if (!top) y += kBoxHeight;
    y += top ? (has_arcs(row) ? std::max(kArc, figures) : 0) : std::max(has_arcs(row) ? 60 + kArc : 60.0, figures);
    row_y_[static_cast<std::size_t>(row)] = y;
  }
  bottom_ = y + kBoxHeight;
}

std::string LinksPicture::heading() const {
  return text_at(kMapLeft + 6, 34, title_.title, "h") + text_at(kMapLeft + 6, 56, title_.effect, "s");
}

std::string LinksPicture::description() const {
  std::string out = fmt::format("Use of the links of a network {}, from devices upwards.", title_.period);
  for (const LinkKindUse& kind : use_.kinds) {
    out += fmt::format(" {}: {:.0f} links of {}, mean use {}, peak {}", kind.kind, kind.links, bandwidth_text(kind),
                       format_percent(kind.mean_use), format_percent(kind.peak_use));
    out += kind.binding_links > 0 ? "; " + short_text(kind.binding_links, kind.binds_s) + "." : ".";
  }
  return out;
}

std::string LinksPicture::draw_box(const Box& of) const {
  const double y = row_y(of.row);
  const std::string names = of.count > 1 ? of.first + " to " + of.last : of.first;
  const std::string label = of.count > 1 ? fmt::format("{} x {}", of.count, of.what) : of.first;
  const auto room = static_cast<std::size_t>(box_width(of) / 5.6);
  std::string out = fmt::format(
      "<g><title>{}</title><rect class='box' x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.0f}' rx='5'/>\n",
      escaped(names), box_left(of), y, box_width(of), kBoxHeight);
  const std::string short_label = of.count > 1 ? std::to_string(of.count) : of.first.substr(of.first.rfind(' ') + 1);
  const bool both = of.count > 1 && names.size() <= room;
  out += text_at(centre(of), y + (both ? 17 : 24), label.size() <= room ? label : short_label, "", "middle");
  if (both) out += text_at(centre(of), y + 32, names, "s", "middle");
  return out + "</g>\n";
}

std::string LinksPicture::wire_text(const Wire& wire) const {
  const Box& from = box(wire.from);
  const Box& to = box(wire.to);
  std::string out =
      fmt::format("{}, from {} ({}) to {} ({}): {:.0f} links, mean use {}, peak {}", wire.kind, from.first, from.count,
                  to.first, to.count, wire.links, format_percent(wire.mean_use), format_percent(wire.peak_use));
  if (wire.binding_links > 0) out += "; " + short_text(wire.binding_links, wire.binds_s);
  return out;
}

LinksPicture::Line LinksPicture::line(const Wire& wire, const std::string& path, double mark_x, double mark_y) const {
  const double width = width_of(wire.mean_use);
  const std::string title = fmt::format("<g><title>{}</title>\n", escaped(wire_text(wire)));
  Line out;
  out.drawn = title;
  if (wire.binding_links > 0) {
    out.drawn += fmt::format("<path class='halo' d='{}' stroke-width='{:.1f}'/>\n", path, width + 3);
    out.mark =
        title + fmt::format("<path class='mark' d='M{:.1f} {:.1f}l6 6l-6 6l-6 -6z'/>\n</g>\n", mark_x, mark_y - 6);
  }
  out.drawn +=
      fmt::format("<path class='w u{}' d='{}' stroke-width='{:.1f}'/>\n</g>\n", shade_of(wire.mean_use), path, width);
  return out;
}

// Draws links inside a row, above its boxes: a loop at one box, or an arc to another box.
LinksPicture::Line LinksPicture::arc(const Wire& wire) const {
  const Box& from = box(wire.from);
  const Box& to = box(wire.to);
  const double y = row_y(from.row);
  const double x = centre(from);
  const auto path = [y](double begin, double from_x, double high, double to_x, double end) {
    return fmt::format("M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", begin, y, from_x, high, to_x, high,
                       end, y);
  };
  if (&from == &to) {
    const double wide = std::min(22.0, box_width(from) / 2 - 4);
    return line(wire, path(x - wide, x - wide, y - 26, x + wide, x + wide), x, y - 19.5);
  }
  const double end = centre(to);
  const double shift = end > x ? 5 : -5;
  const double high = y - 44 - 110 * std::min(1.0, std::abs(end - x) / kMapWidth) - shift;
  return line(wire, path(x + shift, x + shift, high, end + shift, end + shift), (x + end) / 2 + shift,
              y - 0.75 * (y - high));
}

// True if there is room for a line's figure: the lower box is wide, and no other line in the same direction starts or
// ends there.
bool LinksPicture::labelled(const Wire& wire) const {
  const bool up = box(wire.to).row > box(wire.from).row;
  const int lower = up ? wire.from : wire.to;
  constexpr double room = 118;
  if (box_width(box(lower)) < room - 12) return false;
  return std::count_if(map_.wires.begin(), map_.wires.end(), [&](const Wire& other) {
           const bool goes_up = box(other.to).row > box(other.from).row;
           return goes_up == up && box(other.from).row != box(other.to).row && (up ? other.from : other.to) == lower;
         }) == 1;
}

LinksPicture::Line LinksPicture::draw_wire(const Wire& wire) const {
  const Box& from = box(wire.from);
  const Box& to = box(wire.to);
  if (from.row == to.row) return arc(wire);
  const bool up = to.row > from.row;
  const Box& lower = up ? from : to;
  const Box& upper = up ? to : from;
  const double low_y = row_y(lower.row);
  const double high_y = row_y(upper.row) + kBoxHeight;
  const double slant = (end_at(upper, lower) - end_at(lower, upper)) / (low_y - high_y);
  const double shift = (up ? -9 : 9) * std::min(2.0, std::hypot(1, slant));
  const double low_x = end_at(lower, upper) + shift;
  const double high_x = end_at(upper, lower) + shift;
  Line out = line(wire, fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", low_x, low_y, high_x, high_y), (low_x + high_x) / 2,
                  (low_y + high_y) / 2);
  if (low_x != high_x || !labelled(wire)) return out;
  const std::string label = (up ? "\u2191 " : "\u2193 ") + format_percent(wire.mean_use);
  out.mark += text_at(low_x + (up ? -9 : 9), low_y - 9, label, "s", up ? "end" : "start");
  return out;
}

// Draws the figures next to the links between a row and the next row.
std::string LinksPicture::gap_figures(int gap) const {
  const std::vector<const LinkKindUse*> kinds = kinds_in(gap);
  const double upper = gap + 1 < map_.rows ? row_y(gap + 1) + kBoxHeight : kMapTop;
  double y = (upper + row_y(gap)) / 2 - kLine * 3.4 * static_cast<double>(kinds.size()) / 2 + kLine;
  std::string out;
  for (const LinkKindUse* kind : kinds) {
    out += text_at(kFiguresLeft, y, kind->kind, "k");
    out += text_at(kFiguresLeft, y + kLine,
                   fmt::format("{:.0f} of {}: mean {}, peak {}", kind->links, bandwidth_text(*kind),
                               format_percent(kind->mean_use), format_percent(kind->peak_use)));
    out += kind->binding_links > 0
               ? text_at(kFiguresLeft, y + 2 * kLine, short_text(kind->binding_links, kind->binds_s), "r")
               : text_at(kFiguresLeft, y + 2 * kLine, "never short", "s");
    y += 3.4 * kLine;
  }
  return out;
}

std::string LinksPicture::legend() {
  const double y = bottom_ + 34;
  constexpr double step = 34;
  std::string out = text_at(kMapLeft + 6, y + 4, "Mean use " + title_.period, "s");
  for (int shade = 0; shade < kShades; ++shade) {
    const double width = width_of(scale_ * (shade + 0.5) / kShades);
    out += fmt::format("<rect class='f{}' x='{:.1f}' y='{:.1f}' width='{:.0f}' height='{:.1f}'/>\n", shade,
                       190 + shade * step, y - width / 2, step, width);
  }
  out += text_at(190, y + 20, "0 %", "s", "middle");
  out += text_at(190 + kShades * step, y + 20, format_percent(scale_), "s", "middle");
  out += fmt::format(
      "<path class='halo' d='M440 {0:.1f}h40' stroke-width='5'/>\n<path class='w u2' d='M440 {0:.1f}h40' "
      "stroke-width='2'/>\n<path class='mark' d='M460 {1:.1f}l6 6l-6 6l-6 -6z'/>\n",
      y, y - 6);
  out += text_at(490, y + 4, "short at some time: what crosses is held back", "s");
  out += text_at(kFiguresLeft - 60, y + 4, "Of a pair of lines the left one leads upwards.", "s");
  bottom_ = y + 36;
  return out;
}

// Returns the links to show: for each kind that binds, in turn, the links that add most; then the most used link of
// each other kind.
std::vector<LinkId> LinksPicture::shown_links() const {
  std::vector<LinkId> out;
  const auto shown = [&](LinkId id) { return std::find(out.begin(), out.end(), id) != out.end(); };
  for (bool more = true; more && out.size() < kMaxStrips;) {
    more = false;
    std::vector<std::string> kinds;  // kinds shown in this turn
    for (const LinkId id : use_.binding) {
      const std::string& kind = use_.kind_of_link[id];
      if (out.size() == kMaxStrips || shown(id) || std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) continue;
      kinds.push_back(kind);
      out.push_back(id);
      more = true;
    }
    if (out.size() >= 2 * kinds.size() && !kinds.empty() && out.size() >= 4) break;
  }
  std::vector<LinkId> rest;
  for (LinkId id = 0; id < use_.links.size(); ++id) rest.push_back(id);
  std::stable_sort(rest.begin(), rest.end(),
                   [&](LinkId a, LinkId b) { return use_.links[a].mean_use > use_.links[b].mean_use; });
  for (const LinkId id : rest) {
    const bool known = std::any_of(out.begin(), out.end(),
                                   [&](LinkId other) { return use_.kind_of_link[other] == use_.kind_of_link[id]; });
    if (out.size() < kMaxStrips && !known && use_.links[id].bytes > 0) out.push_back(id);
  }
  return out;
}

// Draws use over time as steps, none too thin to be seen. If there are too many steps to be told apart, draws the mean
// over each hair (unit of width) of the picture.
std::string LinksPicture::curve(const LinkUsage& usage, double top) const {
  const double base = top + kStripHeight;
  std::string path;
  const auto column = [&](double from, double to, double use) {
    if (use <= 0) return;
    path += fmt::format("M{:.2f} {:.1f}V{:.2f}H{:.2f}V{:.1f}Z", from, base, base - kStripHeight * std::min(1.0, use),
                        to, base);
  };
  if (usage.points.size() <= kMaxPoints) {
    constexpr double thinnest = 0.8;
    for (std::size_t i = 0; i + 1 < usage.points.size(); ++i) {
      const double from = time_x(usage.points[i].time);
      column(from, std::max(time_x(usage.points[i + 1].time), from + thinnest), usage.points[i].use);
    }
  } else {
    const std::vector<double> means = means_of_hairs(usage);
    for (std::size_t hair = 0; hair < means.size(); ++hair) {
      const double from = kStripLeft + static_cast<double>(hair);
      column(from, from + 1, means[hair]);
    }
  }
  return fmt::format("<path class='area' d='{}'/>\n", path);
}

std::vector<double> LinksPicture::means_of_hairs(const LinkUsage& usage) const {
  std::vector<double> out(static_cast<std::size_t>(kStripWidth), 0);
  for (std::size_t i = 0; i + 1 < usage.points.size(); ++i) {
    const double from = time_x(usage.points[i].time) - kStripLeft;
    const double to = time_x(usage.points[i + 1].time) - kStripLeft;
    for (auto hair = static_cast<std::size_t>(from); hair < out.size() && static_cast<double>(hair) < to; ++hair) {
      const double left = static_cast<double>(hair);
      out[hair] += usage.points[i].use * (std::min(to, left + 1) - std::max(from, left));
    }
  }
  return out;
}

std::string LinksPicture::strip(const LinkUsage& usage, double top) const {
  const std::string& name = use_.program.links[usage.link].name;
  constexpr std::size_t room = 58;
  std::string out = fmt::format("<g><title>{}</title>\n", escaped(name));
  out += text_at(kMapLeft + 6, top + 12, name.size() <= room ? name : name.substr(0, room - 3) + "...");
  std::string figures = fmt::format("mean {}, peak {}", format_percent(usage.mean_use), format_percent(usage.peak_use));
  if (use_.count[usage.link] > 1) figures = fmt::format("{:.0f} links alike, ", use_.count[usage.link]) + figures;
  out += text_at(kMapLeft + 6, top + 12 + kLine, figures, "s");
  out += fmt::format("<path class='grid' d='M{0:.1f} {1:.1f}H{2:.1f}M{0:.1f} {3:.1f}H{2:.1f}'/>\n", kStripLeft, top,
                     kStripLeft + kStripWidth, top + kStripHeight);
  out += text_at(kStripLeft - 6, top + 5, "100 %", "s", "end") +
         text_at(kStripLeft - 6, top + kStripHeight, "0", "s", "end");
  out += curve(usage, top);
  std::string bars;
  double drawn = 0;
  for (const auto& [from, to] : usage.binding) {
    const double left = std::max(time_x(from), drawn);
    const double right = std::max(time_x(to), time_x(from) + 0.6);
    if (right <= left) continue;
    drawn = right;
    bars += fmt::format("M{:.2f} {:.1f}H{:.2f}", left, top + kStripHeight + 3.5, right);
  }
  if (!bars.empty()) out += fmt::format("<path class='halo' stroke-width='4' d='{}'/>\n", bars);
  return out + "</g>\n";
}

std::string LinksPicture::time_axis(double top, double end) const {
  constexpr int ticks = 5;
  const double begin = to_seconds(use_.from);
  const double seconds = to_seconds(use_.to - use_.from);
  const int digits = digits_for_steps(seconds / ticks, begin + seconds);
  std::string out;
  for (int i = 0; i <= ticks; ++i) {
    const double x = kStripLeft + kStripWidth * i / ticks;
    out += fmt::format("<path class='grid' d='M{0:.1f} {1:.1f}V{2:.1f}'/>\n", x, top, end);
    const double time = begin + seconds * i / ticks;
    out += text_at(x, end + 15, time == 0 ? "0" : format_seconds(time, digits), "s",
                   i == 0       ? "start"
                   : i == ticks ? "end"
                                : "middle");
  }
  return out;
}

std::string LinksPicture::strips() {
  const std::vector<LinkId> links = shown_links();
  double y = bottom_ + 20;
  std::string out = text_at(kMapLeft + 6, y, "Use over time", "k");
  out +=
      text_at(kStripLeft, y, links.empty() ? "nothing crosses the network" : "red below: while the link is short", "s");
  y += 14;
  std::string drawn;
  const double top = y;
  for (const LinkId id : links) {
    drawn += strip(use_.links[id], y);
    y += kStripPitch;
  }
  bottom_ = y + 26;
  return links.empty() ? out : out + time_axis(top, y - 4) + drawn;
}

}  // namespace

std::string links_svg(const LinksTitle& title, const NetworkUse& use) { return LinksPicture(title, use).draw(); }

std::string links_effect_text(const Simulation& simulation, const NetworkUse& use) {
  const double time = to_seconds(simulation.timeline.makespan);
  if (!use.binds()) return fmt::format("An iteration takes {}. No link is short.", format_seconds(time));
  const double unbound = unbound_iteration_s(simulation);
  const int digits = digits_for_steps(time - unbound, time);
  return fmt::format("An iteration takes {}, and {} if no link were short.", format_seconds(time, digits),
                     format_seconds(unbound, digits));
}

}  // namespace mirfak
