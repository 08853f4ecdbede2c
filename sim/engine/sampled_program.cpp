#include "engine/sampled_program.hpp"

#include "base/error.hpp"
#include "base/random.hpp"
#include "engine/perturbed.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace mirfak {

namespace {

// What numbers are drawn for; DrawnFactors take three in a row.
enum Purpose : std::uint32_t {
  of_ranks = 0,
  of_nodes = 3,
  of_ports = 6,
  of_jitter = 7,
  of_tokens = 10,
  of_iterations = 11,
  of_experts = 14
};
constexpr std::uint32_t kPurposes = 32;  // of an iteration, and more

// Of what each iteration has its own.
std::uint32_t purpose_in(const SampleNumber& sample, Purpose purpose) { return purpose + kPurposes * sample.iteration; }

constexpr std::size_t kCommunication = 1;  // of kTimeFactorKeys

TimeFactors all_alike(double value) { return {value, value, value}; }

}  // namespace

std::string_view name_of(Cause cause) {
  constexpr std::array<std::string_view, kCauses> names = {"rank",   "node",   "port",   "iteration",
                                                           "jitter", "tokens", "experts"};
  return names[static_cast<std::size_t>(cause)];
}

SampledProgram::SampledProgram(const Program& program, const Cluster& cluster, SampledExperts experts)
    : program_(program),
      perturbations_(cluster.perturbations()),
      together_(acting_together(program)),
      experts_(std::move(experts)) {
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
    const auto number = static_cast<int>(rank.rank);
    node_of_rank_.push_back(cluster.place_of(number).node);
    fixed_.push_back(perturbations_.of(number));
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
  std::uint64_t first = 0;  // of the layers of this chunk, among all numbers drawn
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

// Of the largest of n draws, a share u^(1/n) is that of the distribution where u is that of the largest.
double SampledProgram::drawn_load(const SampledExperts::Stage& of, const SampleNumber& sample, std::uint64_t entity) {
  double u = uniform({sample.seed, sample.number, purpose_in(sample, of_experts), entity});
  if (sample.mirrored) u = 1 - u;
  if (of.groups > 1) u = std::pow(u, 1.0 / of.groups);
  const auto count = static_cast<double>(of.loads.size());
  return of.loads[static_cast<std::size_t>(std::min(count - 1, std::floor(u * count)))];
}

// The whole of the task takes longer, so that kinds of time do by as much more as others do not.
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

// Of each kind of time the mean over its parts, weighted by their shares.
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
  const auto at = [&](Cause cause) -> TimeFactors& { return out.of[static_cast<std::size_t>(cause)]; };
  at(Cause::rank) = of.rank;
  at(Cause::node) = of.node;
  at(Cause::port) = all_alike(1);
  if (group != kNoGroup) at(Cause::port).communication = of.port;
  at(Cause::iteration) = factors.iteration;
  at(Cause::jitter) =
      drawn(perturbations_.jitter, factors.sample, purpose_in(factors.sample, of_jitter), together_[task]);
  at(Cause::tokens) = tokens_of(task, shares_[program_.task_class[task]], factors);
  at(Cause::experts) = experts_of(task, shares_[program_.task_class[task]], factors);
  out.slowest = of.slowest;
  return out;
}

double SampledProgram::factor(TaskId task, const SampledFactors& factors, std::size_t causes) const {
  const Shares& shares = shares_[program_.task_class[task]];
  if (shares.rest == 1) return 1;
  const Factors by = factors_of(task, factors);
  double changed = 0;
  for (const TimeFactor& key : kTimeFactorKeys) {
    double product = 1;
    for (std::size_t cause = 0; cause < causes; ++cause) product *= by.of[cause].*key.value;
    changed += shares.of.*key.value * (product - 1);
  }
  return 1 + changed;  // exactly 1 where all factors are
}

SampledProgram::Excess SampledProgram::excess(TaskId task, const SampledFactors& factors) const {
  Excess out;
  const Factors by = factors_of(task, factors);
  out.rank.fill(program_.rank_of(task));
  const Shares& shares = shares_[program_.task_class[task]];
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
      if (std::abs(own) <= most[cause]) continue;
      most[cause] = std::abs(own);
      if (cause <= static_cast<std::size_t>(Cause::port)) out.rank[cause] = by.slowest[kind];
    }
  }
  return out;
}

}  // namespace mirfak
