#pragma once

#include "replay/step_graph.hpp"

namespace mirfak {

// Derives the graph of a trace that comes without one, by the rules of pipelines in Megatron-LM's manner:
//  - passes of a rank run one after the other, in the order in which they were recorded;
//  - a transfer follows the previous transfer of its kind on its rank; a receive waits for the pass of its direction
//    before the pass that needs the receive, and that pass waits for the receive; a send follows the pass that makes
//    the data it sends. The first receive and send of the backward direction also wait for the last forward pass but
//    one before the first backward pass;
//  - gathers of parameters precede the first pass (of their chunk), all other operations follow the last pass, in the
//    order of the table of operation kinds;
//  - that table also names the partners with whom an operation is done.
// Error(input) if transfers do not match passes, or if ranks or steps run their passes in different orders.
StepGraph derive_step_graph(const MeasuredTrace& trace);

}  // namespace mirfak
