#pragma once

#include "plan/search.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <vector>

namespace mirfak {

// What a strategy is judged by, or bounds of it.
struct Merit {
  double time_s = 0;
  double cost_usd = 0;
  double energy_j = 0;
  double finish_s = 0;  // of the whole training; 0 where nobody asks
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
  std::uint32_t span = 0;  // of clocks

  // Of the layout: the sizes of groups, and the nodes that they lie on.
  using Layout = std::array<std::uint32_t, 4>;
  Layout layout_place() const { return {nodes, order, layout, spread}; }

  friend auto operator<=>(const TreePlace&, const TreePlace&) = default;
};

// The best strategies so far: a Pareto set, or the best layouts, each with the best of its strategies (FoundStrategy).
// Ties go to the strategy that comes first in the order of the space.
class Standing {
 public:
  // `spec` must outlive this.
  explicit Standing(const SearchSpec& spec) : spec_(spec) {}

  // Whether no strategy of at least this merit can be among the results.
  bool excludes(const Merit& bound) const;
  // ... if it has the layout of this place. That layout may be known already by better strategies.
  bool excludes(const Merit& bound, const TreePlace& place) const;

  struct Entry {
    Merit merit;
    TreePlace place;
    FoundStrategy found;
  };
  void add(Entry entry);

  bool empty() const { return rows_.empty(); }
  // Best first; of a Pareto set, fastest first.
  std::vector<FoundStrategy> found() const;

 private:
  using Row = std::vector<Entry>;  // of a Pareto set one member, else strategies of one layout, best first
  bool full() const { return static_cast<int>(rows_.size()) >= spec_.top; }
  bool before(const Entry& a, const Entry& b) const;
  void add_to_set(Entry entry);
  void add_to_layouts(Entry entry);
  void add_row(Row row);
  double value(const Merit& merit) const;
  bool within_limits(const Merit& merit) const;
  Merit stretched(const Merit& bound) const;  // by the tolerance

  const SearchSpec& spec_;
  std::vector<Row> rows_;                       // by their first entries
  std::map<TreePlace::Layout, double> needed_;  // of layouts with all the variants they may have: the last one's value
};

}  // namespace mirfak
