// Best-first branch and bound over a tree: a branch has its layout and its blocks, a pipeline of the branch also has
// its split of layers, a strategy also has its state. No strategy of a node is below the node's merit. A queue gives
// the most promising node; the standing decides which nodes cannot matter any more. Nodes are taken out in fixed
// batches, worked on in parallel and put back in order, so that results do not depend on the number of threads.

#include "plan/search.hpp"

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "plan/branch.hpp"
#include "plan/cluster_bound.hpp"
#include "plan/cluster_choices.hpp"
#include "plan/layout_sites.hpp"
#include "plan/memory_filter.hpp"
#include "plan/pipeline_bound.hpp"
#include "plan/planned_energy.hpp"
#include "plan/replica_bound.hpp"
#include "plan/rule_filter.hpp"
#include "plan/search_node.hpp"
#include "plan/standing.hpp"
#include "plan/time_spent.hpp"
#include "program/data_parallel.hpp"
#include "simulation/score.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <deque>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <thread>
#include <tuple>

namespace mirfak {

namespace {

// Returns true if strategies are excluded by their energy.
bool energy_counts(const SearchSpec& spec) {
  return spec.objective == SearchObjective::energy || spec.objective == SearchObjective::pareto || spec.power_cap_w > 0;
}

constexpr std::size_t kBatch = 32;       // nodes taken out of the queue together
constexpr std::size_t kFirstBatch = 4;   // number of nodes while there is no standing to bound by
constexpr std::int64_t kDive = 16;       // strategies simulated in vain before the most promising nodes go first
constexpr std::size_t kSimulations = 4;  // most strategies to simulate in a batch

class Search {
 public:
  Search(const Job& job, const SearchSpec& spec, int threads, const SearchProgress& progress, const SearchStop& stop)
      : job_(job),
        spec_(spec),
        threads_(threads),
        progress_(progress),
        stop_(stop),
        shared_(spec.space.demanding_schedule()),
        rules_(job, spec.rules),
        states_(state_choices(spec.space, job.framework)),
        clusters_(job, spec),
        standing_(spec) {
    for (std::size_t span = 0; span < clusters_.spans().size(); ++span) {
      energy_asked_.push_back({energy_counts(spec), clusters_.lowest_share(span)});
      bounds_.emplace_back(clusters_.job_of(span), spec.space, states_, spec.headroom, shared_, energy_asked_.back());
    }
  }

  SearchResult run();

 private:
  using Node = SearchNode;
  using Outcome = NodeOutcome;
  std::vector<Node> layouts_of(const Node& cluster) const;
  void add_branches(const Node& blocks, const Strategy& choice, Outcome& out);
  void add_listed(Node child, Outcome& out);
  void plant(bool mixes);
  void walk();
  bool stops();
  void look_for_least_shortage();
  std::vector<Node> take();
  std::optional<Node> next();
  void end_dive();
  std::optional<double> least_possible();
  void settle(std::vector<Outcome>& outcomes);
  Outcome work_on(const Node& node);
  Outcome expand_clocks(const Node& node);
  Outcome expand_cluster(const Node& node);
  Outcome expand_layout(const Node& node);
  Outcome expand_blocks(const Node& node);
  Outcome list_branch(const Node& node);
  Outcome expand_branch(const Node& node);
  Outcome expand_pipeline(const Node& node);
  Outcome bound_closer(const Node& node);
  Outcome judge(const Node& node);
  Merit merit_of(const Node& node, const IterationScore& score) const;
  bool capped() const { return spec_.power_cap_w > 0; }
  bool lower_clocks(const Node& node, Job& job, IterationScore& score) const;
  void bound_pipeline(Node& node) const;
  const std::vector<StateChoice>& states_of(const Branch& branch) const {
    return states_[gathers_in_passes(job_.framework, branch.job().strategy.zero) ? 1 : 0];
  }
  std::optional<Node> next_of_row(const Node& node) const;
  void add_strategies(const Node& node, Outcome& out);
  Strategy strategy_of(const Node& node) const;
  SearchResult result();
  Merit merit(std::size_t cluster, Picoseconds time, double working_j) const;
  Merit merit(std::size_t cluster, const ClusterBound::Least& least) const;
  Merit merit(std::size_t cluster, const Branch& branch) const;
  double key_of(const Merit& bound) const;
  // Returns false if the only choice is all nodes of a single type. Everything is then listed at once: most of it is
  // looked at, and the funnel counts all.
  bool lazy() const { return clusters_.size() > 1 || job_.cluster.groups().size() > 1; }
  void report_progress();

