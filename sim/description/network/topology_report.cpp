#include "network/topology_report.hpp"

#include "base/markup.hpp"
#include "base/section.hpp"
#include "base/units.hpp"
#include "network/symmetry.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace mirfak {

namespace {

constexpr int kMostDrawn = 40;    // vertices that are drawn one by one
constexpr int kMostClasses = 60;  // classes of alike vertices that are drawn; if there are more, types are drawn
using Json = nlohmann::ordered_json;

struct LinkRow {
  int count = 0;  // cables
  double latency_s = 0;
};
using LinkRows = std::map<std::tuple<int, std::string, double>, LinkRow>;  // by first appearance, type and rate

LinkRows link_rows(const Topology& topology) {
  std::map<std::string, int> first;
  LinkRows out;
  for (int link = 0; link < topology.links(); link += 2) {
    const std::string& type = topology.link_type(link);
    const int order = first.emplace(type, link).first->second;
    LinkRow& row = out[{order, type, topology.link_bandwidth(link)}];
    ++row.count;
    row.latency_s = std::max(row.latency_s, topology.link_latency_s(link));
  }
  return out;
}

std::vector<std::pair<std::string, int>> vertex_rows(const Topology& topology) {
  std::vector<std::pair<std::string, int>> out;
  for (int v = 0; v < topology.vertices(); ++v) {
    const std::string type = topology.vertex_type(v);
    const auto found = std::find_if(out.begin(), out.end(), [&](const auto& row) { return row.first == type; });
    if (found == out.end()) {
      out.emplace_back(type, 1);
    } else {
      ++found->second;
    }
  }
  return out;
}

std::string stated_rate(double bandwidth) { return std::isinf(bandwidth) ? "not stated" : format_rate(bandwidth); }

// Switches of one level of a tree, with links and bandwidth downwards and upwards.
struct LevelRow {
  std::string type;
  int switches = 0;
  int down_links = 0;
  int up_links = 0;
  double down = 0;
  double up = 0;
};

std::vector<LevelRow> level_rows(const Topology& topology) {
  std::map<int, LevelRow> levels;
  const auto level_of = [&](int v) {
    const TopologyVertex& vertex = topology.graph()[static_cast<std::uint32_t>(v)];
    return vertex.kind == VertexKind::leaf || vertex.kind == VertexKind::spine ? vertex.level : -1;
  };
  for (int v = topology.first_switch(); v < topology.vertices(); ++v) {
    if (level_of(v) < 0) continue;
    LevelRow& row = levels[level_of(v)];
    row.type = topology.vertex_type(v);
    ++row.switches;
  }
  for (int link = 0; link < topology.links(); ++link) {
    const int at = level_of(topology.link_source(link));
    if (at < 0) continue;
    LevelRow& row = levels[at];
    const bool up = level_of(topology.link_target(link)) > at;
    ++(up ? row.up_links : row.down_links);
    (up ? row.up : row.down) += topology.link_bandwidth(link);
  }
  std::vector<LevelRow> out;
  for (auto& [level, row] : levels) {
    if (std::isinf(row.down)) return {};
    out.push_back(row);
  }
  return out;
}

Cell rate_cell(double bandwidth) {
  return {stated_rate(bandwidth), std::isinf(bandwidth) ? Cell::Value() : Cell::Value(bandwidth)};
}

Table links_table(const Topology& topology) {
  Table table("links:type | >count:count | >each way:bytes_per_s | >latency:latency_s");
  for (const auto& [key, row] : link_rows(topology)) {
    table.add({std::get<1>(key), row.count, rate_cell(std::get<2>(key)),
               Cell(row.latency_s > 0 ? format_seconds(row.latency_s) : "-", row.latency_s)});
  }
  return table;
}

Table levels_table(const Topology& topology) {
  Table table(
      "level:level | >switches:switches | >links down:links_down | >links up:links_up | "
      ">oversubscription:oversubscription");
  for (const LevelRow& row : level_rows(topology)) {
    table.add({row.type, row.switches, row.down_links,
               Cell(row.up_links > 0 ? std::to_string(row.up_links) : "-", row.up_links),
               as_number(row.up > 0 ? std::optional(row.down / row.up) : std::nullopt)});
  }
  return table;
}

std::string diameter_text(const Diameter& diameter) {
  std::string out = fmt::format("diameter   {} links, {}", diameter.hops, format_seconds(diameter.latency_s));
  if (diameter.sources < diameter.devices) {
    out += fmt::format("; from {} of {} devices, one of each kind that is alike", diameter.sources, diameter.devices);
  }
  if (diameter.unreachable) out += "; some devices are not reached";
  return out + "\n";
}

Json rate_json(double bandwidth) { return std::isinf(bandwidth) ? Json(nullptr) : Json(bandwidth); }

// The colour of a kind of vertices in a drawing, and the name under which a style sheet may give the kind another one.
struct KindLook {
  std::string_view name, colour;
};

KindLook look_of(VertexKind kind) {
  switch (kind) {
    case VertexKind::device:
      return {"device", "#cfe8cf"};
    case VertexKind::node_switch:
    case VertexKind::host:
      return {"inside", "#e8e2c8"};
    case VertexKind::port:
      return {"port", "#eeeeee"};
    case VertexKind::leaf:
    case VertexKind::spine:
    case VertexKind::router:
      return {"switch", "#cfdcf0"};
    case VertexKind::other:
      break;
  }
  return {"other", "#ffffff"};
}

// Returns for each vertex the number of the box that it is drawn as.
std::vector<int> drawn_as(const Topology& topology) {
  std::vector<int> out(static_cast<std::size_t>(topology.vertices()));
  if (topology.vertices() <= kMostDrawn) {
    for (int v = 0; v < topology.vertices(); ++v) out[static_cast<std::size_t>(v)] = v;
    return out;
  }
  out = alike_vertices(topology);
  if (*std::max_element(out.begin(), out.end()) < kMostClasses) return out;
  std::map<std::string, int> types;
  for (int v = 0; v < topology.vertices(); ++v) {
    out[static_cast<std::size_t>(v)] =
        types.emplace(topology.vertex_type(v), static_cast<int>(types.size())).first->second;
  }
  return out;
}

}  // namespace

