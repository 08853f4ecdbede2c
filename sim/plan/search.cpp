// Best first branch and bound. The space is a tree: a branch has its layout and its blocks, a pipeline of the branch
// its split of layers, a strategy its state too. Each node has a merit that none of its strategies is below. A queue
// gives the most promising node; the standing says which nodes cannot matter any more. Nodes are taken out in fixed
// batches, worked on in parallel and put back in order, so that the number of threads decides nothing.

#include "plan/search.hpp"

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "engine/score.hpp"
#include "plan/branch.hpp"
#include "plan/candidate_clusters.hpp"
#include "plan/pipeline_bound.hpp"
#include "plan/standing.hpp"
#include "program/data_parallel.hpp"
#include "program/memory.hpp"
#include "schedule/in_flight.hpp"
#include "strategy/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <tuple>

namespace mirfak {

namespace {

constexpr double kSecondsPerHour = 3600;
constexpr std::size_t kBatch = 48;       // nodes taken out of the queue together
constexpr std::size_t kSimulations = 8;  // ... of these, strategies to simulate

// What waiting and being rented costs, of a whole cluster.
struct ClusterRates {
  double usd_per_s = 0;
  double blocked_w = 0;
};

ClusterRates rates_of(const Cluster& cluster) {
  ClusterRates out;
  bool priced = true;
  for (const NodeGroup& group : cluster.groups()) {
    const double gpus = static_cast<double>(group.count) * group.hardware.spec.gpus;
    out.blocked_w += gpus * group.hardware.gpu.blocked_w.value;
    priced = priced && group.price;
    if (group.price) out.usd_per_s += gpus * group.price->usd_per_gpu_hour.value / kSecondsPerHour;
  }
  if (!priced) out.usd_per_s = 0;
  return out;
}

// Moments of full memory, by schedule and shape: of each stage.
class Moments {
 public:
  using Stages = std::vector<std::vector<InFlightMoment>>;

  std::shared_ptr<const Stages> of(ScheduleKind schedule, const PipelineShape& shape) {
    const auto key = std::tuple(schedule, shape.stages, shape.chunks, shape.microbatches, shape.group);
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = known_.find(key); known != known_.end()) return known->second;
    }
    auto made = std::make_shared<Stages>();
    for (int stage = 0; stage < shape.stages; ++stage) made->push_back(fullest_moments(schedule, shape, stage));
    const std::lock_guard lock(mutex_);
    return known_.emplace(key, std::move(made)).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::tuple<ScheduleKind, int, int, int, int>, std::shared_ptr<const Stages>> known_;
};

// Processor time of all threads.
class Clock {
 public:
  explicit Clock(std::atomic<std::int64_t>& sum) : sum_(sum), started_(std::chrono::steady_clock::now()) {}
  ~Clock() {
    sum_ += std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - started_).count();
  }
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

 private:
  std::atomic<std::int64_t>& sum_;
  std::chrono::steady_clock::time_point started_;
};

enum Step : std::uint8_t { enumerated, after_rules, after_memory, after_bounds, simulated };
constexpr std::size_t kSteps = 5;

class Search {
 public:
  Search(const Job& job, const SearchSpec& spec, int threads, const SearchProgress& progress)
      : job_(job),
        clusters_(candidate_clusters(job.cluster, spec)),
        spec_(spec),
        threads_(threads),
        progress_(progress),
        standing_(spec) {}

  SearchResult run();

 private:
  struct Node {
    enum class Kind : std::uint8_t { branch, pipeline, strategy };
    Merit bound;
    double key = 0;
    std::uint64_t place = 0;
    Kind kind{};
    std::uint32_t branch = 0;
    std::int64_t strategies = 1;  // below it
    PipelineChoice pipeline;
    StateChoice state;
  };
  struct Later {
    bool operator()(const Node& a, const Node& b) const {
      return std::tuple(a.key, a.place) > std::tuple(b.key, b.place);
    }
  };
  // What became of a node.
  struct Outcome {
    std::vector<Node> children;
    std::optional<Standing::Entry> entry;
    std::int64_t against_rules = 0;
    std::int64_t too_large = 0;
    bool simulated = false;
    bool excluded = false;
  };
  struct Root {
    std::size_t cluster = 0;
    std::shared_ptr<Branch> branch;
    std::vector<std::size_t> states;  // of all, those that run its blocks
  };

