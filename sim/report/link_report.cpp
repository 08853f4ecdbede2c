#include "report/link_report.hpp"

#include "base/units.hpp"
#include "report/text_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxNamed = 8;     // links that text names
constexpr std::size_t kMaxListed = 100;  // ... and JSON

std::string times_text(double times) { return times > 0 ? format_number(times) + " x" : "-"; }

// Why a kind of links binds: what is asked of it.
std::string reason(const LinkKindUse& kind) {
  return fmt::format("  {}: {}{} for {} times what a link has\n", kind.kind, fmt::join(kind.asking, " and "),
                     kind.asking.size() > 1 ? " together ask" : " ask", format_number(kind.most_asked));
}

std::string kinds_table(const NetworkUse& use) {
  TextTable table("lrrrrrrrr");
  table.add_row({"links", "number", "of each", "sent", "mean use", "peak", "short", "for up to", "asked for"});
  for (const LinkKindUse& kind : use.kinds) {
    table.add_row({kind.kind, fmt::format("{:.0f}", kind.links), bandwidth_text(kind), format_bytes(kind.bytes),
                   format_percent(kind.mean_use), format_percent(kind.peak_use),
                   fmt::format("{:.0f}", kind.binding_links), kind.binds_s > 0 ? format_seconds(kind.binds_s) : "-",
                   times_text(kind.most_asked)});
  }
  return table.text();
}

std::string slowed_table(const NetworkUse& use) {
  TextTable table("llrrr");
  table.add_row({"slowed by", "", "times", "at full speed", "added, on average"});
  for (const LinkKindUse& kind : use.kinds) {
    for (const SlowedCommunication& each : kind.slowed) {
      table.add_row({kind.kind, each.name, fmt::format("{:.0f}", each.times),
                     format_seconds(each.full_speed_s / each.times), format_seconds(each.slowed_s / each.times)});
    }
  }
  return table.text();
}

// Links of the same figures are one row.
struct NamedRow {
  std::string name;
  std::size_t links = 0;  // of the program
  double count = 0;       // of the cluster
  std::vector<std::string> cells;
};

std::vector<NamedRow> named_rows(const NetworkUse& use) {
  std::vector<LinkId> longest = use.binding;
  std::stable_sort(longest.begin(), longest.end(),
                   [&](LinkId a, LinkId b) { return use.links[a].binds_s > use.links[b].binds_s; });
  std::vector<NamedRow> rows;
  std::map<std::pair<std::string, std::vector<std::string>>, std::size_t> known;
  for (const LinkId id : longest) {
    const LinkUsage& usage = use.links[id];
    const SlowedCommunication most = slowed_by_name(use.program, usage.held).front();
    const std::vector<std::string> cells = {
        format_seconds(usage.binds_s), format_percent(usage.mean_use), times_text(usage.most_asked),
        fmt::format("{}, by {} each", most.name, format_seconds(most.slowed_s / most.times))};
    const auto [row, is_new] = known.try_emplace({use.kind_of_link[id], cells}, rows.size());
    if (is_new) rows.push_back({use.program.links[id].name, 0, 0, cells});
    ++rows[row->second].links;
    rows[row->second].count += use.count[id];
  }
  return rows;
}

std::string named_table(const NetworkUse& use) {
  TextTable table("lrrrrl");
  table.add_row({"short for longest", "links", "for", "mean use", "asked for", "slows most"});
  const std::vector<NamedRow> rows = named_rows(use);
  for (std::size_t i = 0; i < std::min(kMaxNamed, rows.size()); ++i) {
    std::vector<std::string> cells = {rows[i].name, fmt::format("{:.0f}", rows[i].count)};
    if (rows[i].links > 1) cells[0] += fmt::format(" and {} like it", rows[i].links - 1);
    cells.insert(cells.end(), rows[i].cells.begin(), rows[i].cells.end());
    table.add_row(std::move(cells));
  }
  std::string out = table.text();
  if (rows.size() > kMaxNamed) out += fmt::format("  and {} rows more\n", rows.size() - kMaxNamed);
  return out;
}

Json slowed_json(const std::vector<SlowedCommunication>& slowed) {
  Json out = Json::array();
  for (const SlowedCommunication& each : slowed) {
    out.push_back({{"communication", each.name},
                   {"times", each.times},
                   {"full_speed_s", each.full_speed_s},
                   {"slowed_s", each.slowed_s}});
  }
  return out;
}

// What kinds of links and single ones have alike.
template <class Use>
void add_use(const Use& of, Json& out) {
  out["bytes"] = of.bytes;
  out["mean_use"] = of.mean_use;
  out["peak_use"] = of.peak_use;
}

template <class Use>
void add_binding(const Use& of, const std::vector<SlowedCommunication>& slowed, Json& out) {
  out["binds_s"] = of.binds_s;
  out["most_asked"] = of.most_asked;
  out["asking"] = of.asking;
  out["slowed"] = slowed_json(slowed);
}

Json kind_json(const LinkKindUse& kind) {
  Json out = Json::object();
  out["kind"] = kind.kind;
  out["links"] = kind.links;
  out["least_bytes_per_s"] = kind.least_bytes_per_s;
  out["most_bytes_per_s"] = kind.most_bytes_per_s;
  add_use(kind, out);
  out["binding_links"] = kind.binding_links;
  add_binding(kind, kind.slowed, out);
  return out;
}

Json link_json(const NetworkUse& use, LinkId id) {
  const LinkUsage& usage = use.links[id];
  Json out = Json::object();
  out["name"] = use.program.links[id].name;
  out["kind"] = use.kind_of_link[id];
  out["links"] = use.count[id];
  add_use(usage, out);
  add_binding(usage, slowed_by_name(use.program, usage.held), out);
  return out;
}

}  // namespace

std::string bandwidth_text(const LinkKindUse& kind) {
  const std::string least = format_number(kind.least_bytes_per_s / kGB);
  const std::string most = format_number(kind.most_bytes_per_s / kGB);
  return (least == most ? most : least + " to " + most) + " GB/s";
}

std::string links_text(const Simulation& simulation) {
  if (!links_may_bind(simulation)) return {};
  const NetworkUse use = network_use(simulation);
  if (!use.binds()) return "\nThe links that bind: no link is short\n";
  const double iteration = to_seconds(simulation.timeline.makespan);
  const int digits = digits_for_steps(iteration - use.unbound_iteration_s, iteration);
  std::string out = fmt::format("\nThe links that bind: the iteration takes {}, and {} if no link were short\n",
                                format_seconds(iteration, digits), format_seconds(use.unbound_iteration_s, digits));
  out += kinds_table(use) + "\n" + slowed_table(use) + "\n" + named_table(use) + "\n";
  for (const LinkKindUse& kind : use.kinds) {
    if (kind.binding_links > 0) out += reason(kind);
  }
  return out;
}

Json links_json(const NetworkUse& use) {
  Json out = Json::object();
  out["slowed_s"] = use.slowed_s;
  out["unbound_iteration_s"] = use.unbound_iteration_s;
  Json& kinds = out["kinds"] = Json::array();
  for (const LinkKindUse& kind : use.kinds) kinds.push_back(kind_json(kind));
  Json& binding = out["binding"] = Json::array();
  for (std::size_t i = 0; i < std::min(kMaxListed, use.binding.size()); ++i) {
    binding.push_back(link_json(use, use.binding[i]));
  }
  return out;
}

}  // namespace mirfak
