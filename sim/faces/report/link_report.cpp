#include "report/link_report.hpp"

#include "base/units.hpp"
#include "simulation/long_iteration.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxNamed = 8;     // links named in text
constexpr std::size_t kMaxListed = 100;  // links listed in JSON

std::string times_text(double times) { return times > 0 ? format_number(times) + " x" : "-"; }

// Returns the reason why links of a kind bind: the traffic that asks for more than a link has.
std::string reason(const LinkKindUse& kind) {
  return fmt::format("  {}: {}{} for {} times what a link has\n", kind.kind, fmt::join(kind.asking, " and "),
                     kind.asking.size() > 1 ? " together ask" : " ask", format_number(kind.most_asked));
}

Table kinds_table(const NetworkUse& use) {
  Table table("links | >number | >of each | >sent | >mean use | >peak | >short | >for up to | >asked for");
  for (const LinkKindUse& kind : use.kinds) {
    table.add({kind.kind, fmt::format("{:.0f}", kind.links), bandwidth_text(kind), in_bytes(kind.bytes),
               in_percent(kind.mean_use), in_percent(kind.peak_use), fmt::format("{:.0f}", kind.binding_links),
               kind.binds_s > 0 ? format_seconds(kind.binds_s) : "-", times_text(kind.most_asked)});
  }
  return table;
}

// Returns the communication that links slow. For several jobs, the rows are by job, with the time that each job's
// traffic adds.
Table slowed_table(const NetworkUse& use) {
  const std::vector<std::string>& owners = use.owners.names;
  Table table("job | slowed by | | >times | >at full speed | >added, on average");
  table.show("job", !owners.empty());
  for (const std::string& name : owners) table.add_column("by " + name);
  for (std::size_t owner = 0; owner < std::max<std::size_t>(1, owners.size()); ++owner) {
    for (const LinkKindUse& kind : use.kinds) {
      for (const SlowedCommunication& each : kind.slowed) {
        if (each.owner != owner) continue;
        std::vector<Cell> row = {owners.empty() ? "" : owners[owner],
                                 kind.kind,
                                 each.name,
                                 fmt::format("{:.0f}", each.times),
                                 in_seconds(each.full_speed_s / each.times),
                                 in_seconds(each.slowed_s / each.times)};
        for (const double seconds : each.by) {
          row.push_back(in_seconds(seconds > 0 ? std::optional(seconds / each.times) : std::nullopt));
        }
        table.add(std::move(row));
      }
    }
  }
  return table;
}

// Returns "reduce gradients"; for several jobs, with the name of the job.
std::string full_name(const NetworkUse& use, const SlowedCommunication& of) {
  return use.owners.names.empty() ? of.name : fmt::format("{} ({})", of.name, use.owners.names[of.owner]);
}

// Links with the same figures, as one row.
struct NamedRow {
  std::string name;
  std::size_t links = 0;  // links of the program
  double count = 0;       // links of the cluster
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
    const SlowedCommunication most = slowed_by_name(use.program, usage.held, use.owners).front();
    const std::vector<std::string> cells = {
        format_seconds(usage.binds_s), format_percent(usage.mean_use), times_text(usage.most_asked),
        fmt::format("{}, by {} each", full_name(use, most), format_seconds(most.slowed_s / most.times))};
    const auto [row, is_new] = known.try_emplace({use.kind_of_link[id], cells}, rows.size());
    if (is_new) rows.push_back({use.program.links[id].name, 0, 0, cells});
    ++rows[row->second].links;
    rows[row->second].count += use.count[id];
  }
  return rows;
}

void add_named(const NetworkUse& use, Section& out) {
  Table table("short for longest | >links | >for | >mean use | >asked for | slows most");
  const std::vector<NamedRow> rows = named_rows(use);
  for (std::size_t i = 0; i < std::min(kMaxNamed, rows.size()); ++i) {
    std::vector<Cell> cells = {rows[i].name, fmt::format("{:.0f}", rows[i].count)};
    if (rows[i].links > 1) cells[0].shown += fmt::format(" and {} like it", rows[i].links - 1);
    cells.insert(cells.end(), rows[i].cells.begin(), rows[i].cells.end());
    table.add(std::move(cells));
  }
  out.add(table);
  if (rows.size() > kMaxNamed) out.add(fmt::format("  and {} rows more\n", rows.size() - kMaxNamed));
}

Json by_owner_json(const NetworkUse& use, const std::vector<double>& numbers) {
  Json out = Json::object();
  for (std::size_t i = 0; i < numbers.size(); ++i) out[use.owners.names[i]] = numbers[i];
  return out;
}

