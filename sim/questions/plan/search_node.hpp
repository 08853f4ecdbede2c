#pragma once

#include "plan/capped_clock.hpp"
#include "plan/funnel.hpp"
#include "plan/layout_sites.hpp"
#include "plan/pipelines_to_come.hpp"
#include "plan/priced_branch.hpp"
#include "plan/standing.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace mirfak {

// Levels of the tree of strategies (README.md), from the root on.
enum class Level : std::uint8_t { nodes, layout, blocks, branch, pipeline, strategy };

// Node of the tree of strategies, with a merit that bounds all strategies below the node from below.
struct SearchNode {
  Level level{};
  std::uint8_t raised = 0;  // times that the bound was made closer, since the node was made
  Merit bound;
  double key = 0;  // value of the objective in the bound
  TreePlace place;
  std::uint32_t cluster = 0;    // number of the choice of nodes and clocks (ClusterChoices)
  std::uint32_t choice = 0;     // number of the choice of blocks
  std::int64_t strategies = 0;  // number of strategies below the node; 0: not listed yet
  // Object that holds all strategies below the node: a layout, of a layout's blocks too; a branch, until it is raised;
  // a raised branch; a pipeline's or strategy's branch; the pipelines of a branch, which are one node until the turn of
  // each comes, with the key of the first of them.
  std::variant<std::monostate, std::shared_ptr<LayoutSites>, std::shared_ptr<const Branch>,
               std::shared_ptr<const ListedBranch>, std::shared_ptr<const PricedBranch>,
               std::shared_ptr<PipelinesToCome>>
      holds;
  Lack lack;  // least that the strategies below the node lack, in a search for the least shortage
  PipelineChoice pipeline;
  StateChoice state;

  // True for a strategy that has its closest bound.
  bool to_simulate() const { return level == Level::strategy && raised == 2; }
  LayoutSites& layout() const { return *std::get<std::shared_ptr<LayoutSites>>(holds); }
  const ListedBranch& listed() const { return *std::get<std::shared_ptr<const ListedBranch>>(holds); }
  // Null for all nodes but pipelines to come.
  PipelinesToCome* to_come() const {
    const auto* pipelines = std::get_if<std::shared_ptr<PipelinesToCome>>(&holds);
    return pipelines != nullptr ? pipelines->get() : nullptr;
  }
  const PricedBranch& priced() const {
    const PipelinesToCome* pipelines = to_come();
    return pipelines != nullptr ? *pipelines->branch() : *std::get<std::shared_ptr<const PricedBranch>>(holds);
  }
  // The strategy of a node of the last level.
  Strategy strategy() const {
    Strategy out = priced().job().strategy;
    pipeline.apply_to(out, priced().layout().classes);
    state.apply_to(out);
    return out;
  }
  // Branches and all below them have a place among the layouts, whose best strategies exclude others.
  bool excluded_by(const Standing& standing) const {
    return level < Level::branch ? standing.excludes(bound) : standing.excludes(bound, place);
  }
};

// Scores of a strategy by clock.
struct ScoredAtClocks {
  TreePlace place;
  Strategy strategy;
  ClockScores scores;
};

// Result of work on a node.
struct NodeOutcome {
  std::vector<SearchNode> children;
  std::optional<Standing::Entry> entry;
  std::optional<ScoredAtClocks> scored;  // of a strategy that was simulated under a power cap
  std::vector<SearchNode> set_aside;     // nodes below which nothing fits
  FunnelCounts counts;
};

}  // namespace mirfak
