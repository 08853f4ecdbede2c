#pragma once

#include "chakra/chakra_program.hpp"
#include "cluster/cluster.hpp"

namespace mirfak {

// Prices communication of a trace on a cluster, rank r on device r, as if nothing else used the links. comm_size is
// what one rank gives in: of an all-gather a part of the result. Gathers, scatters and reductions to one rank have no
// price, and so has communication of ranks on different types of nodes. Error(input) for ranks that the cluster does
// not have. Usable from one thread.
ChakraPrice chakra_price(const Cluster& cluster);

}  // namespace mirfak