  const Job& job_;
  const SearchSpec& spec_;
  int threads_;
  const SearchProgress& progress_;
  const SearchStop& stop_;
  const std::thread::id thread_ = std::this_thread::get_id();
  std::atomic<bool> stopped_ = false;

  SharedBlocks shared_;
  RuleFilter rules_;
  ScheduleFacts facts_;
  StateChoices states_;
  RecentCosts recent_costs_;
  ClusterChoices clusters_;
  // Requests of energy and bounds, by span of clocks.
  std::vector<EnergyAsked> energy_asked_;
  std::deque<ClusterBound> bounds_;
  std::priority_queue<Node, std::vector<Node>, LaterNode> queue_;
  // Nodes found while no strategy was simulated; they go before the queue.
  std::priority_queue<Node, std::vector<Node>, ShallowerNode> dive_;
  Standing standing_;
  std::vector<Node> set_aside_;
  bool planted_ = false;    // something runs on some choice of nodes
  bool desperate_ = false;  // no strategy was found: nodes that cannot fit are looked at too
  std::int64_t enumerated_ = 0;
  std::int64_t against_rules_ = 0;
  std::int64_t too_large_ = 0;
  std::int64_t bounded_ = 0;
  std::int64_t simulated_ = 0;
  double min_shortage_ = std::numeric_limits<double>::infinity();
  double max_free_ = -std::numeric_limits<double>::infinity();
  std::array<std::atomic<std::int64_t>, kSteps> spent_{};
};

Merit Search::merit(std::size_t cluster, Picoseconds time, double working_j) const {
  return clusters_[cluster].rates.least(to_seconds(time), working_j);
}

Merit Search::merit(std::size_t cluster, const ClusterBound::Least& least) const {
  const auto sequences = static_cast<double>(job_.training.global_batch);
  return clusters_[cluster].rates.least(least.seconds, least.working_j, least.types, sequences);
}

Merit Search::merit(std::size_t cluster, const Branch& branch) const {
  return clusters_[cluster].rates.least(to_seconds(branch.bound()), branch.min_energy_j(), branch.work_places(),
                                        branch.microbatches());
}

double Search::key_of(const Merit& bound) const {
  switch (spec_.objective) {
    case SearchObjective::cost:
      return bound.cost_usd;
    case SearchObjective::energy:
      return bound.energy_j;
    case SearchObjective::finish:
      return bound.finish_s;
    default:
      return bound.time_s;
  }
}

// Adds the choices of nodes of one type, or of several types, at the clocks of the job's cluster.
void Search::plant(bool mixes) {
  for (std::size_t i = 0; i < clusters_.size(); i += clusters_.spans().size()) {
    if ((types_of(clusters_[i].counts) > 1) != mixes) continue;
    Node node;
    node.cluster = static_cast<std::uint32_t>(i);
    node.place.nodes = clusters_[i].number;
    node.strategies = 0;  // counted when they are listed
    if (!lazy() || stops()) {
      node.kind = lazy() ? Node::Kind::clocks : Node::Kind::cluster;
      queue_.push(std::move(node));
      continue;
    }
    for (Node& child : expand_clocks(node).children) queue_.push(std::move(child));
  }
  planted_ = planted_ || !queue_.empty();
}

// Bounds a choice of nodes by its blocks, and the next lower clocks by the same time: nothing is faster there.
Search::Outcome Search::expand_clocks(const Node& node) {
  const ClusterChoices::Choice& choice = clusters_[node.cluster];
  const ClusterBound::Least least = bounds_[choice.span].least(choice.counts);
  Outcome out;
  if (!std::isfinite(least.seconds)) return out;  // no choice of blocks runs there
  Node child = node;
  child.kind = Node::Kind::cluster;
  child.bound = merit(node.cluster, least);
  child.key = key_of(child.bound);
  out.add(std::move(child), standing_);
  if (choice.span + 1 == clusters_.spans().size()) return out;
  Node lower = node;
  lower.kind = Node::Kind::clocks;
  ++lower.cluster;
  ++lower.place.span;
  lower.bound = choice.rates.least(least.seconds, 0);
  lower.key = key_of(lower.bound);
  out.add(std::move(lower), standing_);
  return out;
}

std::vector<Search::Node> Search::take() {
  std::vector<Node> out;
  std::size_t simulations = 0;
  const std::size_t max_nodes = standing_.empty() ? kFirstBatch : kBatch;
  while (out.size() < max_nodes) {
    std::optional<Node> node = next();
    if (!node) break;
    const bool last = node->kind == Node::Kind::candidate && ++simulations == kSimulations;
    out.push_back(*std::move(node));
    if (last) break;
  }
  return out;
}

// Returns the most promising node that may matter. While no strategy is known to exclude by, the node found last goes
// first.
std::optional<Search::Node> Search::next() {
  if (!standing_.empty() || simulated_ > kDive) end_dive();
  if (!dive_.empty()) {
    Node node = dive_.top();
    dive_.pop();
    return node;
  }
  while (!queue_.empty()) {
    Node node = queue_.top();
    queue_.pop();
    if (!node.excluded_by(standing_)) return node;
    bounded_ += node.strategies;
  }
  return std::nullopt;
}

void Search::end_dive() {
  for (; !dive_.empty(); dive_.pop()) queue_.push(dive_.top());
}

Strategy Search::strategy_of(const Node& node) const {
  Strategy strategy = node.branch->job().strategy;
  node.pipeline.apply_to(strategy, node.branch->layout().classes);
  node.state.apply_to(strategy);
  return strategy;
}

Search::Outcome Search::work_on(const Node& node) {
  switch (node.kind) {
    case Node::Kind::clocks:
      return expand_clocks(node);
    case Node::Kind::cluster:
      return expand_cluster(node);
    case Node::Kind::layout:
      return expand_layout(node);
    case Node::Kind::blocks:
      return expand_blocks(node);
    case Node::Kind::unlisted:
      return list_branch(node);
    case Node::Kind::branch:
      return expand_branch(node);
    case Node::Kind::pipeline:
      return expand_pipeline(node);
    case Node::Kind::strategy:
      return bound_closer(node);
    default:
      return judge(node);
  }
}

std::vector<Search::Node> Search::layouts_of(const Node& cluster) const {
  std::vector<Node> out;
  const ClusterChoices::Choice& choice = clusters_[cluster.cluster];
  const Job& job = clusters_.job_of(choice.span);
  const std::shared_ptr<const Cluster> nodes = in_every_order(job.cluster, choice.counts).front();
  for (const Strategy& layout : layouts(spec_.space, *nodes)) {
    Node& child = out.emplace_back(cluster);
    child.kind = Node::Kind::layout;
    child.place.layout = static_cast<std::uint32_t>(out.size());
    const bool fixed = spec_.space.stages == StageShapes::fixed;
    child.layout = std::make_shared<LayoutSites>(job, choice.counts, layout, fixed);
  }
  return out;
}

// Lists all branches with their bounds, or only layouts, most of which are never looked at again.
Search::Outcome Search::expand_cluster(const Node& node) {
  std::vector<Node> layouts = layouts_of(node);
  Outcome out;
  if (lazy()) {
    const ClusterChoices::Choice& choice = clusters_[node.cluster];
    for (Node& child : layouts) {
      const ClusterBound::Least least = bounds_[choice.span].least(choice.counts, child.layout->layout());
      if (!std::isfinite(least.seconds)) continue;
      child.bound = merit(node.cluster, least);
      child.key = key_of(child.bound);
      out.add(std::move(child), standing_);
    }
    return out;
  }
  std::vector<Outcome> grown(layouts.size());
  parallel_for(
      layouts.size(),
      [&](std::size_t i) {
        Node& layout = layouts[i];
        for (const Strategy& choice : block_choices(spec_.space, layout.layout->layout(), job_.framework)) {
          add_branches(layout, choice, grown[i]);
          ++layout.choice;
        }
      },
      threads_);
  for (Outcome& each : grown) {
    out.enumerated += each.enumerated;
    out.against_rules += each.against_rules;
    out.bounded += each.bounded;
    std::move(each.children.begin(), each.children.end(), std::back_inserter(out.children));
  }
  return out;
}

Search::Outcome Search::expand_layout(const Node& node) {
  const TimeSpent time(spent_[enumerated]);
  Outcome out;
  const Strategy& layout = node.layout->layout();
  const NodeCounts& counts = clusters_[node.cluster].counts;
  ClusterBound& bound = bounds_[node.place.span];
  const auto choices = static_cast<std::uint32_t>(block_choices(spec_.space, layout, job_.framework).size());
  for (std::uint32_t choice = 0; choice < choices; ++choice) {
    const ClusterBound::Least least = bound.least(counts, layout, choice);
    if (!std::isfinite(least.seconds)) continue;
    Node child = node;
    child.kind = Node::Kind::blocks;
    child.choice = choice;
    child.bound = merit(node.cluster, least);
    child.key = key_of(child.bound);
    if (!desperate_ && !child.excluded_by(standing_) && !bound.may_fit(counts, layout, choice)) {
      out.set_aside.push_back(std::move(child));
    } else {
      out.add(std::move(child), standing_);
    }
  }
  return out;
}

Search::Outcome Search::expand_blocks(const Node& node) {
  Outcome out;
  add_branches(node, block_choices(spec_.space, node.layout->layout(), job_.framework)[node.choice], out);
  return out;
}

Search::Outcome Search::list_branch(const Node& node) {
  Outcome out;
  add_listed(node, out);
  return out;
}

// Adds the branches on nodes in every order.
void Search::add_branches(const Node& blocks, const Strategy& choice, Outcome& out) {
  for (LayoutSite& site : blocks.layout->sites()) {
    const TimeSpent time(spent_[enumerated]);
    const Strategy placed = site.placed(choice);
    const bool allowed = rules_.allows_branch(placed, *site.cluster);
    const auto costs = allowed ? blocks.layout->costs(site, placed, recent_costs_) : nullptr;
    if (!costs) {
      // Nothing of the branch runs: the branch counts once.
      ++out.enumerated;
      ++out.against_rules;
      continue;
    }
    Node child = blocks;
    child.kind = Node::Kind::unlisted;
    child.branch =
        std::make_shared<Branch>(costs, placed, spec_.space, shared_, energy_asked_[blocks.place.span], spec_.headroom);
    child.bound = merit(blocks.cluster, *child.branch);
    child.key = key_of(child.bound);
    child.place.order = site.order;
    child.place.spread = site.spread ? 1 : 0;
    child.place.branch = blocks.choice;
    add_listed(std::move(child), out);
  }
}

// Lists a branch. A branch of which nothing can fit is not listed unless everything is.
void Search::add_listed(Node child, Outcome& out) {
  if (lazy() && child.excluded_by(standing_)) return;
  if (lazy() && !desperate_ && !child.branch->may_fit(states_of(*child.branch), shared_)) {
    out.set_aside.push_back(std::move(child));
    return;
  }
  child.kind = Node::Kind::branch;
  child.branch->list(spec_.space, shared_);
  child.bound = merit(child.cluster, *child.branch);
  child.key = key_of(child.bound);
  child.strategies = child.branch->rows() * static_cast<std::int64_t>(states_of(*child.branch).size());
  out.enumerated += child.strategies;
  if (child.strategies > 0) out.add(std::move(child), standing_);
}

Search::Outcome Search::expand_branch(const Node& node) {
  const TimeSpent time(spent_[after_bounds]);
  Outcome out;
  if (!desperate_ && !node.branch->may_fit(states_of(*node.branch), shared_)) {
    out.too_large = node.strategies;
    out.set_aside.push_back(node);
    return out;
  }
  node.branch->price(shared_);
  const auto states = static_cast<std::int64_t>(states_of(*node.branch).size());
  const auto may = [&](Picoseconds bound) {
    return !standing_.excludes(merit(node.cluster, bound, node.branch->min_energy_j()), node.place);
  };
  const auto add = [&](const PipelineChoice& choice, std::size_t number) {
    Node child = node;
    child.kind = Node::Kind::pipeline;
    child.place.pipeline = static_cast<std::uint32_t>(number);
    child.pipeline = choice;
    child.strategies = static_cast<std::int64_t>(choice.row->size()) * states;
    bound_pipeline(child);
    out.add(std::move(child), standing_);
  };
  out.bounded += states * node.branch->visit_pipelines(may, add);
  return out;
}

void Search::bound_pipeline(Node& node) const {
  const PipelineBound bound = pipeline_bound(*node.branch, node.pipeline);
  node.bound = merit(node.cluster, bound.last, bound.energy_j);
  node.key = key_of(node.bound);
}

// Returns the next choice of the row, which recomputes more than this one.
std::optional<Search::Node> Search::next_of_row(const Node& node) const {
  const std::vector<RecomputedLayers>& row = *node.pipeline.row;
  const auto next = std::find(row.begin(), row.end(), node.pipeline.recompute_layers) + 1;
  if (next == row.end()) return std::nullopt;
  Node sibling = node;
  sibling.pipeline.recompute_layers = *next;
  ++sibling.place.row;
  sibling.strategies -= static_cast<std::int64_t>(states_of(*node.branch).size());
  bound_pipeline(sibling);
  return sibling;
}

// If nothing fits, the next choice of the row, which needs less memory, is tried at once, a few times.
Search::Outcome Search::expand_pipeline(const Node& node) {
  const TimeSpent time(spent_[after_memory]);
  constexpr int tries = 8;
  Outcome out;
  add_strategies(node, out);
  std::optional<Node> next = next_of_row(node);
  for (int i = 1; i < tries && next && out.children.empty() && !next->excluded_by(standing_); ++i) {
    add_strategies(*next, out);
    next = next_of_row(*next);
  }
  if (next) out.add(std::move(*next), standing_);
  return out;
}

// Adds the strategies of a pipeline that keep the rules, fit and may be among the results.
void Search::add_strategies(const Node& node, Outcome& out) {
  Branch& branch = *node.branch;
  const std::vector<std::vector<ChunkPlan>> chunks = chunks_of(branch, node.pipeline);
  MemoryOfChunks memory(branch, node.pipeline, chunks);
  const PipelineBound passes = pipeline_bound(branch, node.pipeline);
  const std::vector<StateChoice>& choices = states_of(branch);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    Node child = node;
    child.kind = Node::Kind::strategy;
    child.state = choices[i];
    child.strategies = 1;
    child.place.state = static_cast<std::uint32_t>(i);
    if (!rules_.allows(strategy_of(child), branch.job().cluster)) {
      ++out.against_rules;
      continue;
    }
    const std::vector<StateTerms> states = branch.state_terms(chunks, child.state);
    const MemoryRoom room = memory_room(branch, node.pipeline, memory.under(child.state), states, facts_);
    if (room.shortage > 0) {
      out.count_too_large(room);
      continue;
    }
    child.bound = merit(node.cluster, iteration_bound(branch, passes, states, child.state), passes.energy_j);
    child.key = key_of(child.bound);
    out.add(std::move(child), standing_);
  }
}

Search::Outcome Search::bound_closer(const Node& node) {
  const TimeSpent time(spent_[after_bounds]);
  Branch& branch = *node.branch;
  const PipelineBound passes = bound_with_replicas(branch, node.pipeline, node.state, facts_);
  const std::vector<StateTerms> states = branch.state_terms(chunks_of(branch, node.pipeline), node.state);
  Node child = node;
  child.kind = Node::Kind::candidate;
  child.bound = merit(node.cluster, iteration_bound(branch, passes, states, node.state), passes.energy_j);
  child.key = key_of(child.bound);
  Outcome out;
  out.add(std::move(child), standing_);
  return out;
}

Search::Outcome Search::judge(const Node& node) {
  const TimeSpent time(spent_[simulated]);
  Outcome out;
  const auto hopeless = [&](const IterationScore& bound) {
    const Merit least = capped() ? merit(node.cluster, bound.time, 0) : merit_of(node, bound);
    return standing_.excludes(least, node.place);
  };
  Job job = node.branch->job();
  job.strategy = strategy_of(node);
  std::optional<IterationScore> score = node.branch->score(job, hopeless);
  if (score && score->room.shortage > 0) {
    out.count_too_large(score->room);
    return out;
  }
  out.simulated = score.has_value();
  out.bounded = score ? 0 : 1;
  if (!score || (capped() && !lower_clocks(node, job, *score))) return out;
  const Merit merit = merit_of(node, *score);
  out.entry = {
      merit, node.place, {std::move(job), merit.time_s, merit.cost_usd, merit.energy_j, {}, {}, merit.finish_s}};
  return out;
}

Merit Search::merit_of(const Node& node, const IterationScore& score) const {
  const double seconds = to_seconds(score.time);
  const ClusterRates& rates = clusters_[node.cluster].rates;
  return {seconds, rates.usd_per_s * seconds, score.energy_j, rates.finish_at(seconds)};
}

// Lowers the clocks no further than a power cap demands. `job` and `score`: at the highest clocks of the node's span.
// Returns false if the strategy does not run at clocks of that span.
bool Search::lower_clocks(const Node& node, Job& job, IterationScore& score) const {
  const ClockSpan span = clusters_.spans()[node.place.span];
  std::map<std::uint32_t, IterationScore> scores = {{span.highest, score}};
  const auto set = [&](std::uint32_t clock) {
    job.cluster = clusters_.placed(clusters_[node.cluster], clock, node.place.order, node.place.spread > 0,
                                   job.strategy.pipeline);
  };
  const auto power_w = [&](std::uint32_t clock) {
    if (!scores.contains(clock)) {
      set(clock);
      scores.emplace(clock, node.branch->score(job, {}).value());
    }
    const IterationScore& at = scores.at(clock);
    return at.energy_j / to_seconds(at.time);
  };
  const std::optional<std::uint32_t> clock = clock_that_keeps(span, spec_.power_cap_w, power_w);
  if (!clock) return false;
  set(*clock);
  score = scores.at(*clock);
  return true;
}

void Search::report_progress() {
  if (progress_) progress_(against_rules_ + too_large_ + bounded_ + simulated_, enumerated_);
}

// Adds up the results in the order in which nodes were taken out.
void Search::settle(std::vector<Outcome>& outcomes) {
  for (Outcome& outcome : outcomes) {
    enumerated_ += outcome.enumerated;
    against_rules_ += outcome.against_rules;
    too_large_ += outcome.too_large;
    min_shortage_ = std::min(min_shortage_, outcome.min_shortage);
    max_free_ = std::max(max_free_, outcome.max_free);
    simulated_ += outcome.simulated ? 1 : 0;
    bounded_ += outcome.bounded;
    if (outcome.entry) standing_.add(std::move(*outcome.entry));
    std::move(outcome.set_aside.begin(), outcome.set_aside.end(), std::back_inserter(set_aside_));
  }
  for (Outcome& outcome : outcomes) {
    for (Node& child : outcome.children) {
      if (child.excluded_by(standing_)) {
        bounded_ += child.strategies;
      } else {
        standing_.empty() && !desperate_ && simulated_ <= kDive ? dive_.push(std::move(child))
                                                                : queue_.push(std::move(child));
      }
    }
  }
}

// Few choices have one type; the strategies found on them exclude most of the mixes.
SearchResult Search::run() {
  for (const bool mixes : {false, true}) {
    plant(mixes);
    if (!stopped_) walk();
  }
  const std::vector<LeftOut> left_out = bounds_.front().left_out();
  if (!planted_ && !left_out.empty()) {
    fail_infeasible({}, "nothing runs on " + left_out.front().nodes + ": " + left_out.front().reason,
                    "leave these nodes out, or set search.nodes: up-to so that jobs without them are found");
  }
  if (standing_.empty() && !stopped_) look_for_least_shortage();
  report_progress();
  return result();
}

void Search::walk() {
  while (!stopped_) {
    std::vector<Node> batch = take();
    if (batch.empty()) return;
    std::vector<Outcome> outcomes(batch.size());
    std::vector<std::uint8_t> done(batch.size());
    parallel_for(
        batch.size(),
        [&](std::size_t i) {
          if (stops()) return;
          outcomes[i] = work_on(batch[i]);
          done[i] = 1;
        },
        threads_);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (done[i] == 0) queue_.push(std::move(batch[i]));
    }
    settle(outcomes);
    report_progress();
  }
}

