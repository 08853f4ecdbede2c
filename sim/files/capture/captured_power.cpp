#include "capture/captured_power.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

using Series = std::vector<double>;

class CapturedPower {
 public:
  CapturedPower(const CapturedScenario& scenario, const CaptureSimulation& simulation)
      : cluster_(scenario.cluster),
        capture_(*simulation.capture),
        executed_(simulation.executed),
        result_(simulation.result) {
    double known = 0;
    for (const CapturedRankResult& rank : result_.ranks) known += static_cast<double>(rank.stands_for);
    of_each_ = static_cast<double>(result_.gpus) / known;
  }

  Picoseconds iteration() const { return executed_.timeline.makespan; }
  double gpus() const { return static_cast<double>(result_.gpus); }
  double hosts_w() const { return result_.host_power_w; }

  // Calls `visit` with the power of each captured rank's GPU, and the number of GPUs that it stands for.
  template <typename Visit>
  void for_each_gpu(const PowerGrid& grid, const Visit& visit) const {
    for (std::size_t r = 0; r < executed_.ranks.size(); ++r) {
      GpuPower power = power_of(r, grid);
      visit(power, static_cast<double>(result_.ranks[r].stands_for) * of_each_);
    }
  }

  GpusOverTime over(const PowerGrid& grid) const {
    GpusOverTime out{Series(grid.intervals()), Series(grid.intervals()), Series(grid.intervals())};
    for_each_gpu(grid, [&](GpuPower& power, double count) {
      add_times(out.gpus_w, power.sum(), count);
      add_times(out.collectives_w, power[PowerPart::collectives], count);
      add_times(out.in_collectives, power.in_collectives, count);
    });
    return out;
  }

 private:
  GpuPower power_of(std::size_t r, const PowerGrid& grid) const {
    const PricedRank& rank = executed_.ranks[r];
    const NodeHardware& hardware = cluster_.groups()[rank.group].hardware;
    GpuPower out(grid.intervals());
    TimeSpans busy;
    TimeSpans collectives;
    std::size_t kernel = 0;
    for (std::size_t i = 0; i < rank.tasks.size(); ++i) {
      const CapturedTask& task = rank.tasks[i];
      if (task.on_host || task.event < 0) continue;
      const CaptureEvent& event = capture_.ranks[rank.rank].events[static_cast<std::size_t>(task.event)];
      const TaskId id = executed_.joined.task_of[r][i];
      const TimeSpan span{executed_.timeline.start[id], executed_.timeline.end[id]};
      if (event.kind != CaptureEventKind::launch) {
        collectives.push_back(span);
        continue;
      }
      grid.add_energy(out[PowerPart::passes], span.start, span.end, rank.energy_j[kernel++]);
      busy.push_back(span);
    }
    const double blocked_w = hardware.gpu.blocked_w.value;
    busy = joined(std::move(busy));
    for (const TimeSpan& span : busy) grid.add(out[PowerPart::passes], span.start, span.end, blocked_w);
    add_waiting(grid, busy, std::move(collectives), blocked_w, out);
    limit_and_smooth(hardware, grid, out);
    return out;
  }

  const Cluster& cluster_;
  const Capture& capture_;
  const CapturedProgram& executed_;
  const CaptureResult& result_;
  double of_each_ = 1;  // GPUs for each that a captured rank stands for: ranks that the capture lacks
};

PowerWaveform waveform_of(const CapturedPower& power, const Cluster& cluster, const PowerGrid& grid) {
  PowerWaveform out;
  out.iteration_s = grid.iteration_s();
  out.interval_s = grid.interval_s();
  out.gpus_w.resize(grid.intervals());
  out.gpus_in_collectives.resize(grid.intervals());
  out.parts_w.fill(Series(grid.intervals()));
  power.for_each_gpu(grid, [&](GpuPower& of, double count) {
    add_times(out.gpus_w, of.sum(), count);
    add_times(out.gpus_in_collectives, of.in_collectives, count);
    for (std::size_t part = 0; part < kPowerParts; ++part) add_times(out.parts_w[part], of.parts[part], count);
  });
  out.hosts_w.assign(grid.intervals(), power.hosts_w());
  out.network_w = cluster.facility().network_power_w;
  out.machine_w = out.gpus_w;
  for (std::size_t i = 0; i < grid.intervals(); ++i) out.machine_w[i] += out.hosts_w[i] + out.network_w;
  out.notes = notes_on_supplies(cluster);
  return out;
}

}  // namespace

PowerReport power_report(const CapturedScenario& scenario, const CaptureSimulation& simulation, double interval_s) {
  const CapturedPower power(scenario, simulation);
  const PowerGrid grid(power.iteration(), interval_s, kMostPowerNumbers);
  check_power_numbers(static_cast<double>(grid.intervals() * (kPowerParts + 4)),
                      fmt::format("{} intervals of a step are", grid.intervals()), kCoarserResolution);
  return {waveform_of(power, scenario.cluster, grid),
          power_profile(power.iteration(), power.gpus(),
                        [&](const PowerGrid& of, bool /*parts*/) { return power.over(of); })};
}

PowerFigures power_figures(const CapturedScenario& scenario, const CaptureSimulation& simulation) {
  const CapturedPower power(scenario, simulation);
  const PowerGrid grid(power.iteration(), kPowerFigureInterval_s);
  return figures_of_power(power.over(grid).gpus_w, grid.interval_s());
}

}  // namespace mirfak
