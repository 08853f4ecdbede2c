#pragma once

#include "graph/operator_graph.hpp"
#include "program/job.hpp"

namespace mirfak {

// Rows of the rank whose experts get most, over those of the mean rank, by measured expert popularity; 1 without, and
// where every rank holds all experts. All ranks that divide experts meet before and behind these in every layer, so a
// pass takes the time of the fullest: it is the one that blocks are priced for, and the one whose memory counts. Work
// and energy are those of the mean rank.
double expert_load(const Job& job);

// Kernels where tokens are, not where experts are: every rank has as many rows in front of an exchange.
bool is_where_tokens_are(const Operator& op);

// Rows of experts `load` times as many, 0 < load, but never more than there are tokens.
void scale_expert_rows(OperatorGraph& graph, double load);

}  // namespace mirfak
