#include "cluster/perturbations.hpp"

#include <fmt/format.h>

namespace mirfak {

Perturbations read_perturbations(const Node& section, int ranks) {
  constexpr double kLowest = 0.01;
  constexpr double kHighest = 1000;
  Mapping keys(section);
  Perturbations out;
  for (const Node& item : keys.require("ranks").as_items()) {
    Mapping entry(item);
    const Node rank = entry.require("rank");
    TimeFactors factors;
    factors.compute = entry.number_or("compute", 1, kLowest, kHighest);
    factors.communication = entry.number_or("communication", 1, kLowest, kHighest);
    factors.host = entry.number_or("host", 1, kLowest, kHighest);
    entry.finish();
    const auto number = static_cast<int>(rank.as_integer(0, ranks - 1));
    if (out.ranks.contains(number)) rank.fail(fmt::format("rank {} has factors already", number));
    if (factors != TimeFactors{}) out.ranks[number] = factors;
  }
  keys.finish();
  return out;
}

}  // namespace mirfak
