// Each level of the tree has one to three functions: those before the last raise the bound of a node, where the level
// knows closer bounds than the one with which its nodes begin, and the last finds the node's children and bounds them.
// Whatever is expensive happens in a function of its own, so that it is done only for nodes whose turn comes.

#include "plan/search_tree.hpp"

#include "base/parallel.hpp"
#include "plan/largest.hpp"
#include "plan/memory_filter.hpp"
#include "plan/pipeline_bound.hpp"
#include "plan/replica_bound.hpp"
#include "program/optimizer_offload.hpp"
#include "simulation/iteration.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>

namespace mirfak {

namespace {

// Returns true if strategies are excluded by their energy.
bool energy_counts(const SearchSpec& spec) {
  return spec.objective == SearchObjective::energy || spec.objective == SearchObjective::pareto || spec.power_cap_w > 0;
}

// Returns true if the power of the iteration over time keeps its limits. An iteration so long that it is executed in
// part has no power over time, and keeps none.
bool keeps_power_limits(const SearchSpec& spec, const Job& job) {
  if (spec.power_limits == PowerFigures()) return true;
  const std::optional<PowerFigures> power = simulate(job).result.power;
  return power && std::all_of(std::begin(kPowerLimitKeys), std::end(kPowerLimitKeys), [&](const PowerLimitKey& limit) {
           const double most = spec.power_limits.*limit.of;
           return most == 0 || (*power).*limit.of <= most;
         });
}

Merit least_of_each(const Merit& a, const Merit& b) {
  return {std::min(a.time_s, b.time_s), std::min(a.cost_usd, b.cost_usd), std::min(a.energy_j, b.energy_j),
          std::min(a.finish_s, b.finish_s)};
}

Merit greatest_of_each(const Merit& a, const Merit& b) {
  return {std::max(a.time_s, b.time_s), std::max(a.cost_usd, b.cost_usd), std::max(a.energy_j, b.energy_j),
          std::max(a.finish_s, b.finish_s)};
}

}  // namespace

// Returns the function of the node's level for a node that was raised so often: those that raise it come first.
SearchTree::Work SearchTree::work_of(const SearchNode& node) {
  static constexpr std::array<std::array<Work, 3>, 6> levels = {{
      {{&SearchTree::bound_nodes, &SearchTree::add_layouts}},                                 // nodes
      {{&SearchTree::add_blocks}},                                                            // layout
      {{&SearchTree::add_branches}},                                                          // blocks
      {{&SearchTree::list_branch, &SearchTree::add_pipelines}},                               // branch
      {{&SearchTree::add_row}},                                                               // pipeline
      {{&SearchTree::bound_collectives, &SearchTree::bound_settled, &SearchTree::simulate}},  // strategy
  }};
  return levels[static_cast<std::size_t>(node.level)][static_cast<std::size_t>(node.raised)];
}

SearchTree::SearchTree(const Job& job, const SearchSpec& spec, const Standing& standing, const FunnelCounts& so_far,
                       int threads)
    : job_(job),
      spec_(spec),
      standing_(standing),
      so_far_(so_far),
      threads_(threads),
      shared_(spec.space.demanding_schedule()),
      rules_(job, spec.rules, spec.refusals),
      limit_(memory_limit(job, spec)),
      states_(state_choices(spec.space, job.framework)),
      clusters_(job, spec) {
  for (std::size_t span = 0; span < clusters_.spans().size(); ++span) {
    bounds_.emplace_back(clusters_.job_of(span), spec.space, states_, limit_, shared_,
                         EnergyAsked{energy_counts(spec), clusters_.lower_clocks(span)});
  }
}

std::vector<SearchNode> SearchTree::roots(bool mixes) const {
  std::vector<SearchNode> out;
  for (std::size_t i = 0; i < clusters_.size(); i += clusters_.spans().size()) {
    if ((types_of(clusters_[i].counts) > 1) != mixes) continue;
    SearchNode& node = out.emplace_back();
    node.raised = lazy() ? 0 : 1;
    node.cluster = static_cast<std::uint32_t>(i);
    node.place.nodes = clusters_[i].number;
  }
  return out;
}

NodeOutcome SearchTree::work_on(const SearchNode& node) {
  NodeOutcome out;
  (this->*work_of(node))(node, out);
  return out;
}

Merit SearchTree::merit(const SearchNode& node, const ClusterBound::Least& least) const {
  const auto sequences = static_cast<double>(job_.training.global_batch);
  return choice_of(node).rates.least(least.seconds, least.working_j, least.types, sequences);
}

Merit SearchTree::merit(const SearchNode& node, const Branch& branch) const {
  return choice_of(node).rates.least(to_seconds(branch.bound()), branch.min_energy_j(), branch.work_places(),
                                     branch.microbatches());
}

Merit SearchTree::merit(const SearchNode& node, Picoseconds time, double working_j) const {
  return choice_of(node).rates.least(to_seconds(time), working_j);
}

std::int64_t SearchTree::strategies_of(const PricedBranch& branch, std::size_t pipeline) const {
  return branch.choices_of(pipeline) * static_cast<std::int64_t>(states_of(branch).size());
}

const std::vector<StateChoice>& SearchTree::states_of(const Branch& branch) const {
  return states_[gathers_in_passes(job_.framework, branch.job().strategy.zero) ? 1 : 0];
}

SearchNode SearchTree::with_bound(SearchNode node, const Merit& bound) const {
  node.bound = bound;
  node.key = standing_.value(bound);
  return node;
}

void SearchTree::add(SearchNode node, NodeOutcome& out) const {
  if (seeks_lack_) node.key = node.lack.shortage;
  if (lacks_more(node)) {
    out.counts.too_large += node.strategies;
  } else if (node.excluded_by(standing_)) {
    out.counts.bounded += node.strategies;
  } else {
    out.children.push_back(std::move(node));
  }
}

void SearchTree::set_aside(SearchNode node, NodeOutcome& out) {
  out.counts.too_large += node.strategies;
  out.set_aside.push_back(std::move(node));
}

void SearchTree::bound_lack(SearchNode& node) {
  if (const auto* branch = std::get_if<std::shared_ptr<const Branch>>(&node.holds)) {
    node.lack = (*branch)->least_lack(states_of(**branch), shared_);
  } else if (const auto* listed = std::get_if<std::shared_ptr<const ListedBranch>>(&node.holds)) {
    node.lack = (*listed)->least_lack(states_of(**listed), shared_);
  }
  node.key = node.lack.shortage;
}

// Returns the least that a strategy of a pipeline lacks, by the bytes that stages hold between iterations or in the
// optimizer step, whatever is recomputed.
Lack SearchTree::least_lack(const PricedBranch& branch, const PipelineChoice& pipeline) const {
  const std::vector<std::vector<ChunkPlan>> chunks = chunks_of(branch, pipeline);
  const double platform = branch.job().framework.memory.platform_bytes;
  Lack out{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  PricedBranch::Stages stages = branch.stages_of(chunks);
  for (const StateChoice& choice : states_of(branch)) {
    const std::vector<StateTerms> states = branch.state_terms(stages, choice);
    MemoryRoom room;
    for (std::size_t place = 0; place < states.size(); ++place) {
      const NodeHardware& node = branch.layout().costs[place].hardware->hardware;
      room.add_device(states[place].resident + states[place].step_workspace, platform, node.gpu.memory_bytes.value,
                      branch.limit());
      room.add_host(states[place].host, host_memory_share(node.spec), branch.limit());
    }
    out = {std::min(out.shortage, room.shortage), std::max(out.free, room.free)};
  }
  return out;
}

// Bounds a choice of nodes by its blocks, and the next lower clocks by the same time: nothing is faster there.
void SearchTree::bound_nodes(const SearchNode& node, NodeOutcome& out) {
  const ClusterChoices::Choice& choice = choice_of(node);
  const ClusterBound::Least least = bounds_[choice.span].least(choice.counts);
  if (!std::isfinite(least.seconds)) return;  // no choice of blocks runs there
  SearchNode raised = with_bound(node, merit(node, least));
  raised.raised = 1;
  add(std::move(raised), out);
  if (choice.span + 1 == clusters_.spans().size()) return;
  SearchNode lower = with_bound(node, choice.rates.least(least.seconds, 0));
  ++lower.cluster;
  ++lower.place.span;
  add(std::move(lower), out);
}

// Adds the layouts or, unless the tree is lazy, all branches.
void SearchTree::add_layouts(const SearchNode& node, NodeOutcome& out) {
  const ClusterChoices::Choice& choice = choice_of(node);
  const Job& job = clusters_.job_of(choice.span);
  std::vector<SearchNode> children;
  for (const Strategy& layout : layouts(spec_.space, *in_every_order(job.cluster, choice.counts).front())) {
    SearchNode& child = children.emplace_back(node);
    child.level = Level::layout;
    child.raised = 0;
    child.place.layout = static_cast<std::uint32_t>(children.size());
    child.holds = std::make_shared<LayoutSites>(job, choice.counts, layout, spec_.space);
  }
  if (lazy()) {
    for (SearchNode& child : children) {
      const ClusterBound::Least least = bounds_[choice.span].least(choice.counts, child.layout().layout());
      if (std::isfinite(least.seconds)) add(with_bound(std::move(child), merit(node, least)), out);
    }
    return;
  }
  std::vector<NodeOutcome> grown(children.size());
  parallel_for(
      children.size(),
      [&](std::size_t i) {
        SearchNode& blocks = children[i];
        for (; blocks.choice < blocks.layout().blocks().size(); ++blocks.choice) add_branches(blocks, grown[i]);
      },
      threads_);
  for (NodeOutcome& each : grown) {
    out.counts += each.counts;
    std::move(each.children.begin(), each.children.end(), std::back_inserter(out.children));
  }
}

void SearchTree::add_blocks(const SearchNode& node, NodeOutcome& out) {
  const TimeSpent time(out.counts, enumerated);
  const Strategy& layout = node.layout().layout();
  const ClusterChoices::Choice& nodes = choice_of(node);
  ClusterBound& bound = bounds_[nodes.span];
  for (std::uint32_t choice = 0; choice < node.layout().blocks().size(); ++choice) {
    const ClusterBound::Least least = bound.least(nodes.counts, layout, choice);
    if (!std::isfinite(least.seconds)) continue;
    SearchNode child = with_bound(node, merit(node, least));
    child.level = Level::blocks;
    child.choice = choice;
    if (!seeks_lack_ && !child.excluded_by(standing_) && !bound.may_fit(nodes.counts, layout, choice)) {
      set_aside(std::move(child), out);
    } else {
      add(std::move(child), out);
    }
  }
}

// Returns false if the stages of a site cannot hold all layers of the model, whole layers each, in any time that may
// matter. Most sites of several types are left out so, before anything is made for them.
bool SearchTree::may_hold_layers(const SearchNode& node, const LayoutSite& site) {
  const ClusterChoices::Choice& nodes = choice_of(node);
  if (!lazy() || types_of(nodes.counts) == 1) return true;
  const std::vector<double> seconds =
      bounds_[nodes.span].layer_seconds(nodes.counts, node.layout().layout(), node.choice, site.order, site.spread);
  const auto layers = static_cast<int>(job_.model.layers);
  std::map<double, int> known;
  std::int64_t held = 0;
  for (const double each : seconds) {
    const auto [most, is_new] = known.try_emplace(each);
    if (is_new) {
      most->second = largest(layers, [&](int some) { return !standing_.excludes(nodes.rates.least(each * some, 0)); });
    }
    held += most->second;
  }
  return seconds.empty() || held >= job_.model.layers;
}

// Adds the branches on nodes in every order.
void SearchTree::add_branches(const SearchNode& node, NodeOutcome& out) {
  const ClusterBound& bound = bounds_[choice_of(node).span];
  LayoutSites& layout = node.layout();
  for (LayoutSite& site : layout.sites()) {
    const TimeSpent time(out.counts, enumerated);
    if (!may_hold_layers(node, site)) continue;
    const Strategy placed = site.placed(layout.blocks()[node.choice]);
    const bool allowed = rules_.allows_branch(placed, *site.cluster);
    const auto costs = allowed ? layout.costs(site, placed, recent_costs_) : nullptr;
    if (!costs) {
      // Nothing of the branch runs: the branch counts once.
      ++out.counts.enumerated;
      ++out.counts.against_rules;
      continue;
    }
    Branch branch(costs, placed, spec_.space, shared_, bound.energy(), limit_);
    SearchNode child = with_bound(node, merit(node, branch));
    child.level = Level::branch;
    child.place.order = site.order;
    child.place.spread = site.spread ? 1 : 0;
    child.place.branch = node.choice;
    list(std::move(child), std::move(branch), out);
  }
}

void SearchTree::list_branch(const SearchNode& node, NodeOutcome& out) {
  list(node, *std::get<std::shared_ptr<const Branch>>(node.holds), out);
}

// Returns a function that says whether strategies below a node may matter that take at least a time, and at least
// `working_j`. The node must outlive the function.
ListedBranch::May SearchTree::may_be_below(const SearchNode& node, double working_j) const {
  return [this, &node, working_j](Picoseconds bound) {
    return !standing_.excludes(merit(node, bound, working_j), node.place);
  };
}

// Adds a branch with its pipelines. A branch of which nothing can fit is not listed unless everything is.
void SearchTree::list(SearchNode node, Branch branch, NodeOutcome& out) {
  if (lazy() && node.excluded_by(standing_)) return;
  if (lazy() && !seeks_lack_ && !branch.may_fit(states_of(branch), shared_)) {
    node.holds = std::make_shared<const Branch>(std::move(branch));
    return set_aside(std::move(node), out);
  }
  const ListedBranch::May may = may_be_below(node, branch.min_energy_j());
  const auto listed =
      std::make_shared<const ListedBranch>(std::move(branch), spec_.space, shared_, lazy() ? may : ListedBranch::May());
  const Merit bound = merit(node, *listed);
  node = with_bound(std::move(node), bound);
  node.raised = 1;
  node.strategies = listed->rows() * static_cast<std::int64_t>(states_of(*listed).size());
  node.holds = listed;
  if (seeks_lack_) bound_lack(node);
  out.counts.enumerated += node.strategies;
  if (node.strategies > 0) add(std::move(node), out);
}

void SearchTree::add_pipelines(const SearchNode& node, NodeOutcome& out) {
  const TimeSpent time(out.counts, after_bounds);
  const ListedBranch& branch = node.listed();
  if (!seeks_lack_ && !branch.may_fit(states_of(branch), shared_)) return set_aside(node, out);
  const auto priced = std::make_shared<const PricedBranch>(branch, shared_);
  const auto states = static_cast<std::int64_t>(states_of(branch).size());
  const ListedBranch::May may = may_be_below(node, branch.min_energy_j());
  SearchNode like = node;  // all but the pipeline
  like.level = Level::pipeline;
  like.raised = 0;
  like.holds = priced;
  const auto to_come = std::make_shared<PipelinesToCome>(priced);
  std::int64_t strategies = 0;
  const auto visit = [&](std::size_t number, Picoseconds bound) {
    const std::int64_t more = strategies_of(*priced, number);
    if (seeks_lack_) return add_lacking(like, number, more, out);
    const Merit least = merit(like, bound, branch.min_energy_j());
    PipelinesToCome::Pipeline pipeline{least, standing_.value(least), static_cast<std::uint32_t>(number)};
    if (spec_.objective == SearchObjective::pareto) raise(like, pipeline);  // most have their turn
    if (standing_.excludes(pipeline.bound, node.place)) {
      out.counts.bounded += more;
      return;
    }
    to_come->add(pipeline);
    strategies += more;
  };
  out.counts.bounded += states * branch.visit_pipelines(may, visit);
  if (to_come->empty()) return;
  like.holds = to_come;
  like.strategies = strategies;
  like.key = to_come->first().key;
  like.place.pipeline = to_come->first().number;
  out.children.push_back(std::move(like));
}

// Adds a pipeline to a search for the least shortage.
void SearchTree::add_lacking(const SearchNode& like, std::size_t number, std::int64_t strategies,
                             NodeOutcome& out) const {
  SearchNode child = like;
  child.place.pipeline = static_cast<std::uint32_t>(number);
  child.pipeline = like.priced().pipeline(number);
  child.strategies = strategies;
  child.lack = least_lack(like.priced(), child.pipeline);
  const Merit bound = bound_of_passes(child, child.pipeline);
  add(with_bound(std::move(child), bound), out);
}

// Gives a pipeline the closest bound of its level.
void SearchTree::raise(const SearchNode& node, PipelinesToCome::Pipeline& pipeline) const {
  const PricedBranch& branch = node.priced();
  pipeline.bound = greatest_of_each(pipeline.bound, bound_of_passes(node, branch.pipeline(pipeline.number)));
  pipeline.key = standing_.value(pipeline.bound);
  pipeline.raised = true;
}

std::unique_ptr<SearchNode> SearchTree::take_pipeline(SearchNode& node, double other_key, FunnelCounts& counts) const {
  const TimeSpent time(counts, after_bounds);
  PipelinesToCome& to_come = *node.to_come();
  std::unique_ptr<SearchNode> out;
  do {
    const bool none_matters = standing_.excludes_from(to_come.first().key, node.place);
    PipelinesToCome::Pipeline first = to_come.take_first();
    const auto excluded = [&] { return standing_.excludes(first.bound, node.place); };
    const bool raises = !first.raised && !none_matters && !excluded();
    if (raises) raise(node, first);
    const std::int64_t strategies = none_matters ? node.strategies : strategies_of(*to_come.branch(), first.number);
    if (none_matters || excluded()) {
      counts.bounded += strategies;
    } else if (raises) {
      to_come.add(first);
      continue;
    } else {
      out = std::make_unique<SearchNode>(with_bound(node, first.bound));
      out->holds = to_come.branch();
      out->place.pipeline = first.number;
      out->pipeline = to_come.branch()->pipeline(first.number);
      out->strategies = strategies;
    }
    node.strategies -= strategies;
  } while (out == nullptr && node.strategies > 0 && to_come.first().key < other_key);
  if (node.strategies > 0) {
    node.key = to_come.first().key;
    node.place.pipeline = to_come.first().number;
  }
  return out;
}

// A node's strategies run at one of the clocks of the node's span, and take longer at lower clocks: once the time at a
// clock is no less than what is known to be possible, lower clocks matter only for the energy.
Merit SearchTree::least_over_clocks(const SearchNode& node, const BoundAt& bound_at) const {
  Merit out;
  for (std::size_t clock = 0; clock < node.priced().clocks(); ++clock) {
    const TimeAndWork least = bound_at(clock);
    const Merit at = merit(node, least.time, least.working_j);
    out = clock == 0 ? at : least_of_each(out, at);
    if (!by_energy() && to_seconds(least.time) >= out.time_s) break;
  }
  return out;
}

Merit SearchTree::bound_of_passes(const SearchNode& node, const PipelineChoice& pipeline) const {
  return least_over_clocks(node, [&](std::size_t clock) {
    const PipelineBound passes = pipeline_bound(node.priced(), pipeline, node.priced().fastest(clock));
    return TimeAndWork{passes.last, passes.energy_j};
  });
}

// Adds the strategies of a pipeline, and the pipeline with the next choice of the row, which recomputes more. If
// nothing fits, the next choice, which needs less memory, is tried at once, a few times. Choices against the rules are
// passed over unbounded: many programs recompute parts of a layer in all layers only.
void SearchTree::add_row(const SearchNode& node, NodeOutcome& out) {
  const TimeSpent time(out.counts, after_memory);
  constexpr std::uint32_t tries = 8;
  const auto states = static_cast<std::int64_t>(states_of(node.priced()).size());
  SearchNode next = node;
  Strategy strategy = node.strategy();
  const auto is_allowed = [&] { return rules_.allows_pipeline(strategy, node.priced().job().cluster); };
  bool allowed = is_allowed();
  while (true) {
    if (allowed) {
      add_strategies(next, strategy, out);
    } else {
      out.counts.against_rules += states;
    }
    if (++next.place.row == next.pipeline.row->size()) return;
    next.strategies -= states;
    next.pipeline.recompute_layers = (*next.pipeline.row)[next.place.row];
    strategy.recompute_layers = next.pipeline.recompute_layers.layers;
    strategy.recompute_method = next.pipeline.recompute_layers.method;
    const bool last = next.place.row == node.place.row + tries || !out.children.empty();
    allowed = last || is_allowed();
    if (!allowed) continue;
    const Merit bound = bound_of_passes(next, next.pipeline);
    next = with_bound(std::move(next), bound);
    if (last || next.excluded_by(standing_)) return add(std::move(next), out);
  }
}

// Adds the strategies of a pipeline that keep the rules, fit and may be among the results. `strategy`: of the pipeline,
// in some state.
void SearchTree::add_strategies(const SearchNode& node, Strategy strategy, NodeOutcome& out) {
  const PricedBranch& branch = node.priced();
  const std::vector<StateChoice>& choices = states_of(branch);
  const std::vector<std::vector<ChunkPlan>> chunks = chunks_of(branch, node.pipeline);
  PricedBranch::Stages stages = branch.stages_of(chunks);
  MemoryOfChunks memory(branch, node.pipeline, chunks);
  std::vector<std::optional<PipelineBound>> passes(branch.clocks());
  const auto passes_at = [&](std::size_t clock) -> const PipelineBound& {
    if (!passes[clock]) passes[clock] = pipeline_bound(branch, node.pipeline, branch.fastest(clock));
    return *passes[clock];
  };
  struct Held {
    std::vector<StateTerms> terms;
    MemoryRoom room;
  };
  // Returns true for a strategy that does not fit and is no nearer to it than others.
  const auto is_farther = [&](const MemoryRoom& room) {
    const Lack lack{room.shortage, room.free};
    return room.shortage > 0 &&
           (so_far_.least_lack().is_least_beside(lack) || out.counts.least_lack().is_least_beside(lack));
  };
  std::map<HeldBy, Held> held;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const StateChoice& state = choices[i];
    state.apply_to(strategy);
    if (!rules_.allows(strategy, branch.job().cluster)) {
      ++out.counts.against_rules;
      continue;
    }
    const auto [known, is_new] = held.try_emplace(held_by(state));
    Held& of_state = known->second;
    if (is_new) {
      of_state.room = memory_room(branch, node.pipeline, memory.under(state), stages, state, facts_, is_farther);
      if (of_state.room.shortage <= 0) of_state.terms = branch.state_terms(stages, state);
    }
    if (of_state.room.shortage > 0) {
      out.counts.add_too_large(of_state.room);
      continue;
    }
    const Merit bound = least_over_clocks(node, [&](std::size_t clock) {
      const PipelineBound& at = passes_at(clock);
      return TimeAndWork{iteration_bound(branch, at, of_state.terms, state), at.energy_j};
    });
    if (!seeks_lack_ && standing_.excludes(bound, node.place)) {
      ++out.counts.bounded;
      continue;
    }
    SearchNode child = node;
    child.level = Level::strategy;
    child.state = state;
    child.strategies = 1;
    child.place.state = static_cast<std::uint32_t>(i);
    add(with_bound(std::move(child), bound), out);
  }
}

Job SearchTree::job_of(const SearchNode& strategy) {
  Job out = strategy.priced().job();
  out.strategy = strategy.strategy();
  return out;
}

// Bounds a strategy with its replicas' collectives, unless a program refuses the job.
void SearchTree::bound_collectives(const SearchNode& node, NodeOutcome& out) {
  if (spec_.refusals.of_job && spec_.refusals.of_job(job_of(node))) {
    ++out.counts.against_rules;
    return;
  }
  const TimeSpent time(out.counts, after_bounds);
  const std::vector<std::vector<ChunkPlan>> chunks = chunks_of(node.priced(), node.pipeline);
  raise(node, bounds_of(node, chunks, [&](std::size_t clock) { return node.priced().fastest(clock); }), out);
}

// Bounds a strategy at the clocks at which its stages settle.
void SearchTree::bound_settled(const SearchNode& node, NodeOutcome& out) {
  const TimeSpent time(out.counts, after_bounds);
  const std::vector<std::vector<ChunkPlan>> chunks = chunks_of(node.priced(), node.pipeline);
  raise(node, settled_bounds(node, chunks), out);
}

// Clocks are bounded in the order of the bounds of their passes, until what is known is least.
Merit SearchTree::least_of_strategy(const SearchNode& node, const ClockBounds& bounds) const {
  if (node.priced().clocks() == 1 || by_energy()) return least_over_clocks(node, bounds.closer);
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t clock = 0; clock < node.priced().clocks(); ++clock) {
    const TimeAndWork passes = bounds.of_passes(clock);
    order.emplace_back(merit(node, passes.time, passes.working_j).time_s, clock);
  }
  std::sort(order.begin(), order.end());
  std::optional<Merit> out;
  for (const auto& [seconds, clock] : order) {
    if (out && out->time_s <= seconds) break;
    const TimeAndWork least = bounds.closer(clock);
    const Merit at = merit(node, least.time, least.working_j);
    out = out ? least_of_each(*out, at) : at;
  }
  return *out;
}

