// Best-first branch and bound over the tree of strategies (search_tree.hpp). No strategy below a node is better than
// the node's merit. A queue gives the most promising node; the standing decides which nodes cannot matter any more.
// Nodes are taken out in fixed batches, worked on in parallel and put back in order, so that results do not depend on
// the number of threads.

#include "plan/search.hpp"

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "plan/node_queue.hpp"
#include "plan/planned_energy.hpp"
#include "plan/search_tree.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <thread>
#include <tuple>

namespace mirfak {

namespace {

constexpr std::size_t kBatch = 32;       // nodes taken out of the queue together
constexpr std::size_t kFirstBatch = 4;   // number of nodes while there is no standing to bound by
constexpr std::int64_t kDive = 16;       // strategies simulated in vain before the most promising nodes go first
constexpr std::size_t kSimulations = 4;  // most strategies to simulate in a batch

// Orders the most promising node first.
constexpr auto kLater = [](const QueuedNode& a, const QueuedNode& b) {
  return a.key != b.key ? a.key > b.key : a.node->place > b.node->place;
};

// Orders the deepest node first, to reach something that can be simulated.
constexpr auto kShallower = [](const QueuedNode& a, const QueuedNode& b) {
  return std::tuple(b.node->level, b.node->raised, a.key, a.node->place) >
         std::tuple(a.node->level, a.node->raised, b.key, b.node->place);
};

class Search {
 public:
  Search(const Job& job, const SearchSpec& spec, int threads, const SearchProgress& progress, const SearchStop& stop)
      : spec_(spec),
        threads_(threads),
        progress_(progress),
        stop_(stop),
        standing_(spec),
        tree_(job, spec, standing_, counts_, threads) {}

  SearchResult run();

 private:
  void plant(bool mixes);
  void walk();
  bool stops();
  void look_for_least_shortage();
  std::vector<SearchNode> take();
  std::optional<SearchNode> next();
  template <typename Queue>
  std::unique_ptr<SearchNode> pop(Queue& queue);
  void end_dive();
  // Returns true while no strategy is known to exclude others by: the node found last then goes first.
  bool dives() const { return standing_.empty() && counts_.simulated <= kDive; }
  std::optional<double> least_possible();
  void settle(std::vector<NodeOutcome>& outcomes);
  SearchResult result();
  void report_progress() const {
    if (progress_) progress_(counts_.done(), counts_.enumerated);
  }

  const SearchSpec& spec_;
  int threads_;
  const SearchProgress& progress_;
  const SearchStop& stop_;
  const std::thread::id thread_ = std::this_thread::get_id();
  std::atomic<bool> stopped_ = false;

