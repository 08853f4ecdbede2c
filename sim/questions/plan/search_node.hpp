#pragma once

#include "plan/branch.hpp"
#include "plan/layout_sites.hpp"
#include "plan/memory_filter.hpp"
#include "plan/standing.hpp"
#include "plan/state_choice.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace mirfak {

// Node of the tree of strategies, with a merit that bounds all strategies below the node from below.
struct SearchNode {
  // Kinds of nodes. `clocks`: a choice of nodes at a span of clocks, of which nothing is known yet. `blocks`: a choice
  // of blocks in a layout, on nodes whose order is left open. `unlisted`: a branch that was not listed because nothing
  // of it fits in memory. `candidate`: a strategy that was bounded with its replicas' collectives.
  enum class Kind : std::uint8_t { clocks, cluster, layout, blocks, unlisted, branch, pipeline, strategy, candidate };
  Merit bound;
  double key = 0;
  TreePlace place;
  Kind kind{};
  std::uint32_t cluster = 0;
  std::shared_ptr<LayoutSites> layout;
  std::uint32_t choice = 0;  // number of the choice of blocks
  std::shared_ptr<Branch> branch;
  std::int64_t strategies = 1;  // number of strategies below the node
  PipelineChoice pipeline;
  StateChoice state;

  bool excluded_by(const Standing& standing) const {
    return kind < Kind::unlisted ? standing.excludes(bound) : standing.excludes(bound, place);
  }
};

// Orders the most promising node first.
struct LaterNode {
  bool operator()(const SearchNode& a, const SearchNode& b) const {
    return std::tuple(a.key, a.place) > std::tuple(b.key, b.place);
  }
};

// Orders the deepest node first, to reach something that can be simulated.
struct ShallowerNode {
  bool operator()(const SearchNode& a, const SearchNode& b) const {
    return std::tuple(b.kind, a.key, a.place) > std::tuple(a.kind, b.key, b.place);
  }
};

// Result of work on a node.
struct NodeOutcome {
  std::vector<SearchNode> children;
  std::optional<Standing::Entry> entry;
  std::vector<SearchNode> set_aside;  // nodes below which nothing fits
  std::int64_t enumerated = 0;
  std::int64_t against_rules = 0;
  std::int64_t too_large = 0;
  double min_shortage = std::numeric_limits<double>::infinity();
  double max_free = -std::numeric_limits<double>::infinity();
  std::int64_t bounded = 0;
  bool simulated = false;

  void count_too_large(const MemoryRoom& room) {
    ++too_large;
    min_shortage = std::min(min_shortage, room.shortage);
    max_free = std::max(max_free, room.free);
  }

  void add(SearchNode child, const Standing& standing) {
    if (child.excluded_by(standing)) {
      bounded += child.strategies;
    } else {
      children.push_back(std::move(child));
    }
  }
};

}  // namespace mirfak
