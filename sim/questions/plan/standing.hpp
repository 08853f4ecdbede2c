#pragma once

#include "plan/search.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <vector>

namespace mirfak {

// Values by which a strategy is judged, or lower bounds of them.
struct Merit {
  double time_s = 0;
  double cost_usd = 0;
  double energy_j = 0;
  double finish_s = 0;  // end of the whole training; 0 if it is not asked for
};

// Position of a node in the tree of strategies, level by level, in the order of the space.
struct TreePlace {
  std::uint32_t nodes = 0;  // number of the choice of node counts
  std::uint32_t order = 0;  // order of the types
  std::uint32_t layout = 0;
  std::uint32_t spread = 0;  // 1: replicas differ in type
  std::uint32_t branch = 0;
  std::uint32_t pipeline = 0;
  std::uint32_t row = 0;  // index in a row of choices that recompute more and more
  std::uint32_t state = 0;
  std::uint32_t span = 0;  // span of clocks

  // Position of the layout: the sizes of groups and the nodes that they lie on.
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

  // Returns true if no strategy with at least this merit can be among the results.
  bool excludes(const Merit& bound) const;
  // Returns true if no strategy with at least this merit and the layout of this place can be among the results. Better
  // strategies of that layout may be known already.
  bool excludes(const Merit& bound, const TreePlace& place) const;

  // Returns true if no strategy of the layout of this place whose objective has at least this value can be among the
  // results. Says less than excludes() of a merit; always false for a Pareto set.
  bool excludes_from(double value, const TreePlace& place) const;

  struct Entry {
    Merit merit;
    TreePlace place;
    FoundStrategy found;
  };
  void add(Entry entry);

  bool empty() const { return rows_.empty(); }
  double value(const Merit& merit) const;  // value of the objective
  // Returns the strategies found, best first; for a Pareto set, fastest first.
  std::vector<FoundStrategy> found() const;

 private:
  using Row = std::vector<Entry>;  // one member of a Pareto set, or strategies of one layout, best first
  bool full() const { return static_cast<int>(rows_.size()) >= spec_.top; }
  bool before(const Entry& a, const Entry& b) const;
  void add_to_set(Entry entry);
  void add_to_layouts(Entry entry);
  void add_row(Row row);
  bool within_limits(const Merit& merit) const;
  Merit stretched(const Merit& bound) const;  // a bound increased by the tolerance

  const SearchSpec& spec_;
  std::vector<Row> rows_;                       // ordered by their first entries
  std::map<TreePlace::Layout, double> needed_;  // value of the last variant, for layouts with all their variants
};

}  // namespace mirfak
