#include "chakra/chakra_price.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace mirfak {

namespace {

std::optional<CollectiveKind> priced_as(ChakraCollective kind) {
  switch (kind) {
    case ChakraCollective::all_reduce:
      return CollectiveKind::all_reduce;
    case ChakraCollective::all_gather:
      return CollectiveKind::all_gather;
    case ChakraCollective::reduce_scatter:
    case ChakraCollective::reduce_scatter_block:
      return CollectiveKind::reduce_scatter;
    case ChakraCollective::all_to_all:
      return CollectiveKind::all_to_all;
    case ChakraCollective::broadcast:
      return CollectiveKind::broadcast;
    default:
      return std::nullopt;
  }
}

}  // namespace

CommunicationPrices::CommunicationPrices(const Cluster& cluster) : cluster_(cluster) {
  for (const NodeGroup& group : cluster_.groups()) models_.emplace_back(group.hardware, cluster_.fabric());
}

std::optional<CommunicationCost> CommunicationPrices::price(std::optional<ChakraCollective> kind, double bytes,
                                                            std::span<const std::int64_t> ranks) const {
  if (bytes <= 0) return std::nullopt;
  std::vector<int> devices;
  for (const std::int64_t rank : ranks) devices.push_back(device(rank));
  if (devices.size() < 2) return CommunicationCost();
  std::sort(devices.begin(), devices.end());
  std::optional<CommunicationCost> slowest;
  for (const int group : groups_of(devices)) {
    const std::optional<CommunicationCost> cost =
        price_on(models_[static_cast<std::size_t>(group)], kind, bytes, devices);
    if (!cost) return std::nullopt;
    if (!slowest || cost->seconds > slowest->seconds) slowest = cost;
  }
  return slowest;
}

std::optional<CommunicationCost> CommunicationPrices::price_on(const CollectiveModel& model,
                                                               std::optional<ChakraCollective> kind, double bytes,
                                                               std::span<const int> devices) const {
  if (!kind) {
    const bool near = cluster_.place_of(devices[0]).domain == cluster_.place_of(devices[1]).domain;
    return model.price_send(bytes, near, communication_group(cluster_, devices).inside);
  }
  const std::optional<CollectiveKind> priced = priced_as(*kind);
  if (!priced) return std::nullopt;
  const double part = *priced == CollectiveKind::all_gather ? static_cast<double>(devices.size()) : 1;
  return model.price(*priced, bytes * part, alone(communication_group(cluster_, devices)));
}

// Returns the types of nodes of these devices, which ascend.
std::vector<int> CommunicationPrices::groups_of(std::span<const int> devices) const {
  std::vector<int> out;
  for (const int device : devices) {
    const int group = cluster_.place_of(device).group;
    if (out.empty() || out.back() != group) out.push_back(group);
  }
  return out;
}

int CommunicationPrices::device(std::int64_t rank) const {
  if (rank >= 0 && rank < cluster_.gpus()) return static_cast<int>(rank);
  fail_input({}, fmt::format("the nodes have {} GPUs, and none for rank {}", cluster_.gpus(), rank),
             "give more of them");
}

ChakraPrice chakra_price(const Cluster& cluster) {
  const auto prices = std::make_shared<const CommunicationPrices>(cluster);
  return [prices](const ChakraNode& node, std::span<const std::int64_t> ranks) -> std::optional<double> {
    const std::optional<CommunicationCost> cost = prices->price(node.collective, node.bytes, ranks);
    return cost ? std::optional(cost->seconds) : std::nullopt;
  };
}

}  // namespace mirfak