void SearchTree::raise(const SearchNode& node, const ClockBounds& bounds, NodeOutcome& out) const {
  SearchNode raised = with_bound(node, least_of_strategy(node, bounds));
  ++raised.raised;
  add(std::move(raised), out);
}

// Returns the bounds of a strategy by clock. `terms_at`: the terms of its passes at a clock. The arguments must outlive
// the bounds.
SearchTree::ClockBounds SearchTree::bounds_of(const SearchNode& node, const std::vector<std::vector<ChunkPlan>>& chunks,
                                              const std::function<PlaceTerms(std::size_t)>& terms_at) {
  ClockBounds out;
  out.of_passes = [&node, terms_at](std::size_t clock) {
    const PipelineBound passes = pipeline_bound(node.priced(), node.pipeline, terms_at(clock));
    return TimeAndWork{passes.last, passes.energy_j};
  };
  out.closer = [this, &node, &chunks, terms_at,
                states = node.priced().state_terms(chunks, node.state)](std::size_t clock) {
    const PricedBranch& branch = node.priced();
    const PipelineBound passes =
        bound_with_replicas(branch, node.pipeline, node.state, chunks, facts_, terms_at(clock));
    return TimeAndWork{iteration_bound(branch, passes, states, node.state), passes.energy_j};
  };
  return out;
}

