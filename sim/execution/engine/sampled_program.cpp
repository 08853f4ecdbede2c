#include "engine/sampled_program.hpp"

#include "base/error.hpp"
#include "base/random.hpp"
#include "engine/sampled_draws.hpp"
#include "program/rank_factors.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

namespace mirfak {

namespace {

constexpr std::size_t kCommunication = 1;  // index into kTimeFactorKeys

TimeFactors all_alike(double value) { return {value, value, value}; }

}  // namespace

std::string_view name_of(Cause cause) {
  constexpr std::array<std::string_view, kCauses> names = {"rank",   "node",   "port",    "iteration",
                                                           "jitter", "tokens", "experts", "images"};
  return names[static_cast<std::size_t>(cause)];
}

SampledProgram::SampledProgram(const Program& program, const Cluster& cluster, SampledExperts experts,
                               FoldedPassTimes passes, SampledImages images)
    : program_(program),
      perturbations_(cluster.perturbations()),
      together_(acting_together(program)),
      fixed_(factors_of_ranks(program, cluster)),
      experts_(std::move(experts)),
      passes_(std::move(passes)),
      images_(std::move(images)) {
  for (const TaskClass& described : program.classes) {
    Shares shares;
    double all = 0;
    for (const double seconds : described.activity_s) all += seconds;
    for (std::size_t i = 0; i < kActivities && all > 0; ++i) {
      const double share = described.activity_s[i] / all;
      const auto kind = time_factor_of(static_cast<Activity>(i));
      (kind ? shares.of.*kTimeFactorKeys[*kind].value : shares.rest) += share;
      if (static_cast<Activity>(i) == Activity::attention) shares.attention += share;
      if (static_cast<Activity>(i) == Activity::data_communication) shares.gradients += share;
    }
    if (all == 0) shares.rest = 1;
    shares_.push_back(shares);
  }
  for (const ProgramRank& rank : program.ranks) {
    node_of_rank_.push_back(cluster.place_of(static_cast<int>(rank.rank)).node);
    replica_count_ = std::max<std::size_t>(replica_count_, rank.data + 1);
  }
  for (const Group& group : program.groups) {
    leaves_node_.push_back(leaves_node(program, group, cluster));
    std::vector<std::uint32_t>& replicas = replicas_.emplace_back();
    for (const std::uint32_t rank : group.ranks) replicas.push_back(program.ranks[rank].data);
    std::sort(replicas.begin(), replicas.end());
    replicas.erase(std::unique(replicas.begin(), replicas.end()), replicas.end());
  }
  for (const std::int32_t microbatch : program.microbatch) {
    microbatches_ = std::max(microbatches_, static_cast<std::size_t>(microbatch + 1));
  }
  place_experts();
  place_images();
  place_passes();
}

// Makes a place for every group of ranks that run a pass together, and for every rank that runs a pass alone.
void SampledProgram::place_passes() {
  pass_of_class_.resize(program_.classes.size());
  std::map<std::uint32_t, std::size_t> of_plan;
  for (std::size_t i = 0; i < passes_.all().size(); ++i) {
    const FoldedPass& pass = passes_.all()[i];
    for (std::size_t task = 0; task < kPassTasks; ++task) {
      const bool waits = static_cast<PassTask>(task) == PassTask::wait;
      if (waits && pass.classes[task] == 0) continue;
      pass_of_class_[pass.classes[task]] = {i, static_cast<PassTask>(task)};
    }
    first_place_.push_back(ranks_of_place_.size());
    place_in_plan_.push_back(of_plan[pass.plan]++);
    const std::size_t places = pass.meets == kAlone ? program_.ranks.size() : program_.groupings[pass.meets].count;
    ranks_of_place_.resize(ranks_of_place_.size() + places);
    for (std::uint32_t rank = 0; rank < program_.ranks.size(); ++rank) {
      if (program_.ranks[rank].plan == pass.plan) ranks_of_place_[place_of(i, rank)].push_back(rank);
    }
  }
  const Perturbations& of = perturbations_;
  if (!of.drawn_ranks.empty() || !of.drawn_nodes.empty() || of.drawn_ports || !of.drawn_iterations.empty()) return;
  SampledFactors fixed;
  draw_ranks(fixed);
  draw_passes(fixed);
  equal_passes_ = std::move(fixed.passes);
}

std::size_t SampledProgram::place_of(std::size_t pass, std::uint32_t rank) const {
  const GroupingId meets = passes_.all()[pass].meets;
  if (meets == kAlone) return first_place_[pass] + rank;
  const Grouping& grouping = program_.groupings[meets];
  return first_place_[pass] + grouping.of_rank[rank] - grouping.first;
}

ActivityFactors SampledProgram::in_passes(std::uint32_t rank, const SampledFactors& factors) const {
  const SampledFactors::Together& own = factors.of_rank[rank];
  RankFactors of{own.rank, own.port};
  for (const TimeFactor& key : kTimeFactorKeys)
    of.time.*key.value *= own.node.*key.value * factors.iteration.*key.value;
  return factors_in_passes(of, passes_.leaves().empty() ? LeavesNode{} : passes_.leaves()[rank]);
}

void SampledProgram::draw_passes(SampledFactors& out) const {
  if (passes_.all().empty()) return;
  if (!equal_passes_.empty()) {
    out.passes = equal_passes_;
    return;
  }
  std::vector<ActivityFactors> of_rank;
  for (std::uint32_t rank = 0; rank < program_.ranks.size(); ++rank) of_rank.push_back(in_passes(rank, out));
  std::map<std::pair<std::uint32_t, ActivityFactors>, std::vector<PassTaskTimes>> known;
  out.passes.resize(ranks_of_place_.size());
  for (std::size_t i = 0; i < passes_.all().size(); ++i) {
    const std::size_t end = i + 1 < first_place_.size() ? first_place_[i + 1] : ranks_of_place_.size();
    for (std::size_t place = first_place_[i]; place < end; ++place) {
      const std::vector<std::uint32_t>& ranks = ranks_of_place_[place];
      if (ranks.empty()) continue;
      ActivityFactors together = of_rank[ranks.front()];
      for (const std::uint32_t rank : ranks) together = larger(together, of_rank[rank]);
      const std::uint32_t plan = passes_.all()[i].plan;
      const auto [found, is_new] = known.try_emplace({plan, together});
      if (is_new) found->second = passes_.of(plan, together);
      out.passes[place] = found->second[place_in_plan_[i]];
    }
  }
}

void SampledProgram::place_experts() {
  for (const SampledExperts::Stage& stage : experts_.stages) {
    if (!stage.loads.empty()) chunks_ = std::max(chunks_, stage.layers.size());
  }
  if (chunks_ == 0) return;
  if (experts_.fullest.size() != program_.size()) fail_internal("sampled program: other tasks with uneven experts");
  by_load_.assign(program_.size(), 0);
  for (TaskId task = 0; task < program_.size(); ++task) {
    const Picoseconds even = program_.duration[task];
    const TaskClass& described = program_.classes[program_.task_class[task]];
    const std::int32_t stage = described.stage;
    if (even == 0 || stage < 0 || described.chunk < 0 || program_.microbatch[task] < 0) continue;
    const SampledExperts::Stage& of = experts_.stages[static_cast<std::size_t>(stage)];
    const double longer = static_cast<double>(experts_.fullest[task] - even) / static_cast<double>(even);
    if (of.load > 1) by_load_[task] = longer / (of.load - 1);
  }
}

double SampledProgram::drawn(const std::optional<Distribution>& from, const SampleNumber& sample, std::uint32_t purpose,
                             std::uint64_t entity) const {
  if (!from) return 1;
  const double u = uniform({sample.seed, sample.number, purpose, entity});
  return from->quantile(sample.mirrored ? 1 - u : u);
}

TimeFactors SampledProgram::drawn(const DrawnFactors& from, const SampleNumber& sample, std::uint32_t purpose,
                                  std::uint64_t entity) const {
  return {drawn(from.compute, sample, purpose, entity), drawn(from.communication, sample, purpose + 1, entity),
          drawn(from.host, sample, purpose + 2, entity)};
}

void SampledProgram::draw(const SampleNumber& sample, SampledFactors& out) const {
  out.sample = sample;
  out.iteration = drawn(perturbations_.drawn_iterations, sample, purpose_in(sample, of_iterations), 0);
  draw_ranks(out);
  draw_groups(out);
  draw_tokens(out);
  draw_experts(out);
  draw_images(out);
  draw_passes(out);
}

void SampledProgram::draw_ranks(SampledFactors& out) const {
  out.of_rank.resize(fixed_.size());
  for (std::uint32_t i = 0; i < fixed_.size(); ++i) {
    SampledFactors::Together& own = out.of_rank[i];
    const std::uint32_t number = program_.ranks[i].rank;
    own.rank = drawn(perturbations_.drawn_ranks, out.sample, of_ranks, number);
    for (const TimeFactor& key : kTimeFactorKeys) own.rank.*key.value *= fixed_[i].time.*key.value;
    own.node = drawn(perturbations_.drawn_nodes, out.sample, of_nodes, static_cast<std::uint64_t>(node_of_rank_[i]));
    own.port = fixed_[i].port * drawn(perturbations_.drawn_ports, out.sample, of_ports, number);
    own.slowest.fill(i);
  }
}

void SampledProgram::draw_groups(SampledFactors& out) const {
  out.of_group.resize(program_.groups.size());
  for (std::size_t group = 0; group < program_.groups.size(); ++group) {
    SampledFactors::Together& of = out.of_group[group];
    for (std::size_t kind = 0; kind < kTimeFactors; ++kind) {
      const auto value = kTimeFactorKeys[kind].value;
      double longest = 0;
      for (const std::uint32_t rank : program_.groups[group].ranks) {
        const SampledFactors::Together& own = out.of_rank[rank];
        const bool through_port = kind == kCommunication && leaves_node_[group];
        const double factor = own.rank.*value * own.node.*value * (through_port ? own.port : 1);
        if (factor <= longest) continue;
        longest = factor;
        of.slowest[kind] = rank;
      }
      const SampledFactors::Together& slowest = out.of_rank[of.slowest[kind]];
      of.rank.*value = slowest.rank.*value;
      of.node.*value = slowest.node.*value;
      if (kind == kCommunication) of.port = leaves_node_[group] ? slowest.port : 1;
    }
  }
}

void SampledProgram::draw_tokens(SampledFactors& out) const {
  if (!perturbations_.tokens) return;
  out.tokens.resize(replica_count_ * microbatches_);
  for (std::size_t i = 0; i < out.tokens.size(); ++i) {
    out.tokens[i] = drawn(perturbations_.tokens, out.sample, purpose_in(out.sample, of_tokens), i);
  }
}

std::size_t SampledProgram::expert_place(std::size_t stage, std::size_t chunk, std::size_t group,
                                         std::size_t microbatch) const {
  return ((stage * chunks_ + chunk) * replica_count_ + group) * microbatches_ + microbatch;
}

void SampledProgram::draw_experts(SampledFactors& out) const {
  if (chunks_ == 0) return;
  out.loads.assign(experts_.stages.size() * chunks_ * replica_count_ * microbatches_, 1);
  std::uint64_t first = 0;  // the first layer of this chunk, among all numbers drawn
  for (std::size_t stage = 0; stage < experts_.stages.size(); ++stage) {
    const SampledExperts::Stage& of = experts_.stages[stage];
    if (of.loads.empty()) continue;
    for (std::size_t chunk = 0; chunk < of.layers.size(); ++chunk) {
      const auto layers = static_cast<std::uint64_t>(of.layers[chunk]);
      const std::size_t groups = replica_count_ / static_cast<std::size_t>(of.replicas);
      for (std::size_t i = 0; i < groups * microbatches_ && layers > 0; ++i, first += layers) {
        double sum = 0;
        for (std::uint64_t layer = 0; layer < layers; ++layer) sum += drawn_load(of, out.sample, first + layer);
        out.loads[expert_place(stage, chunk, i / microbatches_, i % microbatches_)] = sum / static_cast<double>(layers);
      }
    }
  }
}

// Draws the largest load of `groups` groups: a share u of the largest of n draws corresponds to a share u^(1/n) of the
// distribution.
double SampledProgram::drawn_load(const SampledExperts::Stage& of, const SampleNumber& sample, std::uint64_t entity) {
  double u = uniform({sample.seed, sample.number, purpose_in(sample, of_experts), entity});
  if (sample.mirrored) u = 1 - u;
  if (of.groups > 1) u = std::pow(u, 1.0 / of.groups);
  const auto count = static_cast<double>(of.loads.size());
  return of.loads[static_cast<std::size_t>(std::min(count - 1, std::floor(u * count)))];
}

// Returns the factors by which experts lengthen a task. Experts lengthen the whole task, so the factors also cover the
// rest of its time, which has no factor.
TimeFactors SampledProgram::experts_of(TaskId task, const Shares& shares, const SampledFactors& factors) const {
  if (by_load_.empty() || by_load_[task] == 0 || shares.rest == 1) return {};
  const TaskClass& described = program_.classes[program_.task_class[task]];
  const auto stage = static_cast<std::size_t>(described.stage);
  const std::size_t group =
      program_.ranks[program_.rank_of(task)].data / static_cast<std::size_t>(experts_.stages[stage].replicas);
  const double load = factors.loads[expert_place(stage, static_cast<std::size_t>(described.chunk), group,
                                                 static_cast<std::size_t>(program_.microbatch[task]))];
  return all_alike(1 + by_load_[task] * (load - 1) / (1 - shares.rest));
}

// Returns, for each kind of time, the mean factor of its parts, weighted by their shares.
TimeFactors SampledProgram::tokens_of(TaskId task, const Shares& shares, const SampledFactors& factors) const {
  const std::int32_t microbatch = program_.microbatch[task];
  if (!perturbations_.tokens || microbatch < 0) return {};
  const auto at = static_cast<std::size_t>(microbatch);
  const GroupId group = program_.group_of(task);
  double longest = 0;
  if (group == kNoGroup) {
    longest = factors.tokens[program_.ranks[program_.rank_of(task)].data * microbatches_ + at];
  } else {
    for (const std::uint32_t replica : replicas_[group]) {
      longest = std::max(longest, factors.tokens[replica * microbatches_ + at]);
    }
  }
  TimeFactors out;
  const double attention = shares.of.compute > 0 ? shares.attention / shares.of.compute : 0;
  const double gradients = shares.of.communication > 0 ? shares.gradients / shares.of.communication : 0;
  out.compute = longest * (1 - attention) + longest * longest * attention;
  out.communication = longest * (1 - gradients) + gradients;
  return out;
}

SampledProgram::Factors SampledProgram::factors_of(TaskId task, const SampledFactors& factors) const {
  const GroupId group = program_.group_of(task);
  const SampledFactors::Together& of =
      group == kNoGroup ? factors.of_rank[program_.rank_of(task)] : factors.of_group[group];
  Factors out;
  out.at(Cause::rank) = of.rank;
  out.at(Cause::node) = of.node;
  if (group != kNoGroup) out.at(Cause::port).communication = of.port;
  out.at(Cause::iteration) = factors.iteration;
  out.at(Cause::jitter) =
      drawn(perturbations_.jitter, factors.sample, purpose_in(factors.sample, of_jitter), together_[task]);
  out.at(Cause::tokens) = tokens_of(task, shares_[program_.task_class[task]], factors);
  out.at(Cause::experts) = experts_of(task, shares_[program_.task_class[task]], factors);
  out.at(Cause::images) = images_of(task, shares_[program_.task_class[task]], factors);
  out.slowest = of.slowest;
  return out;
}

// Returns the factor by which these causes lengthen a task.
double SampledProgram::longer(const Shares& shares, const Factors& by, const Causes& causes) {
  if (shares.rest == 1) return 1;
  double changed = 0;
  for (const TimeFactor& key : kTimeFactorKeys) {
    double product = 1;
    for (std::size_t cause = causes.first; cause < causes.last; ++cause) product *= by.of[cause].*key.value;
    changed += shares.of.*key.value * (product - 1);
  }
  return 1 + changed;  // exactly 1 where all factors are 1
}

// Returns the factor by which all causes before `last` lengthen a task. For a task of a pass that takes no time without
// factors the result is relative to 1 ps.
double SampledProgram::longer(TaskId task, const Factors& by, const SampledFactors& factors, std::size_t last) const {
  const Shares& shares = shares_[program_.task_class[task]];
  const std::optional<Picoseconds> of_pass = folded(task, factors);
  if (!of_pass) return longer(shares, by, {0, last});
  const auto before = static_cast<double>(std::max<Picoseconds>(1, program_.duration[task]));
  return static_cast<double>(*of_pass) / before * longer(shares, by, {static_cast<std::size_t>(Cause::jitter), last});
}

// Returns the time of a task of a pass under rank, node, port and iteration; nullopt: the task belongs to no pass.
std::optional<Picoseconds> SampledProgram::folded(TaskId task, const SampledFactors& factors) const {
  const PassPart& part = pass_of_class_[program_.task_class[task]];
  if (part.pass == kNoPass) return std::nullopt;
  const std::size_t place = place_of(part.pass, program_.rank_of(task));
  return factors.passes[place][static_cast<std::size_t>(part.task)];
}

Picoseconds SampledProgram::lasting(TaskId task, const SampledFactors& factors) const {
  const Picoseconds before = program_.duration[task];
  if (before == 0 && folded(task, factors).value_or(0) == 0) return 0;
  const double by = longer(task, factors_of(task, factors), factors, kCauses);
  return static_cast<Picoseconds>(std::llround(by * static_cast<double>(std::max<Picoseconds>(1, before))));
}

double SampledProgram::slower(TaskId task, const SampledFactors& factors) const {
  if (program_.duration[task] == 0) return 1;
  return longer(task, factors_of(task, factors), factors, static_cast<std::size_t>(Cause::tokens));
}

SampledProgram::Excess SampledProgram::excess(TaskId task, const SampledFactors& factors) const {
  Excess out;
  const Factors by = factors_of(task, factors);
  out.rank.fill(program_.rank_of(task));
  // The kernels and collectives of a pass lengthen the host's work on it, too.
  const PassPart& part = pass_of_class_[program_.task_class[task]];
  const ClassId counted = part.pass == kNoPass
                              ? program_.task_class[task]
                              : passes_.all()[part.pass].classes[static_cast<std::size_t>(PassTask::device)];
  const Shares& shares = shares_[counted];
  double sum = 0;
  std::array<double, kCauses> most{};
  for (std::size_t kind = 0; kind < kTimeFactors; ++kind) {
    const auto value = kTimeFactorKeys[kind].value;
    double product = 1;
    for (const TimeFactors& cause : by.of) product *= cause.*value;
    const double logarithm = std::log(product);
    if (logarithm == 0) continue;
    for (std::size_t cause = 0; cause < kCauses; ++cause) {
      const double own = shares.of.*value * (product - 1) * std::log(by.of[cause].*value) / logarithm;
      out.of[cause] += own;
      sum += own;
      if (std::abs(own) <= most[cause]) continue;
      most[cause] = std::abs(own);
      if (cause <= static_cast<std::size_t>(Cause::port)) out.rank[cause] = by.slowest[kind];
    }
  }
  // The rest of what is added goes to the causes in proportion to the size of their parts.
  const double rest = longer(task, by, factors, kCauses) - 1 - sum;
  const std::array<double, kCauses> parts = out.of;
  double all = 0;
  for (const double own : parts) all += std::abs(own);
  for (std::size_t cause = 0; cause < kCauses && all > 0; ++cause) out.of[cause] += rest * std::abs(parts[cause]) / all;
  return out;
}

}  // namespace mirfak
