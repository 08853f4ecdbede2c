#include "simulation/spread.hpp"

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "engine/event_engine.hpp"
#include "engine/sweep.hpp"
#include "program/lowering.hpp"
#include "program/shared_links.hpp"
#include "simulation/sampled_experts.hpp"
#include "simulation/sampled_images.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace mirfak {

namespace {

constexpr std::size_t kBlocks = 64;      // blocks of samples, each with a program of its own
constexpr double kLongestSeconds = 8e6;  // picoseconds can hold no more
constexpr std::array kShares = {0.5, 0.95, 0.99};

// Returns the program of the job, with the links that its tasks share.
LoweredJob lowered_with_links(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> plans) {
  LoweredJob out = lower_apart(job, blocks, plans, sampled_lowering(job, plans));
  share_links(out.program, std::span(&out.loads, 1));
  return out;
}

// Returns for each task the task before it on its stream.
std::vector<TaskId> tasks_before_on_streams(const Program& program) {
  std::vector<TaskId> out(program.size(), kNoTask);
  std::vector<TaskId> last(program.streams.size(), kNoTask);
  for (TaskId task = 0; task < program.size(); ++task) out[task] = std::exchange(last[program.stream[task]], task);
  return out;
}

// Executes one sample after the other. The result of a sample depends on the sample alone.
class SampleRunner {
 public:
  explicit SampleRunner(const SampleSubject& subject)
      : subject_(subject),
        program_(subject.program),
        before_on_stream_(tasks_before_on_streams(program_)),
        shares_links_(program_.shares_links()),
        thins_traffic_(shares_links_ && subject.thins_traffic) {
    if (thins_traffic_) program_.slower.assign(program_.size(), 1);
  }

  // Executes the iteration without any factors.
  double run_even() {
    execute();
    even_s_ = to_seconds(makespan_);
    even_busy_ = busy();
    return even_s_;
  }

  SampledIteration run(const SampleNumber& sample) {
    subject_.sampled.draw(sample, factors_);
    put_durations();
    execute();
    SampledIteration out;
    out.time_s = to_seconds(makespan_);
    follow_critical_path(out);
    out.waste_j = wasted();
    return out;
  }

 private:
  void put_durations() {
    double longest = 1;
    for (TaskId task = 0; task < program_.size(); ++task) {
      program_.duration[task] = subject_.sampled.lasting(task, factors_);
      const Picoseconds base = subject_.program.duration[task];
      if (base == 0) continue;
      longest = std::max(longest, static_cast<double>(program_.duration[task]) / static_cast<double>(base));
      if (thins_traffic_) program_.slower[task] = subject_.sampled.slower(task, factors_);
    }
    if (longest * even_s_ > kLongestSeconds) {
      fail_infeasible({}, "a sample of cluster.perturbations takes more than 100 days", "choose smaller factors");
    }
  }

  void execute() {
    if (!shares_links_) {
      makespan_ = sweep_.makespan(program_);
      return;
    }
    timeline_ = execute_events(program_);
    makespan_ = timeline_.makespan;
  }

  Picoseconds end(TaskId task) const { return shares_links_ ? timeline_.end[task] : sweep_.ends()[task]; }
  Picoseconds start(TaskId task) const {
    return shares_links_ ? timeline_.start[task] : sweep_.ends()[task] - program_.duration[task];
  }

  // Returns the busy time of each rank, on its stream of kernels.
  std::vector<Picoseconds> busy() const {
    std::vector<Picoseconds> out(program_.ranks.size());
    for (TaskId task = 0; task < program_.size(); ++task) {
      const Stream& stream = program_.streams[program_.stream[task]];
      if (stream.kind == StreamKind::compute) out[stream.rank] += end(task) - start(task);
    }
    return out;
  }

  // Returns the energy wasted by waiting. A rank whose own work takes longer does not wait during that time.
  double wasted() const {
    const std::vector<Picoseconds> now = busy();
    double out = 0;
    for (std::size_t rank = 0; rank < now.size(); ++rank) {
      const double longer = to_seconds(makespan_) - even_s_ - to_seconds(now[rank] - even_busy_[rank]);
      out += std::max(0.0, longer) * subject_.waiting_w[rank];
    }
    return out;
  }

  TaskId last_to_end() const {
    TaskId out = 0;
    for (TaskId task = 1; task < program_.size(); ++task) {
      if (end(task) > end(out)) out = task;
    }
    return out;
  }

  // Returns the task whose end `task` waited for.
  TaskId binding_before(TaskId task) const {
    const TaskId before = before_on_stream_[task];
    if (before != kNoTask && end(before) == start(task)) return before;
    for (const TaskId other : program_.dependencies_of(task)) {
      if (end(other) == start(task)) return other;
    }
    return kNoTask;
  }

  void follow_critical_path(SampledIteration& out) {
    by_rank_.assign(subject_.ranks.size(), 0);
    for (TaskId task = last_to_end(); task != kNoTask; task = binding_before(task)) {
      if (subject_.program.duration[task] == 0) continue;
      const double seconds = to_seconds(subject_.program.duration[task]);
      const SampledProgram::Excess excess = subject_.sampled.excess(task, factors_);
      for (std::size_t cause = 0; cause < kCauses; ++cause) {
        out.excess_s[cause] += excess.of[cause] * seconds;
        by_rank_[excess.rank[cause]] += excess.of[cause] * seconds;
      }
    }
    const auto cause = std::max_element(out.excess_s.begin(), out.excess_s.end());
    if (*cause > 0) out.cause = static_cast<Cause>(cause - out.excess_s.begin());
    const auto rank = std::max_element(by_rank_.begin(), by_rank_.end());
    if (*rank > 0) out.binding = static_cast<std::uint32_t>(rank - by_rank_.begin());
  }