std::string topology_text(const TopologyReport& report) {
  const Topology& topology = *report.topology;
  std::string out = fmt::format("network    {}, {}\n", report.title, report.format);
  for (const auto& [name, value] : report.facts) {
    if (!value.empty()) out += fmt::format("  {}: {}\n", name, value);
  }
  Table vertices("vertices | >count");
  for (const auto& [type, count] : vertex_rows(topology)) vertices.add({type, count});
  const Table levels = levels_table(topology);
  out += "\n" + vertices.text() + "\n" + links_table(topology).text() + (levels.empty() ? "" : "\n" + levels.text()) +
         "\n" + diameter_text(report.diameter);
  if (report.bisection) {
    out += fmt::format("bisection  {} each way, the maximum flow between {}\n",
                       stated_rate(report.bisection->bandwidth), report.bisection->cut);
  }
  for (const TopologyReport::Between& pair : report.between) {
    out += fmt::format("between    {} each way at most, from {} ({} devices) to {} ({})\n", stated_rate(pair.bandwidth),
                       pair.from, pair.from_devices, pair.to, pair.to_devices);
  }
  for (const std::string& note : report.notes) out += "note: " + note + "\n";
  return out;
}

nlohmann::ordered_json topology_json(const TopologyReport& report) {
  const Topology& topology = *report.topology;
  Json out;
  out["title"] = report.title;
  out["format"] = report.format;
  out["devices"] = topology.devices();
  out["vertices"] = topology.vertices();
  out["links"] = topology.links() / 2;
  for (const auto& [type, count] : vertex_rows(topology)) out["vertex_types"][type] = count;
  out["link_types"] = links_table(topology).json();
  const Table levels = levels_table(topology);
  if (!levels.empty()) out["levels"] = levels.json();
  out["diameter"] = {{"hops", report.diameter.hops},
                     {"latency_s", report.diameter.latency_s},
                     {"from_devices", report.diameter.sources},
                     {"connected", !report.diameter.unreachable}};
  if (topology.devices() > 0) {
    const int last = topology.devices() - 1;
    out["first_device"] = topology.name(0);
    out["last_device"] = topology.name(last);
    out["hops_first_to_last"] = hops_between(topology, 0, last);
  }
  if (report.bisection) {
    out["bisection"] = {{"bytes_per_s", rate_json(report.bisection->bandwidth)}, {"between", report.bisection->cut}};
  }
  for (const TopologyReport::Between& pair : report.between) {
    out["between"].push_back({{"from", pair.from}, {"to", pair.to}, {"bytes_per_s", rate_json(pair.bandwidth)}});
  }
  for (const auto& [name, value] : report.facts) out["facts"][name] = value;
  out["notes"] = report.notes;
  return out;
}

std::string topology_dot(const TopologyReport& report) {
  const Topology& topology = *report.topology;
  const std::vector<int> as = drawn_as(topology);
  struct Box {
    int first = 0, last = 0, count = 0;  // first and last vertex, number of vertices
  };
  std::map<int, Box> drawn;
  for (int v = 0; v < topology.vertices(); ++v) {
    Box& box = drawn.emplace(as[static_cast<std::size_t>(v)], Box{v}).first->second;
    box.last = v;
    ++box.count;
  }
  std::string out =
      "graph network {\n  rankdir=BT;\n  fontname=\"sans-serif\";\n  node [shape=box, style=\"filled,rounded\", "
      "fontname=\"sans-serif\"];\n"
      "  edge [fontname=\"sans-serif\", fontsize=10];\n";
  out += fmt::format("  label=\"{}\";\n  labelloc=t;\n", dot_escaped(report.title + ", " + report.format));
  for (const auto& [id, of] : drawn) {
    std::string label = dot_escaped(topology.name(of.first));
    if (of.count > 1) {
      label = fmt::format("{} x {}\\n{} to {}", of.count, dot_escaped(topology.vertex_type(of.first)), label,
                          dot_escaped(topology.name(of.last)));
    }
    const KindLook look = look_of(topology.graph()[static_cast<std::uint32_t>(of.first)].kind);
    out += fmt::format("  v{} [label=\"{}\", fillcolor=\"{}\", class=\"{}\"];\n", id, label, look.colour, look.name);
  }
  std::map<std::tuple<int, int, double>, int> links;
  for (int link = 0; link < topology.links(); link += 2) {
    const int a = as[static_cast<std::size_t>(topology.link_source(link))];
    const int b = as[static_cast<std::size_t>(topology.link_target(link))];
    ++links[{a, b, topology.link_bandwidth(link)}];
  }
  for (const auto& [key, count] : links) {
    const auto& [a, b, rate] = key;
    const std::string text = std::isinf(rate) ? std::string() : " x " + stated_rate(rate);
    out += fmt::format("  v{} -- v{} [label=\"{}{}\"];\n", a, b, count, text);
  }
  return out + "}\n";
}

}  // namespace mirfak
