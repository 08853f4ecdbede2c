// Example: a token that visits 8 of 256 experts on 4 nodes of 8 GPUs meets 3.6 of the nodes and 7.0 of the 32 ranks. An
// all-to-all of rows sends the token 8 (n - 1)/n times over the network; sent once per node, it crosses 3.6 (n - 1)/n
// times. On 8 nodes it meets 5.3 nodes, or 3.6 nodes if its router takes experts of only 4 of 8 groups.

#include "cost/expert_exchange.hpp"

#include "base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace mirfak {

namespace {

constexpr double kWhole = 1e-9;  // rounding tolerance of quotients that are whole numbers

// Returns the probability that none of `chosen` different experts, out of `all`, is among `here` of them.
double none_of(double chosen, double here, double all) {
  double none = 1;
  for (double i = 0; i < chosen; ++i) none *= std::max(0.0, all - here - i) / (all - i);
  return none;
}

double choices(int from, int chosen) {
  if (chosen < 0 || chosen > from) return 0;
  double out = 1;
  for (int i = 0; i < chosen; ++i) out *= static_cast<double>(from - i) / (i + 1);
  return out;
}

// Returns the probability that a token visits none of the experts from `first` to `last`. It sums over the possible
// choices of groups: groups that lie whole in the range, and the up to two groups that lie partly in it.
double none_between(const ExpertExchange& of, double first, double last) {
  const double size = of.experts / of.groups;
  const double reachable = of.groups_per_token * size;
  const auto begins = static_cast<int>(std::ceil(first / size - kWhole));
  const auto ends = static_cast<int>(std::floor(last / size + kWhole));
  if (begins > ends) {  // inside one group
    const double chosen = of.groups_per_token / of.groups;
    return 1 - chosen + chosen * none_of(of.per_token, last - first, reachable);
  }
  std::vector<double> parts;  // experts of groups that lie partly in the range
  for (const double part : {begins * size - first, last - ends * size}) {
    if (part > kWhole) parts.push_back(part);
  }
  const int whole = ends - begins;
  const auto groups = static_cast<int>(of.groups);
  const auto per_token = static_cast<int>(of.groups_per_token);
  const int elsewhere = groups - whole - static_cast<int>(parts.size());
  double none = 0;
  for (unsigned chosen = 0; chosen < 1U << parts.size(); ++chosen) {
    double here = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) here += (chosen >> i & 1U) != 0 ? parts[i] : 0;
    const int left = per_token - std::popcount(chosen);
    for (int j = 0; j <= whole; ++j) {
      const double ways = choices(whole, j) * choices(elsewhere, left - j);
      if (ways > 0) none += ways * none_of(of.per_token, here + j * size, reachable);
    }
  }
  return none / choices(groups, per_token);
}

}  // namespace

// Sums 1 - the probability that none of a token's experts is at a place, over all places.
double places_visited(const ExpertExchange& exchange, double places) {
  const double here = exchange.experts / places;
  if (exchange.groups == exchange.groups_per_token) {
    return places * (1 - none_of(exchange.per_token, here, exchange.experts));
  }
  double visited = 0;
  for (double place = 0; place < places; ++place)
    visited += 1 - none_between(exchange, place * here, (place + 1) * here);
  return visited;
}

double copies_per_token(const ExpertExchange& exchange, double places) {
  return exchange.dispatcher == ExpertDispatcher::all_gather ? places : places_visited(exchange, places);
}

