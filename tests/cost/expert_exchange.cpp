#include "cost/expert_exchange.hpp"

#include "cluster/catalog.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <set>
#include <vector>

using namespace mirfak;

namespace {

Cluster cluster_of(const std::string& node, int nodes) {
  const Catalog catalog(source_root() + "/hw_profiles");
  return Cluster({{catalog.node(node), nodes, {}}}, default_fabric());
}

CommunicationGroup group_of(const Cluster& cluster, int ranks) {
  std::vector<int> devices;
  for (int rank = 0; rank < ranks; ++rank) devices.push_back(rank);
  return communication_group(cluster, devices);
}

}  // namespace

TEST_CASE("places that a token visits") {
  // One expert: one place. As many experts visited as there are: all places. 2 of 4 experts on 2 places: both but for
  // the chance 2 x (1/2 x 1/3) = 1/3 that the second lies where the first does.
  CHECK(places_visited({ExpertDispatcher::deep_ep, 8, 1}, 4) == doctest::Approx(1));
  CHECK(places_visited({ExpertDispatcher::deep_ep, 8, 8}, 4) == doctest::Approx(4));
  CHECK(places_visited({ExpertDispatcher::deep_ep, 4, 2}, 2) == doctest::Approx(2 - 1.0 / 3));
  // DeepSeek-V3, 8 of 256 experts over 4 nodes: 4 (1 - 0.75^8) = 3.6 if chosen with repetition, a little more without.
  CHECK(places_visited({ExpertDispatcher::deep_ep, 256, 8}, 4) == doctest::Approx(3.6).epsilon(0.01));
}

TEST_CASE("places that a token visits whose router chooses groups first: as many as by counting all choices") {
  // All choices of `wanted` of `from` in a row of bits.
  const auto subsets = [](int from, int wanted) {
    std::vector<unsigned> out;
    for (unsigned bits = 0; bits < 1U << from; ++bits) {
      if (__builtin_popcount(bits) == wanted) out.push_back(bits);
    }
    return out;
  };
  for (const int groups : {1, 2, 4, 6}) {
    for (const int chosen : {1, 2, 3}) {
      if (chosen > groups) continue;
      for (const int places : {1, 2, 3, 4, 6, 12}) {
        const int size = 12 / groups;
        double visited = 0;
        double ways = 0;
        for (const unsigned of_groups : subsets(groups, chosen)) {
          for (const unsigned experts : subsets(12, 2)) {
            std::set<int> met;
            bool reached = true;
            for (int expert = 0; expert < 12; ++expert) {
              if ((experts >> expert & 1U) == 0) continue;
              reached = reached && (of_groups >> (expert / size) & 1U) == 1;
              met.insert(expert * places / 12);
            }
            ways += reached ? 1 : 0;
            visited += reached ? static_cast<double>(met.size()) : 0;
          }
        }
        CAPTURE(groups);
        CAPTURE(chosen);
        CAPTURE(places);
        const ExpertExchange exchange{ExpertDispatcher::deep_ep, 12, 2, static_cast<double>(groups),
                                      static_cast<double>(chosen)};
        CHECK(places_visited(exchange, places) == doctest::Approx(visited / ways));
      }
    }
  }
  CHECK(places_visited({ExpertDispatcher::deep_ep, 256, 8, 8, 4}, 8) == doctest::Approx(3.63).epsilon(0.003));
}

TEST_CASE("one expert for each token: all dispatchers send the same within a node") {
  const Cluster cluster = cluster_of("hgx-h100", 1);
  const CollectiveModel model(cluster.groups()[0].hardware, cluster.fabric());
  const CommunicationGroup group = group_of(cluster, 8);
  const auto seconds = [&](ExpertDispatcher dispatcher, double per_token) {
    return price_expert_exchange(model, CollectiveKind::all_to_all, 64e6, group, {dispatcher, 64, per_token}).seconds;
  };
  CHECK(seconds(ExpertDispatcher::deep_ep, 1) == doctest::Approx(seconds(ExpertDispatcher::all_to_all, 1)));
  CHECK(seconds(ExpertDispatcher::deep_ep, 8) < seconds(ExpertDispatcher::all_to_all, 8));
}

TEST_CASE("over the network a rank sends through its own share of the ports, and no faster") {
  const Cluster cluster = cluster_of("hgx-h100", 8);
  const CollectiveModel model(cluster.groups()[0].hardware, cluster.fabric());
  const double bytes = 4e9;  // of a rank's rows
  for (const ExpertDispatcher dispatcher : {ExpertDispatcher::deep_ep, ExpertDispatcher::hybrid_ep}) {
    const ExpertExchange exchange = {dispatcher, 256, 8};
    const CommunicationCost cost =
        price_expert_exchange(model, CollectiveKind::all_to_all, bytes, group_of(cluster, 64), exchange);
    const double over_network = bytes / 8 * places_visited(exchange, 8) * 7 / 8;
    CHECK(cost.transfer_s >= over_network / model.port_share());
    CHECK(cost.transfer_s <= 1.5 * over_network / model.port_share());
    CHECK(cost.flows == FlowPattern::rail);
    CHECK(cost.multiprocessors == (dispatcher == ExpertDispatcher::deep_ep ? 20 : 32));
    CHECK(cost.network_bytes_per_s * cost.seconds == doctest::Approx(over_network));
  }
}

TEST_CASE("HybridEP's kernels reach what was measured among 8 GPUs over NVLink 5: 564 of 900 GB/s both ways") {
  const Cluster cluster = cluster_of("hgx-b200", 1);
  const CollectiveModel model(cluster.groups()[0].hardware, cluster.fabric());
  const ExpertExchange exchange = {ExpertDispatcher::hybrid_ep, 256, 8};
  const double bytes = 8e9;  // of a rank's rows
  const CommunicationCost cost =
      price_expert_exchange(model, CollectiveKind::all_to_all, bytes, group_of(cluster, 8), exchange);
  CHECK(bytes / 8 * places_visited(exchange, 8) / cost.transfer_s == doctest::Approx(564e9).epsilon(0.002));
  CHECK(cost.multiprocessors == 32);
}

TEST_CASE("a dispatcher that gathers sends every rank's tokens to all ranks, whatever experts they visit") {
  const Cluster cluster = cluster_of("hgx-h100", 1);
  const CollectiveModel model(cluster.groups()[0].hardware, cluster.fabric());
  const CommunicationGroup group = group_of(cluster, 8);
  const double tokens = 32e6;
  for (const double per_token : {1.0, 2.0, 8.0}) {
    const ExpertExchange exchange = {ExpertDispatcher::all_gather, 64, per_token};
    for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
      CHECK(price_expert_exchange(model, kind, per_token * tokens, group, exchange).seconds ==
            model.price(kind, 8 * tokens, group).seconds);
    }
    CHECK(copies_per_token(exchange, 8) == 8);
  }
}
