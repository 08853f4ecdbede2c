#pragma once

#include "plan/capped_clock.hpp"
#include "plan/cluster_bound.hpp"
#include "plan/cluster_choices.hpp"
#include "plan/rule_filter.hpp"
#include "plan/schedule_facts.hpp"
#include "plan/search_node.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace mirfak {

// The tree of a search's strategies, level by level: the bounds of its nodes and their children. Nodes may be worked on
// by several threads at once.
class SearchTree {
 public:
  // `standing` decides which nodes cannot matter, and `so_far` has the counts of what was dropped; neither may change
  // during work. All arguments must outlive this.
  SearchTree(const Job& job, const SearchSpec& spec, const Standing& standing, const FunnelCounts& so_far, int threads);

  // Returns the choices of nodes of one type, or of several types, at the highest clocks.
  std::vector<SearchNode> roots(bool mixes) const;
  // Raises the bound of a node or, if it is raised already or its level knows no closer one, finds its children.
  NodeOutcome work_on(const SearchNode& node);
  // Takes the first of the pipelines to come out of their node. Gives them their closest bound, and drops some, until
  // one that has that bound is the first; null if it does not come before `other_key`, the key of the queue's next
  // node. The node is at its end once it has no strategies. Not during work on nodes.
  std::unique_ptr<SearchNode> take_pipeline(SearchNode& node, double other_key, FunnelCounts& counts) const;
  // Keeps what was found on a strategy at the clocks of one span, for those of other spans. Not during work on nodes.
  void learn(const ScoredAtClocks& found) { scored_.add(found.place, found.strategy, found.scores); }
  // From now on, nodes below which nothing fits are not set aside any more, but looked at for what their strategies
  // lack; those of least shortage come first.
  void look_for_shortage() { seeks_lack_ = true; }
  // Sets the bound of a node's lack, and its key, in such a search.
  void bound_lack(SearchNode& node);
  // Returns true if nothing below a node lacks less than what is known.
  bool lacks_more(const SearchNode& node) const {
    return seeks_lack_ && so_far_.least_lack().is_least_beside(node.lack);
  }
  // Types of nodes on which nothing of the space runs, among those asked for so far.
  std::vector<LeftOut> left_out() { return bounds_.front().left_out(); }
  double fit_probability_of(const MemoryRoom::Fullest& device) const {
    return fit_probability(job_.ranges.memory.device, device.needed, device.platform, device.capacity);
  }

 private:
  using Work = void (SearchTree::*)(const SearchNode&, NodeOutcome&);
  static Work work_of(const SearchNode& node);

  void bound_nodes(const SearchNode& node, NodeOutcome& out);
  void add_layouts(const SearchNode& node, NodeOutcome& out);
  void add_blocks(const SearchNode& node, NodeOutcome& out);
  void add_branches(const SearchNode& node, NodeOutcome& out);
  void list_branch(const SearchNode& node, NodeOutcome& out);
  void add_pipelines(const SearchNode& node, NodeOutcome& out);
  void add_row(const SearchNode& node, NodeOutcome& out);
  void bound_collectives(const SearchNode& node, NodeOutcome& out);
  void bound_settled(const SearchNode& node, NodeOutcome& out);
  void simulate(const SearchNode& node, NodeOutcome& out);

  void list(SearchNode node, Branch branch, NodeOutcome& out);
  bool may_hold_layers(const SearchNode& node, const LayoutSite& site);
  ListedBranch::May may_be_below(const SearchNode& node, double working_j) const;
  void raise(const SearchNode& node, PipelinesToCome::Pipeline& pipeline) const;
  std::int64_t strategies_of(const PricedBranch& branch, std::size_t pipeline) const;
  void add_lacking(const SearchNode& like, std::size_t number, std::int64_t strategies, NodeOutcome& out) const;
  void add_strategies(const SearchNode& node, Strategy strategy, NodeOutcome& out);
  using BoundAt = std::function<TimeAndWork(std::size_t clock)>;  // by the clock of a branch (PricedBranch::clocks)
  struct ClockBounds {
    BoundAt of_passes;
    BoundAt closer;  // with the replicas' collectives and what follows the passes
  };
  ClockBounds bounds_of(const SearchNode& node, const std::vector<std::vector<ChunkPlan>>& chunks,
                        const std::function<PlaceTerms(std::size_t)>& terms_at);
  ClockBounds settled_bounds(const SearchNode& node, const std::vector<std::vector<ChunkPlan>>& chunks);
  void raise(const SearchNode& node, const ClockBounds& bounds, NodeOutcome& out) const;
  bool by_energy() const {
    return spec_.objective == SearchObjective::energy || spec_.objective == SearchObjective::pareto;
  }
  std::optional<IterationScore> score_at_highest(const SearchNode& node, const Job& job, NodeOutcome& out) const;
  std::optional<IterationScore> score_under_cap(const SearchNode& node, Job& job, NodeOutcome& out);
  Merit least_over_clocks(const SearchNode& node, const BoundAt& bound_at) const;
  Merit least_of_strategy(const SearchNode& node, const ClockBounds& bounds) const;
  SearchNode with_bound(SearchNode node, const Merit& bound) const;
  Merit bound_of_passes(const SearchNode& node, const PipelineChoice& pipeline) const;
  void add(SearchNode node, NodeOutcome& out) const;
  static Job job_of(const SearchNode& strategy);
  static void set_aside(SearchNode node, NodeOutcome& out);
  Lack least_lack(const PricedBranch& branch, const PipelineChoice& pipeline) const;
  const ClusterChoices::Choice& choice_of(const SearchNode& node) const { return clusters_[node.cluster]; }
  Merit merit(const SearchNode& node, const ClusterBound::Least& least) const;
  Merit merit(const SearchNode& node, const Branch& branch) const;
  Merit merit(const SearchNode& node, Picoseconds time, double working_j) const;
  const std::vector<StateChoice>& states_of(const Branch& branch) const;
  // Returns false if the only choice is all nodes of a single type. Everything is then listed at once: most of it is
  // looked at, and the funnel counts all.
  bool lazy() const { return clusters_.size() > 1 || job_.cluster.groups().size() > 1; }

  const Job& job_;
  const SearchSpec& spec_;
  const Standing& standing_;
  const FunnelCounts& so_far_;
  int threads_;
  bool seeks_lack_ = false;  // in search of the least shortage
  SharedBlocks shared_;
  RuleFilter rules_;
  MemoryLimit limit_;
  ScheduleFacts facts_;
  StateChoices states_;
  RecentCosts recent_costs_;
  ClusterChoices clusters_;
  ScoredStrategies scored_;          // under a power cap
  std::deque<ClusterBound> bounds_;  // by span of clocks
};

}  // namespace mirfak
