// A token that visits 8 of 256 experts on 4 nodes of 8 GPUs meets 3.6 of the nodes and 7.0 of the 32 ranks. An
// all-to-all of rows sends 8 (n - 1)/n of it over the network; sent once per node it is 3.6 (n - 1)/n.

#include "cost/expert_exchange.hpp"

#include <algorithm>

namespace mirfak {

// 1 - the chance that none of per_token different experts is among the experts / places of a place.
double places_visited(const ExpertExchange& exchange, double places) {
  const double here = exchange.experts / places;
  double none = 1;
  for (double chosen = 0; chosen < exchange.per_token; ++chosen) {
    none *= std::max(0.0, exchange.experts - here - chosen) / (exchange.experts - chosen);
  }
  return places * (1 - none);
}

CommunicationCost price_expert_exchange(const CollectiveModel& model, double bytes, const CommunicationGroup& group,
                                        const ExpertExchange& exchange) {
  if (exchange.dispatcher == ExpertDispatcher::all_to_all) {
    return model.price(CollectiveKind::all_to_all, bytes, group);
  }
  const double of_token = bytes / exchange.per_token;
  CommunicationGroup domain = group;
  domain.shape.ranks = domain.shape.ranks_per_domain;
  domain.shape.domains = 1;
  domain.shape.nodes = std::max(1, group.shape.nodes / group.shape.domains);
  domain.crosses_leaves = false;
  const double copies = places_visited(exchange, group.shape.ranks);
  const CommunicationCost inside = model.price(CollectiveKind::all_to_all, of_token * copies, domain);
  if (group.shape.domains <= 1) return inside;
  CommunicationGroup rail = group;
  rail.shape.ranks = rail.shape.nodes = rail.shape.domains;
  rail.shape.ranks_per_node = rail.shape.ranks_per_domain = 1;
  const double crossings = places_visited(exchange, group.shape.domains);
  CommunicationCost cost = model.price(CollectiveKind::all_to_all, of_token * crossings, rail);
  if (inside.transfer_s > cost.transfer_s) cost.transfer_s = inside.transfer_s;
  cost.latency_s += inside.latency_s;
  cost.seconds = cost.latency_s + cost.transfer_s;
  cost.bytes_sent += inside.bytes_sent;
  return cost;
}

}  // namespace mirfak