namespace {

// Share of the scale-up link's line rate that HybridEP's kernels reach on 32 multiprocessors, as Megatron Bridge runs
// them: 616 GB/s to the experts and 520 back, of 900, among 8 GB200 (deepseek-ai/DeepEP, pull request 420; 521 and 443
// among 16). The bytes include those that stay on the device.
constexpr double kHybridShare = 2 / (900 / 616.0 + 900 / 520.0);
constexpr int kHybridMultiprocessors = 32;
// Multiprocessors of DeepEP's kernels, in DeepSeek-V3's training (arXiv 2412.19437, section 3.2.2) and by default.
constexpr int kDeepMultiprocessors = 20;

// The two parts of an exchange of tokens, and the bytes of each.
struct TokenExchange {
  CommunicationGroup rail;    // ranks at the same place in every domain
  CommunicationGroup domain;  // ranks of one domain
  double over_rail = 0;
  double inside = 0;
};

TokenExchange token_exchange(double bytes, const CommunicationGroup& group, const ExpertExchange& exchange) {
  const double of_token = bytes / exchange.per_token;
  TokenExchange out;
  out.domain = out.rail = group;
  out.domain.shape.ranks = group.shape.ranks_per_domain;
  out.domain.shape.domains = 1;
  out.domain.shape.nodes = std::max(1, group.shape.nodes / group.shape.domains);
  out.domain.crosses_leaves = false;
  out.rail.shape.ranks = out.rail.shape.nodes = group.shape.domains;
  out.rail.shape.ranks_per_node = out.rail.shape.ranks_per_domain = out.rail.shape.fewest_per_domain = 1;
  out.over_rail = of_token * places_visited(exchange, group.shape.domains);
  out.inside = of_token * places_visited(exchange, group.shape.ranks);
  return out;
}

// Price of the part of an exchange among the ranks of one domain.
CommunicationCost price_inside(const CollectiveModel& model, const TokenExchange& parts,
                               const ExpertExchange& exchange) {
  CommunicationCost cost = model.price(CollectiveKind::all_to_all, parts.inside, parts.domain);
  cost.multiprocessors = kDeepMultiprocessors;
  if (exchange.dispatcher != ExpertDispatcher::hybrid_ep) return cost;
  const double kernels_s = parts.inside / (kHybridShare * model.link_share(parts.domain));
  cost.transfer_s = std::max(cost.transfer_s, kernels_s * model.time_factor());
  cost.seconds = cost.latency_s + cost.transfer_s;
  cost.multiprocessors = kHybridMultiprocessors;
  return cost;
}

bool is_one_collective(const ExpertExchange& exchange) {
  return exchange.dispatcher == ExpertDispatcher::all_to_all || exchange.dispatcher == ExpertDispatcher::all_gather;
}

// Returns the size as nccl-tests counts it: bytes of rows, or of the tokens of all ranks.
double collective_bytes(double bytes, const CommunicationGroup& group, const ExpertExchange& exchange) {
  if (exchange.dispatcher == ExpertDispatcher::all_to_all) return bytes;
  return bytes / exchange.per_token * group.shape.ranks;
}

}  // namespace

CommunicationCost price_expert_exchange(const CollectiveModel& model, CollectiveKind kind, double bytes,
                                        const CommunicationGroup& group, const ExpertExchange& exchange) {
  if (is_one_collective(exchange)) return model.price(kind, collective_bytes(bytes, group, exchange), group);
  const TokenExchange parts = token_exchange(bytes, group, exchange);
  const CommunicationCost inside = price_inside(model, parts, exchange);
  if (group.shape.domains <= 1) return inside;
  CommunicationCost cost = model.price(CollectiveKind::all_to_all, parts.over_rail, parts.rail);
  const double over_network = cost.network_bytes_per_s * cost.seconds;
  cost.transfer_s = std::max(cost.transfer_s, inside.transfer_s);
  cost.latency_s += inside.latency_s;
  cost.seconds = cost.latency_s + cost.transfer_s;
  cost.flows = FlowPattern::rail;
  cost.network_bytes_per_s = over_network / cost.seconds;
  cost.bytes_sent += inside.bytes_sent;
  cost.multiprocessors = inside.multiprocessors;
  return cost;
}

Explanation explain_expert_exchange(const CollectiveModel& model, CollectiveKind kind, double bytes,
                                    const CommunicationGroup& group, const ExpertExchange& exchange) {
  if (is_one_collective(exchange)) return model.explain(kind, collective_bytes(bytes, group, exchange), group);
  const TokenExchange parts = token_exchange(bytes, group, exchange);
  const bool crosses = group.shape.domains > 1;
  Explanation out = crosses ? model.explain(CollectiveKind::all_to_all, parts.over_rail, parts.rail)
                            : model.explain(CollectiveKind::all_to_all, parts.inside, parts.domain);
  out.formula = fmt::format(
      "exchange of tokens among {} ranks in {} scale-up domain{}: each once to every domain and every rank it visits, "
      "as "
      "all-to-alls; the slower decides",
      group.shape.ranks, group.shape.domains, crosses ? "s" : "");
  const double of_token = bytes / exchange.per_token;
  out.numbers = fmt::format("{} of tokens to {:.2f} ranks", format_bytes(of_token), parts.inside / of_token) +
                (crosses ? fmt::format(" in {:.2f} domains", parts.over_rail / of_token) : "");
  const CommunicationCost cost = price_expert_exchange(model, kind, bytes, group, exchange);
  const CommunicationCost inside = price_inside(model, parts, exchange);
  const double over_rail_s =
      crosses ? model.price(CollectiveKind::all_to_all, parts.over_rail, parts.rail).transfer_s : 0;
  out.evaluation = fmt::format("{:.6g} + max({:.6g}, {:.6g})", cost.latency_s, over_rail_s, inside.transfer_s);
  return out;
}

}  // namespace mirfak
