#include "simulation/joint_spread.hpp"

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/random.hpp"
#include "engine/execute.hpp"
#include "program/shared_links.hpp"
#include "simulation/sampled_experts.hpp"
#include "simulation/sampled_images.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace mirfak {

namespace {

constexpr std::size_t kRunners = 64;  // blocks of samples, each with programs of its own
constexpr std::array kQuantiles = {0.5, 0.95, 0.99};
constexpr int kTries = 6;  // each with twice the iterations

// Data of one job that all samples share.
struct SampledJob {
  explicit SampledJob(const JobAmong& among)
      : job(among.job),
        begins(to_picoseconds(among.begins_s)),
        blocks(shard_blocks(job)),
        plans(plan_stages(job, blocks)),
        lowered(lower_apart(job, blocks, plans, sampled_lowering(job, plans))),
        sampled(lowered.program, job.cluster, sampled_experts(job, blocks, plans),
                FoldedPassTimes(plans, std::move(lowered.passes)), sampled_images(job, plans)),
        alone(lowered.program) {
    share_links(alone, std::span(&lowered.loads, 1));
  }

  Job job;
  Picoseconds begins = 0;
  ShardedBlocks blocks;
  std::vector<StagePlan> plans;
  LoweredJob lowered;
  SampledProgram sampled;
  Program alone;  // one iteration with the whole network for itself
};

struct JointSubject {
  std::vector<std::unique_ptr<SampledJob>> jobs;
  std::vector<int> counted;  // by job: the iteration whose time counts, from 0
  Picoseconds from = 0;      // when the last job begins
};

JointProgram joined(const JointSubject& subject, std::span<const int> counts) {
  std::vector<JointJob> parts;
  for (std::size_t job = 0; job < counts.size(); ++job) {
    parts.push_back({&subject.jobs[job]->lowered, counts[job], subject.jobs[job]->begins});
  }
  return join(parts);
}

// Executes one run after the other. The result of a run depends on the sample alone.
class RunSampler {
 public:
  RunSampler(const JointSubject& subject, const JointProgram& joint) : subject_(subject), joint_(joint) {
    shares_links_ = joint_.program.shares_links();
    if (shares_links_) joint_.program.slower.assign(joint_.program.size(), 1);
    for (const auto& job : subject.jobs) {
      alone_.push_back(job->alone);
      if (job->alone.shares_links()) alone_.back().slower.assign(job->alone.size(), 1);
    }
  }

  struct Times {
    std::vector<double> together_s;  // by job
    std::vector<double> alone_s;
  };

  // Returns the times of a run; nullopt: a job ran out of iterations before all others had theirs.
  std::optional<Times> run(const std::optional<SampleNumber>& sample) {
    if (sample) draw(*sample);
    const Timeline timeline = execute(joint_.program);
    Times out;
    Picoseconds needed = 0;
    Picoseconds until = timeline.makespan;
    for (std::size_t job = 0; job < subject_.jobs.size(); ++job) {
      const auto counted = static_cast<std::size_t>(subject_.counted[job]);
      const Picoseconds end = timeline.end[joint_.ends[job][counted]];
      const Picoseconds begin = counted > 0 ? timeline.end[joint_.ends[job][counted - 1]] : subject_.jobs[job]->begins;
      if (begin < subject_.from) return std::nullopt;
      needed = std::max(needed, end);
      until = std::min(until, timeline.end[joint_.ends[job].back()]);
      out.together_s.push_back(to_seconds(end - begin));
      out.alone_s.push_back(to_seconds(execute(alone_[job]).makespan));
    }
    if (until < needed) return std::nullopt;
    return out;
  }

 private:
  void draw(const SampleNumber& sample) {
    for (std::size_t job = 0; job < subject_.jobs.size(); ++job) {
      SampleNumber own = sample;
      own.seed += job * kSplitMixStep;  // no two jobs draw the same
      for (std::size_t iteration = 0; iteration < joint_.begins[job].size(); ++iteration) {
        own.iteration = static_cast<std::uint32_t>(iteration);
        subject_.jobs[job]->sampled.draw(own, factors_);
        put(*subject_.jobs[job], joint_.begins[job][iteration], joint_.program);
        if (static_cast<int>(iteration) == subject_.counted[job]) put(*subject_.jobs[job], 0, alone_[job]);
      }
    }
  }

  // Puts the factors of one iteration into a program in which the iteration begins with task `first`.
  void put(const SampledJob& job, TaskId first, Program& into) const {
    const Program& even = job.lowered.program;
    for (TaskId task = 0; task < even.size(); ++task) {
      into.duration[first + task] = job.sampled.lasting(task, factors_);
      if (!into.slower.empty()) into.slower[first + task] = job.sampled.slower(task, factors_);
    }
  }

