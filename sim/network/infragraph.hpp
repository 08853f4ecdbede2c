#pragma once

#include "base/document.hpp"
#include "network/network_graph.hpp"

namespace mirfak {

bool is_infragraph(const Document& document);  // the present schema, or an older one, which read_infragraph() refuses

// An InfraGraph document (https://infragraph.dev), expanded: components become vertices `instance.i.component.j`, edges
// links. As InfraGraph's own service does, one2one joins the i-th with the i-th up to the shorter side, many2many all
// with all but themselves, and at most one link joins two vertices, the last stated. `ring` joins the i-th of the first
// side with the one after the i-th of the second. xpu components are the devices; all of an instance with one is
// inside. A link in GT/s has no rate, because its lanes are not stated. Error(input) at the place of what cannot be.
NetworkGraph read_infragraph(const Document& document);

}  // namespace mirfak
