#pragma once

#include "base/document.hpp"
#include "network/network_graph.hpp"

namespace mirfak {

bool is_graph_file(const Document& document);

// Reads mirfak's own description of a network (sim/description/network/README.md): devices, switches, links by pattern,
// includes. Paths of includes are relative to the file. Error(input) at the place of a fault.
NetworkGraph read_graph_file(const Document& document);

}  // namespace mirfak
