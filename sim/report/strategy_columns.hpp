#pragma once

#include "program/job.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// What tells strategies apart, a parameter each, in few letters. Every field of a strategy is in one.
struct StrategyColumn {
  std::string_view heading;
  std::vector<std::string_view> keys;  // of `strategy` that it tells of
  std::function<std::string(const Job&)> cell;
  std::function<std::string(const Job&)> words;  // the same for people who see no heading; "": not worth a word
  // Whether it tells more of this job's strategies than the other columns do.
  bool (*tells)(const Job&) = [](const Job&) { return true; };
};
const std::vector<StrategyColumn>& strategy_columns();

// "tp 4 pp 2 dp 8 mb 1": the sizes of a strategy, in few letters.
std::string sizes_text(const Job& job);

// Microbatches of replicas where they differ: "8x23 8x9", so many replicas of so many each; "" where they do not.
std::string shares_text(const Strategy& strategy);

// "8 hgx-h100 + 4 dgx-a100-80g"
std::string nodes_text(const Cluster& cluster);

// "tp 4 instead of 8, mb 2 instead of 1": how a strategy differs from another; "nothing that is shown here" if not.
std::string differences_text(const Job& job, const Job& from);

}  // namespace mirfak
