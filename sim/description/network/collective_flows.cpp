#include "network/collective_flows.hpp"

#include <algorithm>

// NCCL's double binary tree (Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and
// scan", 2009): the leaves of one tree are the inner places of the other, so that all domains send equally much. The
// second tree is the first one mirrored if the number of places is even, and shifted by one place if the number is odd.

namespace mirfak {

namespace {

using Domains = std::vector<std::vector<int>>;

Domains domains_of(const Cluster& cluster, std::span<const int> devices) {
  Domains out;
  int last = -1;
  for (const int device : devices) {
    const int domain = cluster.place_of(device).domain;
    if (domain != last) out.emplace_back();
    out.back().push_back(device);
    last = domain;
  }
  return out;
}

// Number of ports over which each domain sends, and the data per port as a share of one rank's data.
struct Width {
  std::size_t ports = 0;
  double of_each = 0;
};

Width width_of(const Domains& domains, std::size_t ranks) {
  std::size_t fewest = domains.front().size();
  for (const auto& domain : domains) fewest = std::min(fewest, domain.size());
  return {fewest, static_cast<double>(ranks) / static_cast<double>(domains.size() * fewest)};
}

using Visit = std::function<void(const Flow&)>;

void ring(const Domains& domains, const Width& width, const Visit& visit) {
  for (std::size_t i = 0; i < domains.size(); ++i) {
    const auto& next = domains[(i + 1) % domains.size()];
    for (std::size_t port = 0; port < width.ports; ++port) visit({domains[i][port], next[port], width.of_each});
  }
}

void tree(const Domains& domains, const Width& width, const Visit& visit) {
  const auto count = static_cast<int>(domains.size());
  const double share = width.of_each / (count == 2 ? 2 : 4);
  const std::vector<int> parents = binary_tree(count);
  const auto edge = [&](int child, int parent) {
    for (std::size_t port = 0; port < width.ports; ++port) {
      const int below = domains[static_cast<std::size_t>(child)][port];
      const int above = domains[static_cast<std::size_t>(parent)][port];
      visit({below, above, share});
      visit({above, below, share});
    }
  };
  const auto second = [count](int place) { return count % 2 == 0 ? count - 1 - place : (place + 1) % count; };
  for (int place = 1; place < count; ++place) {
    const int parent = parents[static_cast<std::size_t>(place)];
    edge(place, parent);
    edge(second(place), second(parent));
  }
}

void in_network(const Domains& domains, const Width& width, const Visit& visit) {
  for (std::size_t i = 1; i < domains.size(); ++i) {
    for (std::size_t port = 0; port < width.ports; ++port) {
      const auto place = static_cast<int>(port);
      visit({domains[i][port], domains.front()[port], width.of_each, place});
      visit({domains.front()[port], domains[i][port], width.of_each, place});
    }
  }
}

void pat(std::span<const int> devices, const Visit& visit) {
  const std::size_t ranks = devices.size();
  for (std::size_t step = 1; step < ranks; step *= 2) {
    // The last step sends what is left.
    const double share = static_cast<double>(std::min(step, ranks - step)) / static_cast<double>(ranks - 1);
    for (std::size_t i = 0; i < ranks; ++i) visit({devices[i], devices[(i + step) % ranks], share});
  }
}

void exchange(const Domains& domains, std::size_t ranks, const Visit& visit) {
  for (const auto& own : domains) {
    const double share = 1 / static_cast<double>(ranks - own.size());
    for (const auto& other : domains) {
      if (&own == &other) continue;
      for (const int from : own) {
        for (const int to : other) visit({from, to, share});
      }
    }
  }
}

void rail(const Domains& domains, const Width& width, const Visit& visit) {
  const double share = width.of_each / static_cast<double>(domains.size() - 1);
  for (const auto& own : domains) {
    for (const auto& other : domains) {
      if (&own == &other) continue;
      for (std::size_t port = 0; port < width.ports; ++port) visit({own[port], other[port], share});
    }
  }
}

}  // namespace

std::vector<int> binary_tree(int places) {
  std::vector<int> parents(static_cast<std::size_t>(places), -1);
  for (int place = 1; place < places; ++place) {
    const int lowest = place & -place;  // lowest set bit
    const int without = place ^ lowest;
    const int parent = without | (lowest << 1);
    parents[static_cast<std::size_t>(place)] = parent < places ? parent : without;
  }
  return parents;
}

void for_each_flow(FlowPattern pattern, const Cluster& cluster, std::span<const int> devices, const Visit& visit) {
  const Domains domains = domains_of(cluster, devices);
  if (domains.size() < 2) return;
  const Width width = width_of(domains, devices.size());
  switch (pattern) {
    case FlowPattern::none:
    case FlowPattern::transfer:
      return;
    case FlowPattern::ring:
      return ring(domains, width, visit);
    case FlowPattern::tree:
      return tree(domains, width, visit);
    case FlowPattern::in_network:
      return in_network(domains, width, visit);
    case FlowPattern::pat:
      return pat(devices, visit);
    case FlowPattern::exchange:
      return exchange(domains, devices.size(), visit);
    case FlowPattern::rail:
      return rail(domains, width, visit);
  }
}

}  // namespace mirfak
