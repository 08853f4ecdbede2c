#include "program/shared_links.hpp"

#include "program/real_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

// Three steps. First every class's groups say what they would take of every link there is: a rank's share of the ports
// out and in, and the links between switches. Then each link's largest load is bounded: of what ranks of a stage do on
// one kind of stream, one thing runs at a time. Links that have room for that are dropped. Last, links that everything
// loads alike (columns of the table that are equal) become one, so that a fat tree's hundreds of uplinks that carry the
// same are one constraint: the solver's variables are colours, not links.

namespace mirfak {

namespace {

using Wire = std::uint32_t;  // a link before any is dropped

// Ranks of a stage do one thing at a time on a kind of stream; of transfers, on the way to one other stage.
struct Slot {
  int stage = 0;
  GroupingId way = kAlone;  // of a transfer, the grouping with the stage that receives
  StreamKind stream{};

  friend auto operator<=>(const Slot&, const Slot&) = default;
};

// Classes of one row take the same.
struct Row {
  Slot slot;
  GroupingId grouping = kAlone;
  FlowPattern flows{};
  double bytes_per_s = 0;
  std::uint32_t first_entry = 0;  // the same for equal rows

  friend bool operator<(const Row& a, const Row& b) {
    return std::tie(a.slot, a.grouping, a.flows, a.bytes_per_s) < std::tie(b.slot, b.grouping, b.flows, b.bytes_per_s);
  }
};

// What one group of a row takes of a link.
struct Cell {
  Wire wire = 0;
  std::uint32_t row = 0;
  std::uint32_t entry = 0;  // in the order of Program::link_use_begin
  double bytes_per_s = 0;
};

StreamKind stream_of(GroupKind kind) {
  switch (kind) {
    case GroupKind::tensor:
      return StreamKind::tensor;
    case GroupKind::context:
      return StreamKind::context;
    case GroupKind::expert:
    case GroupKind::team:
      return StreamKind::expert;
    default:
      return StreamKind::data;
  }
}

// The table: links by rows of classes.
class Loads {
 public:
  Loads(const Program& program, const RankGroups& groups, const Job& job, std::span<const StagePlan> plans,
        const SharedNetwork& network, bool folded)
      : program_(program),
        job_(job),
        plans_(plans),
        network_(network),
        real_(program, groups, job, plans, folded),
        first_fabric_(network.ports ? static_cast<Wire>(2 * program.ranks.size()) : 0) {
    if (network.routes != nullptr) fabric_.assign(network.routes->links().size(), 0);
    for (ClassId id = 0; id < program.classes.size(); ++id) add_class(id);
  }

  const std::vector<Row>& rows() const { return rows_; }
  std::vector<Cell>& cells() { return cells_; }
  std::uint32_t entries() const { return entries_; }
  // Of a class, its first entry; kNoTraffic: none.
  std::uint32_t first_entry(ClassId id) const { return entry_of_class_[id]; }
  Link link_of(Wire wire) const;

 private:
  void add_class(ClassId id);
  void add_ports(const TaskClass& described, GroupId group);
  void add_fabric(const TaskClass& described, GroupId group);
  void send_transfer(const TaskClass& described, const RealGroups::Members& members);
  void send_collective(const TaskClass& described, const RealGroups::Members& members);
  void load(std::uint32_t link, double bytes_per_s);
  void add(Wire wire, double bytes_per_s) {
    cells_.push_back({wire, static_cast<std::uint32_t>(rows_.size() - 1), entries_, bytes_per_s});
  }