Json one_slowed_json(const NetworkUse& use, const SlowedCommunication& of) {
  Json out{
      {"communication", of.name}, {"times", of.times}, {"full_speed_s", of.full_speed_s}, {"slowed_s", of.slowed_s}};
  if (use.owners.names.empty()) return out;
  out["job"] = use.owners.names[of.owner];
  out["by_job"] = by_owner_json(use, of.by);
  return out;
}

Json all_slowed_json(const NetworkUse& use, const std::vector<SlowedCommunication>& slowed) {
  Json out = Json::array();
  for (const SlowedCommunication& each : slowed) out.push_back(one_slowed_json(use, each));
  return out;
}

// Adds the figures that kinds of links and single links have in common.
template <class Use>
void add_use(const Use& of, Json& out) {
  out["bytes"] = of.bytes;
  out["mean_use"] = of.mean_use;
  out["peak_use"] = of.peak_use;
}

template <class Use>
void add_binding(const NetworkUse& use, const Use& of, const std::vector<SlowedCommunication>& slowed, Json& out) {
  out["binds_s"] = of.binds_s;
  out["most_asked"] = of.most_asked;
  out["asking"] = of.asking;
  out["slowed"] = all_slowed_json(use, slowed);
}

Json kind_json(const NetworkUse& use, const LinkKindUse& kind) {
  Json out = Json::object();
  out["kind"] = kind.kind;
  out["links"] = kind.links;
  out["least_bytes_per_s"] = kind.least_bytes_per_s;
  out["most_bytes_per_s"] = kind.most_bytes_per_s;
  add_use(kind, out);
  out["binding_links"] = kind.binding_links;
  add_binding(use, kind, kind.slowed, out);
  return out;
}

Json link_json(const NetworkUse& use, LinkId id) {
  const LinkUsage& usage = use.links[id];
  Json out = Json::object();
  out["name"] = use.program.links[id].name;
  out["kind"] = use.kind_of_link[id];
  out["links"] = use.count[id];
  add_use(usage, out);
  if (!usage.bytes_of.empty()) out["bytes_of"] = by_owner_json(use, usage.bytes_of);
  add_binding(use, usage, slowed_by_name(use.program, usage.held, use.owners), out);
  return out;
}

}  // namespace

std::string bandwidth_text(const LinkKindUse& kind) {
  const std::string most = format_rate(kind.most_bytes_per_s);
  if (format_rate(kind.least_bytes_per_s) == most) return most;
  return format_number(kind.least_bytes_per_s / kGB) + " to " + most;
}

std::optional<Section> links_section(const Simulation& simulation) {
  if (!links_may_bind(simulation) || is_executed_in_part(simulation)) return std::nullopt;
  const NetworkUse use = network_use(simulation);
  if (!use.binds()) return Section{"The links that bind: no link is short", {}};
  const double iteration = to_seconds(simulation.timeline.makespan);
  const double unbound = unbound_iteration_s(simulation);
  const int digits = digits_for_steps(iteration - unbound, iteration);
  Section out = {fmt::format("The links that bind: the iteration takes {}, and {} if no link were short",
                             format_seconds(iteration, digits), format_seconds(unbound, digits)),
                 {}};
  add_link_tables(use, out);
  return out;
}

void add_link_tables(const NetworkUse& use, Section& out) {
  for (Table& table : std::vector{kinds_table(use), slowed_table(use)}) {
    out.add(std::move(table));
    out.add("\n");
  }
  add_named(use, out);
  out.add("\n");
  for (const LinkKindUse& kind : use.kinds) {
    if (kind.binding_links > 0) out.add(reason(kind));
  }
}

Json slowed_json(const NetworkUse& use, std::size_t owner) {
  Json out = Json::array();
  for (const LinkKindUse& kind : use.kinds) {
    for (const SlowedCommunication& each : kind.slowed) {
      if (each.owner != owner) continue;
      Json& entry = out.emplace_back(Json{{"kind", kind.kind}});
      entry.update(one_slowed_json(use, each));
    }
  }
  return out;
}

Json links_json(const Simulation& simulation, const NetworkUse& use) {
  Json out = links_json(use);
  out["unbound_iteration_s"] = unbound_iteration_s(simulation);
  return out;
}

Json links_json(const NetworkUse& use) {
  Json out = Json::object();
  out["slowed_s"] = use.slowed_s;
  Json& kinds = out["kinds"] = Json::array();
  for (const LinkKindUse& kind : use.kinds) kinds.push_back(kind_json(use, kind));
  Json& binding = out["binding"] = Json::array();
  for (std::size_t i = 0; i < std::min(kMaxListed, use.binding.size()); ++i) {
    binding.push_back(link_json(use, use.binding[i]));
  }
  return out;
}

}  // namespace mirfak
