#pragma once

#include "plan/search.hpp"

#include <compare>
#include <cstdint>
#include <vector>

namespace mirfak {

// What a strategy is judged by, or bounds of it.
struct Merit {
  double time_s = 0;
  double cost_usd = 0;
  double energy_j = 0;
};

// Where a node of the tree of strategies stands, level by level, in the order of the space.
struct TreePlace {
  std::uint32_t nodes = 0;  // how many of each type
  std::uint32_t order = 0;  // of the types
  std::uint32_t layout = 0;
  std::uint32_t spread = 0;  // whether replicas differ in type
  std::uint32_t branch = 0;
  std::uint32_t pipeline = 0;
  std::uint32_t row = 0;  // of choices that recompute more and more
  std::uint32_t state = 0;

  friend auto operator<=>(const TreePlace&, const TreePlace&) = default;
};

// The best strategies so far. Ties go to the strategy that comes first in the order of the space.
class Standing {
 public:
  // `spec` must outlive this.
  explicit Standing(const SearchSpec& spec) : spec_(spec) {}

  // Whether no strategy of at least this merit can be among the results.
  bool excludes(const Merit& bound) const;

  struct Entry {
    Merit merit;
    TreePlace place;
    FoundStrategy found;
  };
  void add(Entry entry);

  // Best first; of a Pareto set, fastest first.
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  double value(const Merit& merit) const;
  bool within_limits(const Merit& merit) const;

  const SearchSpec& spec_;
  std::vector<Entry> entries_;
};

}  // namespace mirfak
