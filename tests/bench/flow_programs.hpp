#pragma once

#include "program/program.hpp"

#include <cstdint>

namespace mirfak {

// `flows` streams that send one flow after the other, from the node of the stream to random nodes, over the sender's
// outgoing and the receiver's incoming link; 8 streams per node, each able to fill a link: everything is connected.
// A class's name is "FROM TO" here and below: numbers of the nodes.
Program random_flows(std::uint32_t flows, std::uint32_t flows_per_stream);

// The same number of flows in groups of four on links of their own: a start or an end concerns four.
Program separated_flows(std::uint32_t flows, std::uint32_t flows_per_stream);

// Flows over a fat tree of 16-port switches, 1,024 hosts: stream s sends from host s, from each host as many as from
// another (of fewer, one from every so-many-th), to random others, each able to fill a link. `hashed`: a flow takes one
// path, else it is spread.
Program fat_tree_flows(std::uint32_t flows, std::uint32_t flows_per_stream, bool hashed);

}  // namespace mirfak