  const SampleSubject& subject_;
  Program program_;
  std::vector<TaskId> before_on_stream_;
  bool shares_links_;
  bool thins_traffic_;
  SampledFactors factors_;
  Sweep sweep_;
  Timeline timeline_;
  Picoseconds makespan_ = 0;
  double even_s_ = 0;
  std::vector<Picoseconds> even_busy_;
  std::vector<double> by_rank_;
};

void add_up(const SampleSubject& subject, Spread& out) {
  std::vector<double> times;
  std::map<std::uint32_t, int> ranks;
  for (const SampledIteration& sample : out.samples) {
    times.push_back(sample.time_s);
    out.mean_waste_j += sample.waste_j / static_cast<double>(out.samples.size());
    if (sample.cause) ++out.binds[static_cast<std::size_t>(*sample.cause)];
    if (sample.binding) ++ranks[*sample.binding];
    for (std::size_t cause = 0; cause < kCauses; ++cause) {
      out.mean_excess_s[cause] += sample.excess_s[cause] / static_cast<double>(out.samples.size());
    }
  }
  out.time = sample_mean(times, out.antithetic);
  out.independent_error_s = sample_mean(times, false).error;
  out.deviation_s = sample_deviation(times);
  for (const double share : kShares) out.quantiles.push_back(sample_quantile(times, share));
  for (const auto& [rank, samples] : ranks) {
    const ProgramRank& of = subject.ranks[rank];
    out.ranks.push_back({of.rank, std::nullopt, samples});
    if (!subject.has_stages) continue;
    out.ranks.back().stage = of.stage;
    out.stages.resize(std::max<std::size_t>(out.stages.size(), of.stage + 1));
    out.stages[of.stage] += samples;
  }
  std::stable_sort(out.ranks.begin(), out.ranks.end(),
                   [](const BindingRank& a, const BindingRank& b) { return a.samples > b.samples; });
}

}  // namespace

void check_samples(int samples) {
  if (samples >= 2 && samples <= kMostSamples) return;
  fail_input({}, fmt::format("--samples: expected a number from 2 to {}, found {}", kMostSamples, samples));
}

void check_sampled(const Cluster& cluster, bool draws) {
  if (!draws) {
    fail_infeasible({}, "cluster.perturbations draws nothing: all samples would be alike",
                    "give ranks, nodes, links, jitter or tokens a distribution, such as {lognormal: {sigma: 0.02}}, or "
                    "training.images several numbers");
  }
  if (cluster.facility().staggered_replicas) {
    fail_infeasible({}, "cluster.staggered_replicas: samples draw what slows each rank, and replicas begin together",
                    "leave it out, or --samples");
  }
  if (cluster.facility().power_floor) {
    fail_infeasible({}, "cluster.power_floor: what GPUs burn to keep it is not known of samples",
                    "leave it out, or --samples");
  }
  if (cluster.shares_gpus()) {
    fail_infeasible({}, "several ranks run on one GPU: such iterations are not sampled",
                    "leave ranks_per_gpu out, or --samples");
  }
}

Spread sample_program(const SampleSubject& subject, const SpreadOptions& options) {
  Spread out;
  out.seed = options.seed.value();
  out.antithetic = options.antithetic;
  out.without_s = SampleRunner(subject).run_even();
  const auto count = static_cast<std::size_t>(options.samples);
  out.samples.resize(count);
  const std::size_t blocks = std::min(kBlocks, count);
  parallel_for(
      blocks,
      [&](std::size_t block) {
        SampleRunner runner(subject);
        runner.run_even();
        for (std::size_t i = count * block / blocks; i < count * (block + 1) / blocks; ++i) {
          const auto number = static_cast<std::uint32_t>(options.antithetic ? i / 2 : i);
          out.samples[i] = runner.run({out.seed, number, options.antithetic && i % 2 == 1});
        }
      },
      options.threads);
  add_up(subject, out);
  return out;
}

Spread sample_iterations(const Job& job, const SpreadOptions& options) {
  check_sampled(job.cluster, is_drawn(job));
  const ShardedBlocks blocks = shard_blocks(job);
  const std::vector<StagePlan> plans = plan_stages(job, blocks);
  LoweredJob lowered = lowered_with_links(job, blocks, plans);
  const Program& program = lowered.program;
  const SampledProgram sampled(program, job.cluster, sampled_experts(job, blocks, plans),
                               FoldedPassTimes(plans, std::move(lowered.passes)), sampled_images(job, plans));
  SampleSubject subject{program, sampled, program.ranks, {}};
  for (const ProgramRank& rank : program.ranks) {
    subject.waiting_w.push_back(plans[rank.plan].costs.hardware->hardware.gpu.blocked_w.value);
  }
  SpreadOptions seeded = options;
  seeded.seed = options.seed.value_or(job.cluster.perturbations().seed);
  Spread out = sample_program(subject, seeded);
  out.passes_alone = shares_links_in_passes(job, plans) && sampled_lowering(job, plans).passes_alone;
  return out;
}

}  // namespace mirfak
