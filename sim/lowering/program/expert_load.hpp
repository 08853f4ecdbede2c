#pragma once

#include "graph/operator_graph.hpp"
#include "program/job.hpp"

namespace mirfak {

// Ratio of the rows of the rank whose experts get most to the rows of the mean rank, by measured expert popularity; 1
// without a measurement, and if every rank holds all experts. All ranks that divide experts meet before and after the
// experts in every layer, so a pass takes the time of the fullest rank: blocks are priced for that rank, and memory is
// that rank's. Work and energy are those of the mean rank.
double expert_load(const Job& job);

// Ratio of the rows that experts compute on to the rows that tokens choose: below 1 where a capacity drops some, above
// 1 where experts are padded to it.
double expert_rows(const Job& job);

// True for kernels that run where tokens are, not where experts are: before an exchange, every rank has equally many
// rows.
bool is_where_tokens_are(const Operator& op);

// Multiplies the rows of experts by `load`, 0 < load, but to no more rows than there are tokens.
void scale_expert_rows(OperatorGraph& graph, double load);

}  // namespace mirfak
