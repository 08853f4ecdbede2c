#pragma once

#include "replay/step_graph.hpp"

namespace mirfak {

// The graph of a trace that comes without one, by the rules of pipelines in Megatron-LM's manner:
//  - passes of a rank run one behind the other, in the order in which they were recorded;
//  - a transfer follows the one before it of its kind on its rank; a receive waits for the pass of its direction before
//    the one that needs it, which waits for it; a send follows the pass that makes what it sends. The first receive and
//    send of the backward direction also wait for the last forward pass but one before the first backward pass;
//  - gathers of parameters precede the first pass (of their chunk), everything else follows the last pass, in the order
//    of the table of operation kinds;
//  - with whom an operation is done says that table, too.
// Error(input) where transfers do not match passes, or ranks or steps run their passes in different orders.
StepGraph derive_step_graph(const MeasuredTrace& trace);

}  // namespace mirfak