  void list_states();
  std::vector<std::size_t> states_that(bool gather_in_passes, Job job) const;
  void plant();
  std::vector<Node> take();
  Outcome work_on(const Node& node);
  Outcome expand(const Node& node, Branch& branch);
  Outcome expand_pipeline(const Node& node, Branch& branch);
  Outcome judge(const Node& node, Branch& branch);
  bool fits(Branch& branch, const PipelineChoice& choice, const std::vector<std::vector<ChunkPlan>>& chunks,
            const std::vector<ChunkMemory>& memory, const std::vector<StateTerms>& states);
  Strategy strategy_of(const Node& node) const;
  Merit merit(std::size_t cluster, Picoseconds time, double energy_above_waiting_j) const;
  double key_of(const Merit& bound) const;
  void report_progress();

  const Job& job_;
  std::vector<Cluster> clusters_;
  const SearchSpec& spec_;
  int threads_;
  const SearchProgress& progress_;

  SharedBlocks shared_;
  Moments moments_;
  std::vector<StateChoice> states_;
  std::vector<ClusterRates> rates_;
  std::vector<Root> roots_;
  std::priority_queue<Node, std::vector<Node>, Later> queue_;
  Standing standing_;
  std::int64_t enumerated_ = 0;
  std::int64_t against_rules_ = 0;
  std::int64_t too_large_ = 0;
  std::int64_t bounded_ = 0;
  std::int64_t simulated_ = 0;
  std::array<std::atomic<std::int64_t>, kSteps> spent_{};
};

Merit Search::merit(std::size_t cluster, Picoseconds time, double energy_above_waiting_j) const {
  const ClusterRates& rates = rates_[cluster];
  const double seconds = to_seconds(time);
  constexpr double rounding = 1 - 1e-9;  // the engine adds up in another order
  return {seconds, rates.usd_per_s * seconds, (energy_above_waiting_j + rates.blocked_w * seconds) * rounding};
}

double Search::key_of(const Merit& bound) const {
  switch (spec_.objective) {
    case SearchObjective::cost:
      return bound.cost_usd;
    case SearchObjective::energy:
      return bound.energy_j;
    default:
      return bound.time_s;
  }
}

void Search::list_states() {
  const StrategySpace& space = spec_.space;
  for (const int zero : space.zero) {
    for (const bool reduce : space.overlap_grad_reduce) {
      for (const bool gather : space.overlap_param_gather) states_.push_back({zero, reduce, gather});
    }
  }
}

// Parameters that are gathered around each pass make other blocks than those that stay whole.
std::vector<std::size_t> Search::states_that(bool gather_in_passes, Job job) const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    states_[i].apply_to(job.strategy);
    if (data_parallel_plan(job).gathers_in_passes() == gather_in_passes) out.push_back(i);
  }
  return out;
}

// All branches with their bounds.
void Search::plant() {
  struct Seed {
    std::size_t cluster = 0;
    std::shared_ptr<const LayoutCosts> layout;
    Strategy strategy;
    std::vector<std::size_t> states;
  };
  std::vector<Seed> seeds;
  std::vector<std::pair<std::size_t, Strategy>> all;
  for (std::size_t cluster = 0; cluster < clusters_.size(); ++cluster) {
    rates_.push_back(rates_of(clusters_[cluster]));
    for (Strategy& strategy : layouts(spec_.space, clusters_[cluster])) all.emplace_back(cluster, std::move(strategy));
  }
  std::vector<std::shared_ptr<const LayoutCosts>> costs(all.size());
  parallel_for(
      all.size(),
      [&](std::size_t i) {
        const Clock clock(spent_[enumerated]);
        Job job = job_;
        job.cluster = clusters_[all[i].first];
        costs[i] = std::make_shared<LayoutCosts>(std::move(job), all[i].second);
      },
      threads_);
  const StrategySpace& space = spec_.space;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Strategy strategy = all[i].second;
    std::vector<std::vector<std::size_t>> states;
    for (const bool gather_in_passes : {false, true}) {
      states.push_back(states_that(gather_in_passes, costs[i]->job));
      if (states.back().empty()) states.pop_back();
    }
    for (const int micro_batch : space.micro_batch) {
      for (const bool sequence_parallel : space.sequence_parallel) {
        for (const bool overlap_tensor : space.overlap_tensor) {
          for (const Recompute recompute : space.recompute) {
            strategy.micro_batch = micro_batch;
            strategy.sequence_parallel = sequence_parallel;
            strategy.overlap_tensor = overlap_tensor;
            strategy.recompute = recompute;
            for (const auto& alike : states) seeds.push_back({all[i].first, costs[i], strategy, alike});
          }
        }
      }
    }
  }
  std::vector<std::shared_ptr<Branch>> grown(seeds.size());
  parallel_for(
      seeds.size(),
      [&](std::size_t i) {
        const Clock clock(spent_[enumerated]);
        const Seed& seed = seeds[i];
        Strategy plain = seed.strategy;
        // Any split and any stage of ZeRO: those are asked about one by one.
        plain.layer_split.assign(static_cast<std::size_t>(plain.pipeline), 0);
        plain.layer_split.front() = static_cast<int>(job_.model.layers);
        const int gpus = clusters_[seed.cluster].gpus();
        if (first_violation({job_.model, job_.training, plain, gpus})) return;
        if (seed.strategy.pipeline > job_.model.layers) return;
        Strategy strategy = seed.strategy;
        strategy.zero = states_[seed.states.front()].zero;
        grown[i] = std::make_shared<Branch>(seed.layout, strategy, shared_);
      },
      threads_);
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    if (grown[i] == nullptr) {
      // Nothing of it runs: it counts once.
      ++enumerated_;
      ++against_rules_;
      continue;
    }
    Node node;
    node.kind = Node::Kind::branch;
    node.branch = static_cast<std::uint32_t>(roots_.size());
    node.place = std::uint64_t{node.branch} << 32U;
    node.bound = merit(seeds[i].cluster, grown[i]->bound(), grown[i]->least_energy_j());
    node.key = key_of(node.bound);
    node.strategies = static_cast<std::int64_t>(grown[i]->pipelines(space).size() * seeds[i].states.size());
    enumerated_ += node.strategies;
    roots_.push_back({seeds[i].cluster, grown[i], seeds[i].states});
    if (node.strategies > 0) queue_.push(std::move(node));
  }
}

