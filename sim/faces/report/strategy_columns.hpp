#pragma once

#include "program/job.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// A parameter that tells strategies apart, in few letters. Every field of a strategy is in one column.
struct StrategyColumn {
  std::string_view heading;
  std::vector<std::string_view> keys;  // keys of `strategy` that the column shows
  std::function<std::string(const Job&)> cell;
  std::function<std::string(const Job&)> words;  // `cell` in words, readable without a heading; "": not worth a word
  // True if the column tells more of this job's strategies than the other columns do.
  bool (*tells)(const Job&) = [](const Job&) { return true; };
};
const std::vector<StrategyColumn>& strategy_columns();

// Returns all parameters of a strategy in words, those with their usual values left out: "64 h100, tp 2, pp 1, dp 32,
// microbatches of 1, 1f1b, no recomputation, ZeRO 1, overlapped gradient reduction".
std::string whole_strategy_text(const Job& job);

// Returns the sizes of a strategy in few letters: "tp 4 pp 2 dp 8 mb 1".
std::string sizes_text(const Job& job);

// Returns the microbatches of replicas if they differ: "8x23 8x9" for 8 replicas of 23 each and 8 of 9 each; "" if they
// do not differ.
std::string shares_text(const Strategy& strategy);

// Returns the nodes of a cluster: "8 hgx-h100 + 4 dgx-a100-80g".
std::string nodes_text(const Cluster& cluster);

// Returns the differences of a strategy from another: "tp 4 instead of 8, mb 2 instead of 1"; "nothing that is shown
// here" if there are none.
std::string differences_text(const Job& job, const Job& from);

}  // namespace mirfak
