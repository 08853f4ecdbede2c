#include "program/shared_links.hpp"

#include "base/cancellation.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

// Each link's largest load is bounded: the ranks of a stage do only one thing at a time on one kind of stream. Links
// that have room for that load are dropped. Of the other links, those that all activities load alike (equal columns of
// the table) become one, so that a fat tree's hundreds of uplinks with equal traffic are one constraint: the solver's
// variables are colours, not links.

namespace mirfak {

namespace {

// Load of a link by one group of a job.
struct Load {
  std::uint32_t wire = 0;
  std::uint32_t entry = 0;  // position in the order of Program::link_use_begin
  double bytes_per_s = 0;
  std::size_t job = 0;
  std::uint32_t row = 0;
  std::uint32_t place = 0;  // index of the group within its row
};

// Links between switches are the same for all jobs; each job has its own ports.
std::vector<Load> loads_of(std::span<const NetworkLoads> jobs) {
  std::vector<Load> out;
  std::uint32_t first_entry = 0;
  std::uint32_t first_port = 0;
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    for (const NetworkLoads::Cell& cell : jobs[job].cells) {
      const std::uint32_t wire = cell.wire >= NetworkLoads::kFabric ? cell.wire : first_port + cell.wire;
      const std::uint32_t place = cell.entry - jobs[job].rows[cell.row].first_entry;
      out.push_back({wire, first_entry + cell.entry, cell.bytes_per_s, job, cell.row, place});
    }
    first_entry += jobs[job].entries;
    first_port += static_cast<std::uint32_t>(jobs[job].ports.size());
  }
  std::sort(out.begin(), out.end(),
            [](const Load& a, const Load& b) { return std::pair(a.wire, a.entry) < std::pair(b.wire, b.entry); });
  return out;
}

Link link_of(std::span<const NetworkLoads> jobs, std::uint32_t wire) {
  std::uint32_t first_rank = 0;
  for (const NetworkLoads& job : jobs) {
    if (wire >= NetworkLoads::kFabric) {
      if (job.routes == nullptr) continue;
      const std::uint32_t index = wire - NetworkLoads::kFabric;
      const RoutedLink& link = job.routes->links()[index];
      return {link.name, link.bytes_per_s, {{LinkKind::fabric, index}}};
    }
    if (wire < job.ports.size()) {
      Link port = job.ports[wire];
      for (LinkPlace& place : port.stands_for) place.index += first_rank;
      return port;
    }
    wire -= static_cast<std::uint32_t>(job.ports.size());
    first_rank += job.ranks;
  }
  fail_internal("a load on a link that there is not");
}

// The largest load of a link, whatever runs at the same time: for each slot, the largest sum over the groups of one
// grouping, each with its largest load.
double bound(std::span<const NetworkLoads> jobs, std::span<const Load> loads) {
  using Slot = std::pair<std::size_t, NetworkLoads::Slot>;  // index of a job, and one of its slots
  std::map<std::pair<Slot, GroupingId>, std::map<std::uint32_t, double>> most;
  for (const Load& load : loads) {
    const NetworkLoads::Row& row = jobs[load.job].rows[load.row];
    double& of_group = most[{{load.job, row.slot}, row.grouping}][load.place];
    of_group = std::max(of_group, load.bytes_per_s);
  }
  std::map<Slot, double> of_slots;
  for (const auto& [at, groups] : most) {
    double sum = 0;
    for (const auto& [group, bytes_per_s] : groups) sum += bytes_per_s;
    double& largest = of_slots[at.first];
    largest = std::max(largest, sum);
  }
  double all = 0;
  for (const auto& [slot, bytes_per_s] : of_slots) all += bytes_per_s;
  return all;
}

// The links that may be short. One link stands for all links that all activities load alike.
class ScarceLinks {
 public:
  explicit ScarceLinks(Program& program) : program_(program) {}

  // Returns the link's number; nullopt: the link is like one that exists already.
  std::optional<LinkId> add(Link link, std::span<const Load> loads) {
    Column column = {{0, link.bytes_per_s}};
    for (const Load& load : loads) column.emplace_back(load.entry, load.bytes_per_s);
    const auto [known, is_new] = known_.try_emplace(std::move(column), static_cast<LinkId>(program_.links.size()));
    if (is_new) {
      program_.links.push_back(std::move(link));
      return known->second;
    }
    program_.links[known->second].stands_for.push_back(link.stands_for.front());
    return std::nullopt;
  }

 private:
  using Column = std::vector<std::pair<std::uint32_t, double>>;
  Program& program_;
  std::map<Column, LinkId> known_;
};

// Writes the loads of every entry on the remaining links.
void write_uses(Program& program, std::uint32_t entries, std::vector<std::pair<std::uint32_t, LinkUse>> uses) {
  std::stable_sort(uses.begin(), uses.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<LinkUse> of_entry;
  auto next = uses.begin();
  CancellationSteps steps;
  for (std::uint32_t entry = 0; entry < entries; ++entry) {
    steps.step();
    for (of_entry.clear(); next != uses.end() && next->first == entry; ++next) of_entry.push_back(next->second);
    program.add_traffic(of_entry);
  }
}

// Sets the entries of the classes of all jobs, one job after the other.
void write_entries(Program& program, std::span<const NetworkLoads> jobs) {
  ClassId id = 0;
  std::uint32_t first = 0;
  for (const NetworkLoads& job : jobs) {
    for (const std::uint32_t entry : job.entry_of_class) {
      program.classes[id++].traffic = entry == kNoTraffic ? kNoTraffic : first + entry;
    }
    first += job.entries;
  }
}

}  // namespace

std::vector<NetworkLoads::Wire> share_links(Program& program, std::span<const NetworkLoads> jobs, bool all) {
  std::vector<NetworkLoads::Wire> may_be_short;
  const std::vector<Load> loads = loads_of(jobs);
  ScarceLinks links(program);
  std::vector<std::pair<std::uint32_t, LinkUse>> uses;
  CancellationSteps steps;
  for (auto first = loads.begin(); first != loads.end();) {
    const auto last =
        std::find_if(first, loads.end(), [wire = first->wire](const Load& load) { return load.wire != wire; });
    const std::span<const Load> column(first, last);
    steps.step(column.size());
    Link link = link_of(jobs, first->wire);
    constexpr double rounding = 1 + 1e-10;
    const bool scarce = bound(jobs, column) > rounding * link.bytes_per_s;
    if (scarce && first->wire >= NetworkLoads::kFabric) may_be_short.push_back(first->wire);
    if (all || scarce) {
      if (const std::optional<LinkId> id = links.add(std::move(link), column)) {
        for (const Load& load : column) uses.push_back({load.entry, {*id, load.bytes_per_s}});
      }
    }
    first = last;
  }
  if (uses.empty()) return may_be_short;
  std::uint32_t entries = 0;
  for (const NetworkLoads& job : jobs) entries += job.entries;
  write_uses(program, entries, std::move(uses));
  write_entries(program, jobs);
  return may_be_short;
}

void remove_links(Program& program) {
  for (TaskClass& described : program.classes) described.traffic = kNoTraffic;
  program.links.clear();
  program.link_uses.clear();
  program.link_use_begin = {0};
}

}  // namespace mirfak