std::vector<Search::Node> Search::take() {
  std::vector<Node> out;
  std::vector<Node> back;
  std::size_t simulations = 0;
  while (!queue_.empty() && out.size() < kBatch) {
    Node node = queue_.top();
    queue_.pop();
    if (standing_.excludes(node.bound)) {
      bounded_ += node.strategies;
      continue;
    }
    const bool last = node.kind == Node::Kind::strategy && ++simulations == kSimulations;
    out.push_back(std::move(node));
    if (last) break;
  }
  return out;
}

Strategy Search::strategy_of(const Node& node) const {
  Strategy strategy = roots_[node.branch].branch->job().strategy;
  node.pipeline.apply_to(strategy);
  node.state.apply_to(strategy);
  return strategy;
}

Search::Outcome Search::work_on(const Node& node) {
  Branch& branch = *roots_[node.branch].branch;
  switch (node.kind) {
    case Node::Kind::branch:
      return expand(node, branch);
    case Node::Kind::pipeline:
      return expand_pipeline(node, branch);
    default:
      return judge(node, branch);
  }
}

Search::Outcome Search::expand(const Node& node, Branch& branch) {
  const Clock clock(spent_[after_bounds]);
  Outcome out;
  std::uint64_t index = 0;
  for (const PipelineChoice& choice : branch.pipelines(spec_.space)) {
    const PipelineBound bound = pipeline_bound(branch, choice);
    Node child = node;
    child.kind = Node::Kind::pipeline;
    child.bound = merit(roots_[node.branch].cluster, bound.last, bound.energy_j);
    child.key = key_of(child.bound);
    child.place = node.place + (index++ << 8U);
    child.strategies = static_cast<std::int64_t>(roots_[node.branch].states.size());
    child.pipeline = choice;
    out.children.push_back(std::move(child));
  }
  return out;
}

// The fullest moment of each stage against its capacity, as account_memory() finds it pass by pass.
bool Search::fits(Branch& branch, const PipelineChoice& choice, const std::vector<std::vector<ChunkPlan>>& chunks,
                  const std::vector<ChunkMemory>& memory, const std::vector<StateTerms>& states) {
  Job shaped = branch.job();
  choice.apply_to(shaped.strategy);
  const std::shared_ptr<const Moments::Stages> moments = moments_.of(choice.schedule, pipeline_shape(shaped));
  const auto v = static_cast<std::size_t>(choice.chunks);
  for (std::size_t stage = 0; stage < chunks.size(); ++stage) {
    double most = states[stage].step_workspace;
    for (const InFlightMoment& moment : (*moments)[stage]) {
      const ChunkMemory& runs = memory[stage * v + static_cast<std::size_t>(moment.chunk)];
      double now = moment.kind == Pass::Kind::forward ? runs.forward : runs.backward;
      for (std::size_t chunk = 0; chunk < v; ++chunk)
        now += moment.microbatches[chunk] * memory[stage * v + chunk].kept;
      most = std::max(most, now);
    }
    const double capacity = branch.layout().stages[stage].hardware.hardware.gpu.memory_bytes.value;
    if (states[stage].resident + most > capacity) return false;
  }
  return true;
}

