#include "capture/captured_clocks.hpp"

#include "base/parallel.hpp"
#include "energy/device_clocks.hpp"
#include "scenario/sections.hpp"

#include <algorithm>
#include <numeric>

namespace mirfak {

namespace {

// Time and energy of a pass of one rank, with all GPUs at one clock.
struct PricedPass {
  Picoseconds duration = 0;
  double energy_j = 0;  // above that of waiting as long
};

class ClockPrices {
 public:
  ClockPrices(const CapturedScenario& scenario, const CaptureSources& sources, CapturedClocks& out)
      : scenario_(scenario), sources_(sources), out_(out) {
    for (std::size_t rank = 0; rank < executed().ranks.size(); ++rank) {
      clocks_.push_back(planned_clocks(scenario.cluster.groups()[executed().ranks[rank].group].hardware));
      out.full_clock_hz.push_back(gpu_of(rank).clock_max_hz.value);
      out.highest_clock_hz.push_back(clocks_.back().front());
    }
    absent_ = static_cast<double>(capture().world_size) / static_cast<double>(capture().ranks.size());
  }

  void write() {
    std::size_t settings = 0;
    for (const std::vector<double>& clocks : clocks_) settings = std::max(settings, clocks.size());
    std::vector<std::vector<PricedPass>> priced(settings);
    priced[0] = passes_in(executed());
    parallel_for(settings - 1, [&](std::size_t i) { priced[i + 1] = passes_at(i + 1); });
    ClockedProgram& clocked = out_.clocked;
    clocked.program = out_.passes.program;
    clocked.choices_of.assign(clocked.program.classes.size(), -1);
    for (std::size_t i = 0; i < out_.passes.passes.size(); ++i) add_pass(i, priced);
    clocked.lasts = clocked.program.duration;
    for (std::size_t rank = 0; rank < executed().ranks.size(); ++rank) {
      clocked.blocked_w += gpu_of(rank).blocked_w.value * clocked.program.ranks[rank].multiplicity * absent_;
    }
    clocked.left_out.emplace_back(
        "what a rank does between passes (gradients on their way, the host, the optimizer) takes as long as at the "
        "highest clocks");
  }

 private:
  const CapturedProgram& executed() const { return out_.simulated.executed; }
  const Capture& capture() const { return *out_.simulated.capture; }
  const GpuSpec& gpu_of(std::size_t rank) const {
    return scenario_.cluster.groups()[executed().ranks[rank].group].hardware.gpu;
  }
  double clock_of(std::size_t rank, std::size_t setting) const {
    return clocks_[rank][std::min(setting, clocks_[rank].size() - 1)];
  }

  std::vector<PricedPass> passes_in(const CapturedProgram& at) const {
    std::vector<PricedPass> out;
    for (const CapturedPass& pass : out_.passes.passes) {
      const std::vector<double>& energies = at.ranks[pass.rank].energy_j;
      const double energy_j = std::accumulate(pass.kernels.begin(), pass.kernels.end(), 0.0,
                                              [&](double sum, std::size_t kernel) { return sum + energies[kernel]; });
      out.push_back({pass.end(at) - pass.start(at), energy_j});
    }
    return out;
  }

  // Executes the step with all GPUs at a place in their list of clocks.
  std::vector<PricedPass> passes_at(std::size_t setting) const {
    KernelLimits limits;
    for (std::size_t rank = 0; rank < executed().ranks.size(); ++rank) {
      const double share = clock_of(rank, setting) / out_.full_clock_hz[rank];
      limits.emplace_back(executed().ranks[rank].clock.size(), share);
    }
    CapturedProgram at = executed();
    execute_at(capture(), pricing_of(scenario_, sources_), limits, at);
    return passes_in(at);
  }

  void add_pass(std::size_t index, const std::vector<std::vector<PricedPass>>& priced) {
    const CapturedPass& pass = out_.passes.passes[index];
    ClockedProgram& clocked = out_.clocked;
    const TaskId task = out_.passes.task_of[index];
    clocked.program.classes[clocked.program.task_class[task]].energy_j = priced[0][index].energy_j * absent_;
    if (pass.kind == CapturedPassKind::other) return;
    std::vector<ClockChoice> choices;
    for (std::size_t setting = 0; setting < clocks_[pass.rank].size(); ++setting) {
      const PricedPass& at = priced[setting][index];
      choices.push_back(
          {clock_of(pass.rank, setting), at.duration, at.energy_j * clocked.multiplicity(task) * absent_});
    }
    clocked.choices_of[clocked.program.task_class[task]] = static_cast<std::int32_t>(clocked.choices.size());
    clocked.choices.push_back(pass_choices(choices));
    clocked.settings.push_back(std::move(choices));
  }

  const CapturedScenario& scenario_;
  const CaptureSources& sources_;
  CapturedClocks& out_;
  std::vector<std::vector<double>> clocks_;  // by rank
  double absent_ = 1;  // ratio of all ranks to those in the capture: absent ones take the mean of these
};

}  // namespace

CapturedClocks captured_clocks(const CapturedScenario& scenario, const CaptureSources& sources) {
  if (!scenario.cluster.perturbations().empty()) {
    locate(scenario.document, "cluster.perturbations")
        .fail_infeasible("clocks are planned for ranks that are equally fast",
                         "leave it out, and name slow pipelines by --straggler");
  }
  CapturedClocks out;
  out.simulated = simulate(scenario, sources);
  out.passes = pass_program(*out.simulated.capture, out.simulated.executed);
  ClockPrices(scenario, sources, out).write();
  return out;
}

KernelLimits kernel_limits_of(const CapturedClocks& clocks, const ClockAssignment& assigned) {
  KernelLimits out;
  const std::vector<PricedRank>& ranks = clocks.simulated.executed.ranks;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    out.emplace_back(ranks[rank].clock.size(), clocks.highest_clock_hz[rank] / clocks.full_clock_hz[rank]);
  }
  for (std::size_t i = 0; i < clocks.passes.passes.size(); ++i) {
    const CapturedPass& pass = clocks.passes.passes[i];
    const TaskId task = clocks.passes.task_of[i];
    if (!clocks.clocked.is_clocked(task)) continue;
    const double share = assigned[task].clock_hz / clocks.full_clock_hz[pass.rank];
    for (const std::size_t kernel : pass.kernels) out[pass.rank][kernel] = share;
  }
  return out;
}

}  // namespace mirfak