SearchTree::ClockBounds SearchTree::settled_bounds(const SearchNode& node,
                                                   const std::vector<std::vector<ChunkPlan>>& chunks) {
  return bounds_of(node, chunks,
                   [&](std::size_t clock) { return node.priced().settled(node.pipeline, chunks, clock); });
}

void SearchTree::simulate(const SearchNode& node, NodeOutcome& out) {
  const TimeSpent time(out.counts, simulated);
  const ClusterRates& rates = choice_of(node).rates;
  Job job = job_of(node);
  const std::optional<IterationScore> score =
      spec_.power_cap_w > 0 ? score_under_cap(node, job, out) : score_at_highest(node, job, out);
  if (!score) return;
  if (score->room.shortage > 0) return out.counts.add_too_large(score->room);
  if (!keeps_power_limits(spec_, job)) return;
  const Merit merit = rates.at(to_seconds(score->time), score->energy_j);
  out.entry = {
      merit, node.place, {std::move(job), merit.time_s, merit.cost_usd, merit.energy_j, {}, {}, merit.finish_s}};
}

// Returns nothing for a strategy that does not matter.
std::optional<IterationScore> SearchTree::score_at_highest(const SearchNode& node, const Job& job,
                                                           NodeOutcome& out) const {
  const ClusterRates& rates = choice_of(node).rates;
  const auto hopeless = [&](const IterationScore& bound) {
    return standing_.excludes(rates.at(to_seconds(bound.time), bound.energy_j), node.place);
  };
  std::optional<IterationScore> score = node.priced().score(job, hopeless);
  if (!score || score->room.shortage <= 0) ++(score ? out.counts.simulated : out.counts.bounded);
  return score;
}