  Standing standing_;
  FunnelCounts counts_;
  SearchTree tree_;
  NodeQueue<decltype(kLater)> queue_;
  NodeQueue<decltype(kShallower)> dive_;  // nodes found during a dive; they go before the queue
  std::vector<SearchNode> set_aside_;
  bool planted_ = false;    // something runs on some choice of nodes
  bool desperate_ = false;  // no strategy was found: nodes that cannot fit are looked at too
};

// Adds the choices of nodes of one type, or of several types, with their bounds.
void Search::plant(bool mixes) {
  for (SearchNode& root : tree_.roots(mixes)) {
    if (root.raised > 0 || stops()) {
      queue_.push(std::move(root));
    } else {
      for (SearchNode& child : tree_.work_on(root).children) queue_.push(std::move(child));
    }
  }
  planted_ = planted_ || !queue_.empty();
}

std::vector<SearchNode> Search::take() {
  std::vector<SearchNode> out;
  std::size_t simulations = 0;
  const std::size_t max_nodes = standing_.empty() ? kFirstBatch : kBatch;
  while (out.size() < max_nodes && simulations < kSimulations) {
    std::optional<SearchNode> node = next();
    if (!node) break;
    if (node->to_simulate()) ++simulations;
    out.push_back(*std::move(node));
  }
  return out;
}

// Takes the first node out of a queue. Pipelines to come stay there until the last of them has been taken out; null if
// the first of them is not ready.
template <typename Queue>
std::unique_ptr<SearchNode> Search::pop(Queue& queue) {
  std::unique_ptr<SearchNode> node = queue.pop();
  if (node->to_come() == nullptr) return node;
  const double other_key = queue.empty() ? std::numeric_limits<double>::infinity() : queue.first_key();
  std::unique_ptr<SearchNode> first = tree_.take_pipeline(*node, other_key, counts_);
  if (node->strategies > 0) queue.push(std::move(node));
  return first;
}

// Returns the most promising node that may matter or, during a dive, the deepest.
std::optional<SearchNode> Search::next() {
  if (!dives()) end_dive();
  while (!dive_.empty()) {
    if (const std::unique_ptr<SearchNode> node = pop(dive_)) return std::move(*node);
  }
  while (!queue_.empty()) {
    const std::unique_ptr<SearchNode> node = pop(queue_);
    if (node == nullptr) continue;
    if (tree_.lacks_more(*node)) {
      counts_.too_large += node->strategies;
    } else if (node->excluded_by(standing_)) {
      counts_.bounded += node->strategies;
    } else {
      return std::move(*node);
    }
  }
  return std::nullopt;
}

void Search::end_dive() {
  while (!dive_.empty()) queue_.push(std::move(*dive_.pop()));
}

// Adds up the results in the order in which nodes were taken out.
void Search::settle(std::vector<NodeOutcome>& outcomes) {
  for (NodeOutcome& outcome : outcomes) {
    counts_ += outcome.counts;
    if (outcome.entry) standing_.add(std::move(*outcome.entry));
    if (outcome.scored) tree_.learn(*outcome.scored);
    std::move(outcome.set_aside.begin(), outcome.set_aside.end(), std::back_inserter(set_aside_));
  }
  for (NodeOutcome& outcome : outcomes) {
    for (SearchNode& child : outcome.children) {
      if (child.excluded_by(standing_)) {
        counts_.bounded += child.strategies;
      } else {
        dives() && !desperate_ ? dive_.push(std::move(child)) : queue_.push(std::move(child));
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
  const std::vector<LeftOut> left_out = tree_.left_out();
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
    std::vector<SearchNode> batch = take();
    if (batch.empty()) return;
    std::vector<NodeOutcome> outcomes(batch.size());
    std::vector<std::uint8_t> done(batch.size());
    parallel_for(
        batch.size(),
        [&](std::size_t i) {
          if (stops()) return;
          outcomes[i] = tree_.work_on(batch[i]);
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
  tree_.look_for_shortage();
  for (SearchNode& node : set_aside_) {
    counts_.too_large -= node.strategies;
    tree_.bound_lack(node);
    queue_.push(std::move(node));
  }
  walk();
}

// Returns the least objective of the strategies found and of the nodes not looked at.
std::optional<double> Search::least_possible() {
  if (!stopped_ || spec_.objective == SearchObjective::pareto) return std::nullopt;
  end_dive();
  double least = queue_.empty() ? std::numeric_limits<double>::infinity() : queue_.first_key();
  for (const FoundStrategy& found : standing_.found()) {
    least = std::min(least, standing_.value({found.iteration_time_s, found.cost_usd, found.energy_j, found.finish_s}));
  }
  const bool known = least > 0 && std::isfinite(least);  // 0: stopped before anything was bounded
  return known ? std::optional(least) : std::nullopt;
}

SearchResult Search::result() {
  SearchResult out;
  out.least_possible = least_possible();
  out.complete = !stopped_;
  out.strategies = standing_.found();
  out.funnel = counts_.steps();
  if (std::isfinite(counts_.min_shortage)) out.min_shortage_bytes = counts_.min_shortage;
  if (std::isfinite(counts_.min_shortage) && spec_.fit_probability > 0 && !counts_.nearest.of_host) {
    out.nearest_fit_probability = tree_.fit_probability_of(counts_.nearest);
  }
  if (counts_.max_free >= 0) out.headroom_that_fits = counts_.max_free;
  out.left_out = tree_.left_out();
  return out;
}

}  // namespace

bool has_limits(const SearchSpec& spec) {
  return spec.deadline_s > 0 || spec.budget_usd > 0 || spec.power_cap_w > 0 || spec.power_limits != PowerFigures();
}

SearchSpec without_limits(SearchSpec spec) {
  spec.deadline_s = spec.budget_usd = spec.power_cap_w = 0;
  spec.power_limits = {};
  return spec;
}

MemoryLimit memory_limit(const Job& job, const SearchSpec& spec) {
  MemoryLimit limit = limit_of_probability(job.ranges.memory.device, spec.fit_probability);
  limit.headroom = spec.headroom;
  return limit;
}

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
