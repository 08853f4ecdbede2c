#pragma once

#include "chakra/chakra_program.hpp"
#include "cluster/cluster.hpp"
#include "cost/collective_model.hpp"

#include <optional>
#include <span>
#include <vector>

namespace mirfak {

// Prices communication on a cluster, rank r on device r, as if nothing else used the links. A value; usable from one
// thread.
class CommunicationPrices {
 public:
  explicit CommunicationPrices(const Cluster& cluster);

  // `kind`: nullopt for a message, whose ranks are the sender and the receiver. `bytes`: the input of one rank, for an
  // all-gather a part of the result. nullopt for gathers, scatters and reductions to one rank, and for no bytes. Ranks
  // on different types of nodes take as long as the slowest of the types would. Error(input) for ranks that the cluster
  // does not have.
  std::optional<CommunicationCost> price(std::optional<ChakraCollective> kind, double bytes,
                                         std::span<const std::int64_t> ranks) const;

 private:
  int device(std::int64_t rank) const;
  std::vector<int> groups_of(std::span<const int> devices) const;
  std::optional<CommunicationCost> price_on(const CollectiveModel& model, std::optional<ChakraCollective> kind,
                                            double bytes, std::span<const int> devices) const;

  Cluster cluster_;
  std::vector<CollectiveModel> models_;  // by group of the cluster
};

// Prices communication of a trace as CommunicationPrices does.
ChakraPrice chakra_price(const Cluster& cluster);

}  // namespace mirfak