// Lowers the clocks of a job no further than the power cap demands. Returns nothing for a strategy that does not matter
// at clocks of the node's span.
std::optional<IterationScore> SearchTree::score_under_cap(const SearchNode& node, Job& job, NodeOutcome& out) {
  const ClusterChoices::Choice& nodes = choice_of(node);
  const std::vector<std::vector<ChunkPlan>> chunks = chunks_of(node.priced(), node.pipeline);
  CappedClock::Ask ask;
  ask.span = clusters_.spans()[nodes.span];
  ask.lowest = clusters_.spans().back().lowest;
  ask.cap_w = spec_.power_cap_w;
  ask.blocked_w = nodes.rates.blocked_w;
  const ClockBounds bounds = settled_bounds(node, chunks);
  for (std::size_t clock = 0; clock < node.priced().clocks(); ++clock) ask.bounds.push_back(bounds.closer(clock));
  ask.merit = [&](const TimeAndWork& bound) { return merit(node, bound.time, bound.working_j); };
  ask.excluded = [&](const Merit& bound) { return standing_.excludes(bound, node.place); };
  const auto set = [&](std::uint32_t clock) {
    job.cluster = clusters_.placed(nodes, clock, node.place.order, node.place.spread > 0, job.strategy.pipeline);
  };
  ask.score = [&](std::uint32_t clock, const auto& hopeless) {
    set(clock);
    return node.priced().score(job, hopeless);
  };
  ask.known = scored_.of(node.place, job.strategy);
  CappedClock clocks(std::move(ask));
  const std::optional<std::uint32_t> clock = clocks.find();
  if (clocks.simulated()) out.scored = {node.place, job.strategy, clocks.scores()};
  ++(clocks.simulated() ? out.counts.simulated : out.counts.bounded);
  if (!clock) return std::nullopt;
  set(*clock);
  return clocks.score(*clock);
}

}  // namespace mirfak
