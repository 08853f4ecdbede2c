#pragma once

#include "cluster/cluster.hpp"

#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace mirfak {

// Pattern of the messages between devices that make up a collective, on a network between scale-up domains.
enum class FlowPattern : std::uint8_t {
  none,        // no messages between domains
  ring,        // each domain sends to the next domain, in the order of ranks
  tree,        // NCCL's two binary trees over the domains, upwards and downwards, with half the data each
  in_network,  // data goes up to switches that reduce it, and down from them
  pat,         // NCCL's PAT: each rank sends to the ranks at distance 1, 2, 4, ...
  exchange,    // each rank sends to every rank outside its domain
  rail,        // each rank sends to the rank in its own position in every other domain
  transfer,    // ranks of one stage send to ranks of another stage
};

// One message. Its size is a share of the data that one rank sends over the network on average.
struct Flow {
  int from = 0;  // sending device
  int to = 0;
  double share = 0;
  int port = 0;  // index of the port in its domain; the data that switches reduce together stays on one port
};

// Calls `visit` with the flows of a collective (not a transfer) among `devices` (ascending), in the order of the
// algorithm. If domains hold different numbers of these devices, each domain sends through as many ports as the
// smallest has. There are no flows if all devices are in one domain.
//
// ring        the ports of each domain send all its data to the ports of the next domain, in equal positions
// tree        each edge of each tree carries a quarter of a domain's data each way (half with two domains)
// in_network  pairs of each domain and the first domain, both ways. Switches reduce the data that meets: a link carries
//             the largest flow of each port, not the sum of the flows
// pat         2^k / (n - 1) of a rank's data to the rank 2^k further
// exchange    1 / (n - g) to each rank outside the domain, with g ranks in a domain
// rail        1 / (domains - 1) to each other domain
void for_each_flow(FlowPattern pattern, const Cluster& cluster, std::span<const int> devices,
                   const std::function<void(const Flow&)>& visit);

// Returns the parents in NCCL's binary tree over n places: place 0 is the root (-1), and every other place is the
// middle of the places below it.
std::vector<int> binary_tree(int places);

}  // namespace mirfak