  const JointSubject& subject_;
  JointProgram joint_;
  bool shares_links_ = false;
  std::vector<Program> alone_;
  SampledFactors factors_;
};

// Finds in a run without factors the iteration of each job that counts. Returns numbers of iterations with which all
// jobs run until then, plus a reserve of a quarter and one for draws that differ.
std::vector<int> find_counted(std::span<const JobAmong> jobs, int iterations, JointSubject& subject) {
  const JointSimulation even = simulate_together(jobs, iterations);
  subject.from = even.from;
  std::vector<int> counts;
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    subject.counted.push_back(even.jobs[job].first + iterations - 1);
    counts.push_back(static_cast<int>(even.joint.ends[job].size()) * 5 / 4 + 1);
  }
  return counts;
}

class JointSampling {
 public:
  JointSampling(const JointSubject& subject, const SpreadOptions& options, std::uint64_t seed)
      : subject_(subject), options_(options), seed_(seed), times_(static_cast<std::size_t>(options.samples)) {}

  // Runs the samples that are missing, with `counts` iterations of each job. Returns true if no sample is missing then.
  bool run(std::span<const int> counts) {
    const JointProgram joint = joined(subject_, counts);
    std::vector<std::size_t> missing;
    for (std::size_t i = 0; i < times_.size(); ++i) {
      if (!times_[i]) missing.push_back(i);
    }
    const std::size_t blocks = std::min(kRunners, missing.size());
    parallel_for(
        blocks,
        [&](std::size_t block) {
          RunSampler runner(subject_, joint);
          const std::size_t end = missing.size() * (block + 1) / blocks;
          for (std::size_t i = missing.size() * block / blocks; i < end; ++i) run_one(runner, missing[i]);
        },
        options_.threads);
    return std::all_of(times_.begin(), times_.end(), [](const auto& times) { return times.has_value(); });
  }

  std::vector<double> of(std::size_t job, std::vector<double> RunSampler::Times::*which) const {
    std::vector<double> out;
    for (const auto& times : times_) out.push_back(((*times).*which)[job]);
    return out;
  }

 private:
  void run_one(RunSampler& runner, std::size_t i) {
    const auto number = static_cast<std::uint32_t>(options_.antithetic ? i / 2 : i);
    times_[i] = runner.run(SampleNumber{seed_, number, options_.antithetic && i % 2 == 1});
  }

  const JointSubject& subject_;
  SpreadOptions options_;
  std::uint64_t seed_;
  std::vector<std::optional<RunSampler::Times>> times_;
};

JobSpread add_up(std::vector<double> together, std::vector<double> alone, double without_s, bool pairs) {
  JobSpread out;
  out.without_s = without_s;
  std::vector<double> added;
  for (std::size_t i = 0; i < together.size(); ++i) added.push_back(together[i] - alone[i]);
  out.together = sample_mean(together, pairs);
  out.alone = sample_mean(alone, pairs);
  out.others_add = sample_mean(added, pairs);
  out.together_deviation_s = sample_deviation(together);
  out.alone_deviation_s = sample_deviation(alone);
  for (const double share : kQuantiles) {
    out.together_quantiles.push_back(sample_quantile(together, share));
    out.alone_quantiles.push_back(sample_quantile(alone, share));
  }
  out.together_s = std::move(together);
  out.alone_s = std::move(alone);
  return out;
}

void check_drawn(std::span<const JobAmong> jobs) {
  const auto draws = [](const JobAmong& among) { return is_drawn(among.job); };
  if (std::any_of(jobs.begin(), jobs.end(), draws)) return;
  fail_infeasible({}, "perturbations draw nothing: all samples would be alike",
                  "give cluster.perturbations or those of a job a distribution, such as jitter: {compute: {lognormal: "
                  "{sigma: 0.02}}}");
}

}  // namespace

double JobSpread::others_share_of_variance() const {
  if (together_deviation_s == 0) return 0;
  return 1 - alone_deviation_s * alone_deviation_s / (together_deviation_s * together_deviation_s);
}

JointSpread sample_together(std::span<const JobAmong> jobs, int iterations, const SpreadOptions& options) {
  check_drawn(jobs);
  JointSubject subject;
  for (const JobAmong& among : jobs) subject.jobs.push_back(std::make_unique<SampledJob>(among));
  std::vector<int> counts = find_counted(jobs, iterations, subject);
  const auto even = RunSampler(subject, joined(subject, counts)).run(std::nullopt);
  JointSpread out;
  out.seed = options.seed.value_or(jobs.front().job.cluster.perturbations().seed);
  out.antithetic = options.antithetic;
  out.iteration = iterations;
  JointSampling sampling(subject, options, out.seed);
  int tries = 1;
  for (; !sampling.run(counts) && tries < kTries; ++tries) {
    for (int& count : counts) count *= 2;
  }
  if (tries == kTries || !even) {
    fail_infeasible({}, "in some samples a job runs out of iterations, or has none while all jobs run",
                    "raise iterations, or choose factors that differ less between jobs");
  }
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    out.jobs.push_back(add_up(sampling.of(job, &RunSampler::Times::together_s),
                              sampling.of(job, &RunSampler::Times::alone_s), even->together_s[job],
                              options.antithetic));
  }
  return out;
}

}  // namespace mirfak