  const Program& program_;
  const Job& job_;
  std::span<const StagePlan> plans_;
  SharedNetwork network_;
  RealGroups real_;
  Wire first_fabric_;
  std::vector<double> fabric_;       // of the group that is being looked at
  std::vector<std::uint32_t> used_;  // links of the fabric with a load
  std::vector<Row> rows_;
  std::map<Row, std::uint32_t> known_;  // first entries
  std::vector<std::uint32_t> entry_of_class_;
  std::vector<Cell> cells_;
  std::uint32_t entries_ = 0;
};

int sending_stage(const TaskClass& described) {
  const auto* transfer = std::get_if<TransferWork>(&described.work);
  return transfer == nullptr ? described.stage : transfer->from;
}

void Loads::add_class(ClassId id) {
  const TaskClass& described = program_.classes[id];
  entry_of_class_.push_back(kNoTraffic);
  if (described.flows == FlowPattern::none || described.grouping == kAlone) return;
  const Grouping& grouping = program_.groupings[described.grouping];
  const bool transfer = described.flows == FlowPattern::transfer;
  const StreamKind stream = transfer ? StreamKind::send_forward : stream_of(grouping.kind);
  // Both ends of a transfer take the same, and are of one grouping.
  const Row row{{sending_stage(described), transfer ? described.grouping : kAlone, stream},
                described.grouping,
                described.flows,
                described.network_bytes_per_s,
                entries_};
  const auto [known, is_new] = known_.try_emplace(row, entries_);
  entry_of_class_.back() = known->second;
  if (!is_new) return;
  rows_.push_back(row);
  for (std::uint32_t group = 0; group < grouping.count; ++group, ++entries_) {
    if (network_.ports) add_ports(described, grouping.first + group);
    if (network_.routes != nullptr) add_fabric(described, grouping.first + group);
  }
}

// A rank's share of the ports is its own: of those that a rank of a folded program stands for, each has one.
void Loads::add_ports(const TaskClass& described, GroupId group) {
  const auto* transfer = std::get_if<TransferWork>(&described.work);
  const auto sends = [&](std::uint32_t rank) {
    return static_cast<int>(program_.ranks[rank].stage) == sending_stage(described);
  };
  const std::vector<std::uint32_t>& ranks = program_.groups[group].ranks;
  if (std::none_of(ranks.begin(), ranks.end(), sends)) return;
  const double sent = described.network_bytes_per_s;
  const double received = transfer == nullptr ? sent : sent / transfer->receivers * transfer->senders;
  for (const std::uint32_t rank : ranks) {
    if (transfer == nullptr || sends(rank)) add(2 * rank, sent);
    if (transfer == nullptr || !sends(rank)) add(2 * rank + 1, received);
  }
}

void Loads::add_fabric(const TaskClass& described, GroupId group) {
  real_.for_each(described.grouping, group, sending_stage(described), [&](const RealGroups::Members& members) {
    if (described.flows == FlowPattern::transfer) {
      send_transfer(described, members);
    } else {
      send_collective(described, members);
    }
  });
  for (const std::uint32_t link : used_) add(first_fabric_ + link, std::exchange(fabric_[link], 0.0));
  used_.clear();
}

void Loads::send_transfer(const TaskClass& described, const RealGroups::Members& members) {
  const double share = described.network_bytes_per_s / std::get<TransferWork>(described.work).receivers;
  for (const int from : members.of_stage) {
    for (const int to : members.others) {
      for (const LinkShare& on : network_.routes->between(from, to)) load(on.link, on.share * share);
    }
  }
}

void Loads::send_collective(const TaskClass& described, const RealGroups::Members& members) {
  std::vector<int> devices = members.of_stage;
  devices.insert(devices.end(), members.others.begin(), members.others.end());
  std::sort(devices.begin(), devices.end());
  std::map<std::pair<int, std::uint32_t>, double> added_up;  // of each port, on each link
  for_each_flow(described.flows, job_.cluster, devices, [&](const Flow& flow) {
    for (const LinkShare& on : network_.routes->between(flow.from, flow.to)) {
      const double bytes_per_s = on.share * flow.share * described.network_bytes_per_s;
      if (described.flows == FlowPattern::in_network) {
        double& largest = added_up[{flow.port, on.link}];
        largest = std::max(largest, bytes_per_s);
      } else {
        load(on.link, bytes_per_s);
      }
    }
  });
  for (const auto& [at, bytes_per_s] : added_up) load(at.second, bytes_per_s);
}

void Loads::load(std::uint32_t link, double bytes_per_s) {
  if (fabric_[link] == 0) used_.push_back(link);
  fabric_[link] += bytes_per_s;
}

Link Loads::link_of(Wire wire) const {
  if (wire >= first_fabric_) {
    const RoutedLink& link = network_.routes->links()[wire - first_fabric_];
    return {link.name, link.bytes_per_s};
  }
  const ProgramRank& rank = program_.ranks[wire / 2];
  const double share = plans_[rank.plan].costs.communication.port_share();
  return {wire % 2 == 0 ? fmt::format("rank {} to network", rank.rank) : fmt::format("network to rank {}", rank.rank),
          share};
}

// The largest load of a link, whatever runs at the same time: of each slot's groupings one, in it every group, doing
// what takes most.
double bound(const std::vector<Row>& rows, std::span<const Cell> cells) {
  std::map<std::pair<Slot, GroupingId>, std::map<std::uint32_t, double>> most;
  for (const Cell& cell : cells) {
    const Row& row = rows[cell.row];
    double& of_group = most[{row.slot, row.grouping}][cell.entry - row.first_entry];
    of_group = std::max(of_group, cell.bytes_per_s);
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

// The links that may be short. Of those that everything loads alike there is one.
class ScarceLinks {
 public:
  explicit ScarceLinks(Program& program) : program_(program) {}

  // The link's number; nothing: it is like one that there is.
  std::optional<LinkId> add(Link link, std::span<const Cell> cells) {
    Column column = {{0, link.bytes_per_s}};
    for (const Cell& cell : cells) column.emplace_back(cell.entry, cell.bytes_per_s);
    const auto [known, is_new] = known_.try_emplace(std::move(column), static_cast<LinkId>(program_.links.size()));
    if (!is_new) {
      ++alike_[known->second];
      return std::nullopt;
    }
    program_.links.push_back(std::move(link));
    alike_.push_back(1);
    return known->second;
  }

  void name() {
    for (LinkId link = 0; link < alike_.size(); ++link) {
      if (alike_[link] > 1) program_.links[link].name += fmt::format(" ({} links alike)", alike_[link]);
    }
  }

 private:
  using Column = std::vector<std::pair<std::uint32_t, double>>;
  Program& program_;
  std::map<Column, LinkId> known_;
  std::vector<int> alike_;  // by link
};

// What every entry takes of the links that are left.
void write_uses(Program& program, std::uint32_t entries, std::vector<std::pair<std::uint32_t, LinkUse>> uses) {
  std::stable_sort(uses.begin(), uses.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<LinkUse> of_entry;
  auto next = uses.begin();
  for (std::uint32_t entry = 0; entry < entries; ++entry) {
    for (of_entry.clear(); next != uses.end() && next->first == entry; ++next) of_entry.push_back(next->second);
    program.add_traffic(of_entry);
  }
}

}  // namespace

void share_network(Program& program, const RankGroups& groups, const Job& job, std::span<const StagePlan> plans,
                   const SharedNetwork& network, bool folded) {
  if (!network.ports && network.routes == nullptr) return;
  Loads loads(program, groups, job, plans, network, folded);
  std::vector<Cell>& cells = loads.cells();
  std::sort(cells.begin(), cells.end(),
            [](const Cell& a, const Cell& b) { return std::pair(a.wire, a.entry) < std::pair(b.wire, b.entry); });
  ScarceLinks links(program);
  std::vector<std::pair<std::uint32_t, LinkUse>> uses;
  for (auto first = cells.begin(); first != cells.end();) {
    const auto last =
        std::find_if(first, cells.end(), [wire = first->wire](const Cell& cell) { return cell.wire != wire; });
    const std::span<const Cell> column(first, last);
    Link link = loads.link_of(first->wire);
    constexpr double rounding = 1 + 1e-10;
    if (bound(loads.rows(), column) > rounding * link.bytes_per_s) {
      if (const std::optional<LinkId> id = links.add(std::move(link), column)) {
        for (const Cell& cell : column) uses.push_back({cell.entry, {*id, cell.bytes_per_s}});
      }
    }
    first = last;
  }
  if (uses.empty()) return;
  links.name();
  write_uses(program, loads.entries(), std::move(uses));
  for (ClassId id = 0; id < program.classes.size(); ++id) program.classes[id].traffic = loads.first_entry(id);
}

}  // namespace mirfak
