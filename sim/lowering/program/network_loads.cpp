#include "program/network_loads.hpp"

#include "program/real_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <variant>

namespace mirfak {

namespace {

// Key of classes with equal loads.
using Alike = std::tuple<NetworkLoads::Slot, GroupingId, FlowPattern, double>;

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

class LoadTable {
 public:
  LoadTable(const Program& program, const Job& job, std::span<const StagePlan> plans, const SharedNetwork& network,
            bool folded, bool one_by_one = false)
      : program_(program), job_(job), network_(network), one_by_one_(one_by_one), real_(program, job, plans, folded) {
    if (network.routes != nullptr) fabric_.assign(network.routes->links().size(), 0);
    out_.routes = network.routes;
    out_.ranks = static_cast<std::uint32_t>(program.ranks.size());
    if (network.ports) add_port_links(plans);
    for (ClassId id = 0; id < program.classes.size(); ++id) add_class(id);
  }

  NetworkLoads finished() { return std::move(out_); }
  std::vector<RealGroupLoads> real_groups() { return std::move(of_real_); }

 private:
  void add_port_links(std::span<const StagePlan> plans);
  void add_class(ClassId id);
  void add_ports(const TaskClass& described, GroupId group);
  void add_fabric(const TaskClass& described, GroupId group);
  void send_transfer(const TaskClass& described, const RealGroups::Members& members);
  void send_collective(const TaskClass& described, const RealGroups::Members& members);
  void load(std::uint32_t link, double bytes_per_s);
  void note(const RealGroups::Members& members);
  void add(NetworkLoads::Wire wire, double bytes_per_s) {
    out_.cells.push_back({wire, static_cast<std::uint32_t>(out_.rows.size() - 1), out_.entries, bytes_per_s});
  }

  const Program& program_;
  const Job& job_;
  SharedNetwork network_;
  bool one_by_one_;  // record the loads of real groups instead of their sums
  RealGroups real_;
  NetworkLoads out_;
  std::map<Alike, std::uint32_t> known_;  // first entries of known classes
  std::vector<double> fabric_;            // loads by the current group
  std::vector<std::uint32_t> used_;       // links of the fabric with a load
  std::vector<RealGroupLoads> of_real_;
};

int sending_stage(const TaskClass& described) {
  const auto* transfer = std::get_if<TransferWork>(&described.work);
  return transfer == nullptr ? described.stage : transfer->from;
}

void LoadTable::add_port_links(std::span<const StagePlan> plans) {
  for (const ProgramRank& rank : program_.ranks) {
    const double share = plans[rank.plan].costs.communication.port_share();
    const auto index = static_cast<std::uint32_t>(out_.ports.size() / 2);
    out_.ports.push_back({fmt::format("rank {} to network", rank.rank), share, {{LinkKind::port_out, index}}});
    out_.ports.push_back({fmt::format("network to rank {}", rank.rank), share, {{LinkKind::port_in, index}}});
  }
}

void LoadTable::add_class(ClassId id) {
  const TaskClass& described = program_.classes[id];
  out_.entry_of_class.push_back(kNoTraffic);
  if (described.flows == FlowPattern::none || described.grouping == kAlone) return;
  const Grouping& grouping = program_.groupings[described.grouping];
  const bool transfer = described.flows == FlowPattern::transfer;
  const StreamKind stream = transfer ? StreamKind::send_forward : stream_of(grouping.kind);
  // Both ends of a transfer have equal loads and belong to one grouping.
  const bool of_replicas = stream == StreamKind::data;
  const NetworkLoads::Slot slot{sending_stage(described), of_replicas ? kAlone : described.grouping, stream};
  const double bytes_per_s = described.network_bytes_per_s;
  const auto [known, is_new] =
      known_.try_emplace({slot, described.grouping, described.flows, bytes_per_s}, out_.entries);
  out_.entry_of_class.back() = known->second;
  if (!is_new) return;
  out_.rows.push_back({slot, described.grouping, out_.entries});
  for (std::uint32_t group = 0; group < grouping.count; ++group, ++out_.entries) {
    if (network_.ports) add_ports(described, grouping.first + group);
    if (network_.routes != nullptr) add_fabric(described, grouping.first + group);
  }
}

// Adds a rank's load on its own share of the ports: each of the ranks that a folded program's rank stands for has one.
void LoadTable::add_ports(const TaskClass& described, GroupId group) {
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

void LoadTable::add_fabric(const TaskClass& described, GroupId group) {
  real_.for_each(described.grouping, group, sending_stage(described), [&](const RealGroups::Members& members) {
    if (described.flows == FlowPattern::transfer) {
      send_transfer(described, members);
    } else {
      send_collective(described, members);
    }
    if (one_by_one_) note(members);
  });
  for (const std::uint32_t link : used_) add(NetworkLoads::kFabric + link, std::exchange(fabric_[link], 0.0));
  used_.clear();
}

void LoadTable::send_transfer(const TaskClass& described, const RealGroups::Members& members) {
  const double share = described.network_bytes_per_s / std::get<TransferWork>(described.work).receivers;
  for (const int from : members.of_stage) {
    for (const int to : members.others) {
      for (const LinkShare& on : network_.routes->between(job_.device_of(from), job_.device_of(to)))
        load(on.link, on.share * share);
    }
  }
}

void LoadTable::send_collective(const TaskClass& described, const RealGroups::Members& members) {
  std::vector<int> devices = members.of_stage;
  devices.insert(devices.end(), members.others.begin(), members.others.end());
  for (int& device : devices) device = job_.device_of(device);
  std::sort(devices.begin(), devices.end());
  std::map<std::pair<int, std::uint32_t>, double> added_up;  // by port and link
  for_each_flow(described.flows, job_.network(), devices, [&](const Flow& flow) {
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

void LoadTable::load(std::uint32_t link, double bytes_per_s) {
  if (fabric_[link] == 0) used_.push_back(link);
  fabric_[link] += bytes_per_s;
}

void LoadTable::note(const RealGroups::Members& members) {
  RealGroupLoads& out = of_real_.emplace_back();
  out.row = static_cast<std::uint32_t>(out_.rows.size() - 1);
  out.ranks = members.of_stage;
  out.ranks.insert(out.ranks.end(), members.others.begin(), members.others.end());
  std::sort(out.ranks.begin(), out.ranks.end());
  for (const std::uint32_t link : used_) {
    out.uses.push_back({NetworkLoads::kFabric + link, std::exchange(fabric_[link], 0.0)});
  }
  used_.clear();
}

}  // namespace

NetworkLoads network_loads(const Program& program, const Job& job, std::span<const StagePlan> plans,
                           const SharedNetwork& network, bool folded) {
  if (!network.ports && network.routes == nullptr) {
    NetworkLoads none;
    none.entry_of_class.assign(program.classes.size(), kNoTraffic);
    none.ranks = static_cast<std::uint32_t>(program.ranks.size());
    return none;
  }
  return LoadTable(program, job, plans, network, folded).finished();
}

std::vector<RealGroupLoads> real_group_loads(const Program& program, const Job& job, std::span<const StagePlan> plans,
                                             Routes* routes) {
  return LoadTable(program, job, plans, {false, routes}, true, true).real_groups();
}

}  // namespace mirfak
