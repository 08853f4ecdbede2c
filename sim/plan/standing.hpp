#pragma once

#include "plan/search.hpp"

#include <cstdint>
#include <vector>

namespace mirfak {

// What a strategy is judged by, or bounds of it.
struct Merit {
  double time_s = 0;
  double cost_usd = 0;
  double energy_j = 0;
};

// The best strategies so far. Ties go to the strategy that comes first in the order of the space.
class Standing {
 public:
  explicit Standing(const SearchSpec& spec) : spec_(spec) {}

  // Whether no strategy of at least this merit can be among the results.
  bool excludes(const Merit& bound) const;

  struct Entry {
    Merit merit;
    std::uint64_t place = 0;  // in the order of the space
    FoundStrategy found;
  };
  void add(Entry entry);

  // Best first; of a Pareto set, fastest first.
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  double value(const Merit& merit) const;
  bool within_limits(const Merit& merit) const;

  SearchSpec spec_;
  std::vector<Entry> entries_;
};

}  // namespace mirfak
