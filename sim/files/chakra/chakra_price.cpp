#include "chakra/chakra_price.hpp"

#include "cost/collective_model.hpp"

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

class Prices {
 public:
  explicit Prices(const Cluster& cluster) : cluster_(cluster) {
    for (const NodeGroup& group : cluster_.groups()) models_.emplace_back(group.hardware, cluster_.fabric());
  }

  std::optional<double> of(const ChakraNode& node, std::span<const std::int64_t> ranks) const {
    if (node.bytes <= 0) return std::nullopt;
    std::vector<int> devices;
    for (const std::int64_t rank : ranks) devices.push_back(device(rank));
    if (devices.size() < 2) return 0.0;
    const int group = cluster_.place_of(devices.front()).group;
    for (const int other : devices) {
      if (cluster_.place_of(other).group != group) return std::nullopt;
    }
    const CollectiveModel& model = models_[static_cast<std::size_t>(group)];
    if (!node.collective) {
      const bool near = cluster_.place_of(devices[0]).domain == cluster_.place_of(devices[1]).domain;
      return model.price_send(node.bytes, near).seconds;
    }
    const std::optional<CollectiveKind> kind = priced_as(*node.collective);
    if (!kind) return std::nullopt;
    const double part = *kind == CollectiveKind::all_gather ? static_cast<double>(devices.size()) : 1;
    std::sort(devices.begin(), devices.end());
    return model.price(*kind, node.bytes * part, alone(communication_group(cluster_, devices))).seconds;
  }

 private:
  int device(std::int64_t rank) const {
    if (rank >= 0 && rank < cluster_.gpus()) return static_cast<int>(rank);
    fail_input({}, fmt::format("the nodes have {} GPUs, and none for rank {}", cluster_.gpus(), rank),
               "give more of them");
  }

  Cluster cluster_;
  std::vector<CollectiveModel> models_;
};

}  // namespace

ChakraPrice chakra_price(const Cluster& cluster) {
  const auto prices = std::make_shared<const Prices>(cluster);
  return [prices](const ChakraNode& node, std::span<const std::int64_t> ranks) { return prices->of(node, ranks); };
}

}  // namespace mirfak
