#pragma once

#include "base/document.hpp"
#include "network/network_graph.hpp"

namespace mirfak {

// True for the present schema and for an older one, which read_infragraph() refuses.
bool is_infragraph(const Document& document);

// Reads and expands an InfraGraph document (https://infragraph.dev): components become vertices
// `instance.i.component.j`, edges become links. As in InfraGraph's own service, one2one joins the i-th elements of both
// sides up to the shorter side, many2many joins every element with every other element, and at most one link, the last
// one stated, joins two vertices. `ring` joins the i-th element of the first side with the element after the i-th of
// the second. xpu components are the devices; all components of an instance with an xpu count as inside a node. A link
// in GT/s has no rate, because its lanes are not stated. Error(input) at the place of a fault.
NetworkGraph read_infragraph(const Document& document);

}  // namespace mirfak
