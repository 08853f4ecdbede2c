#pragma once

#include "chakra/chakra_program.hpp"
#include "cluster/cluster.hpp"

namespace mirfak {

// Prices communication of a trace on a cluster, rank r on device r, as if nothing else used the links. comm_size is the
// input of one rank: for an all-gather a part of the result. Gathers, scatters and reductions to one rank have no
// price, and neither has communication between ranks on different types of nodes. Error(input) for ranks that the
// cluster does not have. Usable from one thread.
ChakraPrice chakra_price(const Cluster& cluster);

}  // namespace mirfak