// Asks `stop_` only on the thread that searches; the other threads read the answer.
bool Search::stops() {
  if (stop_ && std::this_thread::get_id() == thread_ && stop_()) stopped_ = true;
  return stopped_;
}

// Finds the bytes that the best strategy lacks among branches of which nothing fits, after a search without results.
void Search::look_for_least_shortage() {
  desperate_ = true;
  for (Node& node : set_aside_) {
    too_large_ -= node.strategies;
    queue_.push(std::move(node));
  }
  walk();
}

// Returns the least objective of the strategies found and of the nodes not looked at.
std::optional<double> Search::least_possible() {
  if (!stopped_ || spec_.objective == SearchObjective::pareto) return std::nullopt;
  end_dive();
  double least = queue_.empty() ? std::numeric_limits<double>::infinity() : queue_.top().key;
  for (const FoundStrategy& found : standing_.found()) {
    least = std::min(least, key_of({found.iteration_time_s, found.cost_usd, found.energy_j, found.finish_s}));
  }
  const bool known = least > 0 && std::isfinite(least);  // 0: stopped before anything was bounded
  return known ? std::optional(least) : std::nullopt;
}

SearchResult Search::result() {
  SearchResult out;
  out.least_possible = least_possible();
  out.complete = !stopped_;
  out.strategies = standing_.found();
  const auto seconds = [&](Step step) { return static_cast<double>(spent_[step].load()) * 1e-9; };
  std::int64_t left = enumerated_;
  out.funnel = {{"enumerated", left, seconds(enumerated)},
                {"after rules", left -= against_rules_, seconds(after_rules)},
                {"after memory", left -= too_large_, seconds(after_memory)},
                {"after bounds", left -= bounded_, seconds(after_bounds)},
                {"simulated", simulated_, seconds(simulated)}};
  if (std::isfinite(min_shortage_)) out.min_shortage_bytes = min_shortage_;
  if (max_free_ >= 0) out.headroom_that_fits = max_free_;
  out.left_out = bounds_.front().left_out();
  return out;
}

}  // namespace

const std::vector<std::string>& search_objective_names() {
  static const std::vector<std::string> names = {"time", "cost", "energy", "pareto", "time-to-finish"};
  return names;
}

SearchResult search(const Job& job, const SearchSpec& spec, int threads, const SearchProgress& progress,
                    const SearchStop& stop) {
  SearchResult result = Search(job, spec, threads, progress, stop).run();
  if (spec.objective != SearchObjective::pareto) return result;
  parallel_for(
      result.strategies.size(),
      [&](std::size_t i) { result.strategies[i].planned = planned_energy(result.strategies[i]); }, threads);
  return result;
}

}  // namespace mirfak
