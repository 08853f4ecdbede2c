#pragma once

#include "cluster/cluster.hpp"

#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace mirfak {

// Which messages between devices a collective is, on a network between scale-up domains.
enum class FlowPattern : std::uint8_t {
  none,        // stays in its domain
  ring,        // each domain sends to the next, in the order of their ranks
  tree,        // NCCL's two binary trees over the domains, up and down, half the data each
  in_network,  // up to the switches that add up, and down from them
  pat,         // NCCL's PAT: each rank sends to those 1, 2, 4, ... further
  exchange,    // each rank sends to each outside its domain
  rail,        // each rank sends to the one in its place of each other domain
  transfer,    // ranks of one stage send to ranks of another
};

// One message, as a share of what one rank sends over the network on average.
struct Flow {
  int from = 0;  // devices
  int to = 0;
  double share = 0;
  int port = 0;  // of a domain's ports, by place: what is added up on the way stays on one
};

// The flows of a collective (not a transfer) among `devices` (ascending). Domains that hold unequally many of them send
// through as many ports as the smallest has. Order: that of the algorithm. Nothing if all are in one domain.
//
// ring        each domain's ports send all it sends to the next domain's, of equal places within the domains
// tree        of each edge of each tree, a quarter of what a domain sends each way (with two domains half)
// in_network  pairs of a domain and the first one, both ways. Switches add up what meets: a link carries each port's
//             largest flow, not their sum
// pat         2^k / (n - 1) of it to the rank 2^k further
// exchange    1 / (n - g) to each outside, with g ranks in a domain
// rail        1 / (domains - 1) to each other domain
void for_each_flow(FlowPattern pattern, const Cluster& cluster, std::span<const int> devices,
                   const std::function<void(const Flow&)>& visit);

// Parents in NCCL's binary tree over n places: place 0 is the root (-1), and every other place is the middle of the
// places below it.
std::vector<int> binary_tree(int places);

}  // namespace mirfak