Search::Outcome Search::expand_pipeline(const Node& node, Branch& branch) {
  Outcome out;
  std::vector<std::vector<ChunkPlan>> chunks;
  std::vector<ChunkMemory> memory;
  PipelineBound passes;
  {
    const Clock clock(spent_[after_memory]);
    chunks = chunks_of(branch, node.pipeline);
    for (const auto& stage : chunks) {
      for (const ChunkPlan& chunk : stage) memory.push_back(chunk_memory(branch.job(), branch.blocks().memory, chunk));
    }
    passes = pipeline_bound(branch, node.pipeline);
  }
  for (const std::size_t i : roots_[node.branch].states) {
    const Clock clock(spent_[after_memory]);
    Node child = node;
    child.kind = Node::Kind::strategy;
    child.state = states_[i];
    child.strategies = 1;
    child.place = node.place + i;
    const Strategy strategy = strategy_of(child);
    const int gpus = clusters_[roots_[node.branch].cluster].gpus();
    if (first_violation({job_.model, job_.training, strategy, gpus})) {
      ++out.against_rules;
      continue;
    }
    std::vector<StateTerms> states;
    for (std::size_t stage = 0; stage < chunks.size(); ++stage) {
      states.push_back(branch.state_terms(static_cast<int>(stage), chunks[stage], child.state));
    }
    if (!fits(branch, node.pipeline, chunks, memory, states)) {
      ++out.too_large;
      continue;
    }
    child.bound =
        merit(roots_[node.branch].cluster, iteration_bound(branch, passes, states, child.state), passes.energy_j);
    child.key = key_of(child.bound);
    out.children.push_back(std::move(child));
  }
  return out;
}

Search::Outcome Search::judge(const Node& node, Branch& branch) {
  const Clock clock(spent_[simulated]);
  Outcome out;
  Job job = branch.job();
  job.strategy = strategy_of(node);
  const ClusterRates& rates = rates_[roots_[node.branch].cluster];
  const auto merit_of = [&](const IterationScore& score) {
    const double seconds = to_seconds(score.time);
    return Merit{seconds, rates.usd_per_s * seconds, score.energy_j};
  };
  const auto hopeless = [&](const IterationScore& bound) { return standing_.excludes(merit_of(bound)); };
  const auto score = score_iteration(job, branch.blocks().blocks, branch.blocks().bodies, hopeless);
  out.simulated = score.has_value();
  out.excluded = !score;
  if (!score) return out;
  const Merit merit = merit_of(*score);
  out.entry = {merit, node.place, {std::move(job), merit.time_s, merit.cost_usd, merit.energy_j, {}}};
  return out;
}

void Search::report_progress() {
  if (progress_) progress_(against_rules_ + too_large_ + bounded_ + simulated_, enumerated_);
}

SearchResult Search::run() {
  list_states();
  plant();
  while (true) {
    const std::vector<Node> batch = take();
    if (batch.empty()) break;
    std::vector<Outcome> outcomes(batch.size());
    parallel_for(
        batch.size(), [&](std::size_t i) { outcomes[i] = work_on(batch[i]); }, threads_);
    for (Outcome& outcome : outcomes) {
      against_rules_ += outcome.against_rules;
      too_large_ += outcome.too_large;
      simulated_ += outcome.simulated ? 1 : 0;
      bounded_ += outcome.excluded ? 1 : 0;
      if (outcome.entry) standing_.add(std::move(*outcome.entry));
    }
    for (Outcome& outcome : outcomes) {
      for (Node& child : outcome.children) {
        if (standing_.excludes(child.bound)) {
          bounded_ += child.strategies;
        } else {
          queue_.push(std::move(child));
        }
      }
    }
    report_progress();
  }
  report_progress();  // what was left in the queue is out of the question
  SearchResult result;
  for (const Standing::Entry& entry : standing_.entries()) result.strategies.push_back(entry.found);
  const auto seconds = [&](Step step) { return static_cast<double>(spent_[step].load()) * 1e-9; };
  std::int64_t left = enumerated_;
  result.funnel = {{"enumerated", left, seconds(enumerated)},
                   {"after rules", left -= against_rules_, seconds(after_rules)},
                   {"after memory", left -= too_large_, seconds(after_memory)},
                   {"after bounds", left -= bounded_, seconds(after_bounds)},
                   {"simulated", simulated_, seconds(simulated)}};
  return result;
}

}  // namespace

const std::vector<std::string>& search_objective_names() {
  static const std::vector<std::string> names = {"time", "cost", "energy", "pareto"};
  return names;
}

SearchResult search(const Job& job, const SearchSpec& spec, int threads, const SearchProgress& progress) {
  return Search(job, spec, threads, progress).run();
}

}  // namespace mirfak
