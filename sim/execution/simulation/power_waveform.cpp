// From tasks to watts: the power of each GPU of the program, then of all GPUs, nodes and racks that hold such GPUs. A
// GPU draws the power of waiting throughout, and the energy of its tasks above that (score.hpp), so the integral of its
// power is its energy by construction.
#include "simulation/power_waveform.hpp"

#include "base/averages.hpp"
#include "base/error.hpp"
#include "program/replica_kinds.hpp"
#include "simulation/long_iteration.hpp"
#include "simulation/power_floor.hpp"
#include "simulation/power_grid.hpp"
#include "simulation/power_ramp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace mirfak {

namespace {

using Series = std::vector<double>;

struct PowerInputs {
  PowerInputs(const Job& of, std::span<const StagePlan> of_plans, const Program& executed, const Timeline& times)
      : job(of), plans(of_plans), program(executed), timeline(times) {
    const std::optional<PowerFloor>& floor = job.cluster.facility().power_floor;
    if (floor && floor->ramp_up_slows_work) ramped = ramped_tasks(*floor, plans, program, timeline);
  }

  TimeSpan span_of(TaskId task) const { return {timeline.start[task], timeline.end[task]}; }
  double blocked_w(TaskId task) const {
    return plans[program.ranks[program.rank_of(task)].plan].costs.hardware->hardware.gpu.blocked_w.value;
  }
  // Returns the energy of a task whose power a ramp limits, above that of waiting; nullopt: it limits nothing there.
  std::optional<RampedEnergy> ramped_energy(TaskId task) const {
    const auto found = ramped.find(task);
    if (found == ramped.end()) return std::nullopt;
    return energy_above_waiting(found->second, span_of(task), program.duration[task], program.class_of(task).energy_j,
                                blocked_w(task));
  }

  const Job& job;
  std::span<const StagePlan> plans;
  const Program& program;
  const Timeline& timeline;
  RampedTasks ramped;
};

// Adds the energy of a task above the power of waiting.
void add_work(const PowerInputs& in, const PowerGrid& grid, TaskId task, Series& means_w) {
  const TimeSpan span = in.span_of(task);
  if (const std::optional<RampedEnergy> of = in.ramped_energy(task)) {
    grid.add_slope(means_w, of->rising);
    return grid.add_energy(means_w, of->even.start, of->even.end, of->even.joules);
  }
  grid.add_energy(means_w, span.start, span.end, in.program.class_of(task).energy_j);
}

// The tasks that `matters` chooses, by rank of the program, in the order of the program.
class TasksOfRanks {
 public:
  template <typename Choice>
  TasksOfRanks(const Program& program, const Choice& matters) : begin_(program.ranks.size() + 1) {
    const auto for_each = [&](const auto& visit) {
      for (TaskId task = 0; task < program.size(); ++task) {
        if (matters(program, task)) visit(program.rank_of(task), task);
      }
    };
    for_each([&](std::uint32_t rank, TaskId) { ++begin_[rank + 1]; });
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    tasks_.resize(begin_.back());
    std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
    for_each([&](std::uint32_t rank, TaskId task) { tasks_[next[rank]++] = task; });
  }

  std::span<const TaskId> of(std::uint32_t rank) const {
    return {tasks_.data() + begin_[rank], tasks_.data() + begin_[rank + 1]};
  }

 private:
  std::vector<std::size_t> begin_;
  std::vector<TaskId> tasks_;
};

// Choices of tasks. They are no functions, so that the loops over tasks have them inline.
constexpr auto draws_power = [](const Program& program, TaskId task) { return program.class_of(task).energy_j != 0; };
constexpr auto draws_power_or_keeps_busy = [](const Program& program, TaskId task) {
  return draws_power(program, task) || program.streams[program.stream[task]].kind == StreamKind::compute ||
         program.class_of(task).kind == TaskKind::collective;
};

// Adds the power of one rank. `blocked_w`: power of its share of a GPU while it waits.
void add_rank(const PowerInputs& in, const PowerGrid& grid, std::span<const TaskId> tasks, double blocked_w,
              GpuPower& out) {
  TimeSpans busy;
  TimeSpans collectives;
  const auto part_of = [](TaskKind kind) {
    if (kind == TaskKind::optimizer) return PowerPart::optimizer;
    return kind == TaskKind::collective ? PowerPart::collectives : PowerPart::passes;
  };
  for (const TaskId task : tasks) {
    const TimeSpan span{in.timeline.start[task], in.timeline.end[task]};
    const TaskClass& of = in.program.class_of(task);
    if (of.kind == TaskKind::issue) continue;  // waits
    const PowerPart part = part_of(of.kind);
    add_work(in, grid, task, out[part]);
    if (in.program.streams[in.program.stream[task]].kind == StreamKind::compute) {
      grid.add(out[part], span.start, span.end, blocked_w);
      busy.push_back(span);
    } else if (of.kind == TaskKind::collective) {
      collectives.push_back(span);
    }
  }
  add_waiting(grid, busy, std::move(collectives), blocked_w, out);
}

// GPUs that one GPU of the program stands for: its ranks in the program, and the GPUs, by the cluster's numbers.
struct GpuClass {
  std::vector<std::uint32_t> ranks;
  double count = 0;
};

// Returns the GPUs of a program; each of its ranks is on one of them. If ranks share GPUs, all of them are explicit.
std::vector<GpuClass> gpu_classes(const PowerInputs& in) {
  std::vector<GpuClass> out;
  std::map<int, std::size_t> of_gpu;
  const bool shared = in.job.cluster.shares_gpus();
  for (std::uint32_t rank = 0; rank < in.program.ranks.size(); ++rank) {
    const ProgramRank& of = in.program.ranks[rank];
    if (!shared) {
      out.push_back({{rank}, static_cast<double>(of.multiplicity)});
      continue;
    }
    const int gpu = in.job.cluster.place_of(static_cast<int>(of.rank)).gpu;
    const auto [known, is_new] = of_gpu.try_emplace(gpu, out.size());
    if (is_new) out.push_back({{}, static_cast<double>(of.multiplicity)});
    out[known->second].ranks.push_back(rank);
  }
  return out;
}

const NodeHardware& hardware_of(const PowerInputs& in, const GpuClass& gpu) {
  return in.plans[in.program.ranks[gpu.ranks.front()].plan].costs.hardware->hardware;
}

// Returns the power of a GPU without work.
double waiting_w(const NodeHardware& hardware, const GpuClass& gpu) {
  return hardware.gpu.blocked_w.value * static_cast<double>(gpu.ranks.size()) / hardware.spec.ranks_per_gpu;
}

// Adds the work of a task whose power a ramp limits, as steps from which power falls as it does from the slope: the
// slope is above all that a floor asks for.
void add_ramped_steps(const RampedEnergy& of, std::vector<WorkEnergy>& out) {
  const auto add = [&](Picoseconds start, Picoseconds end, double watts) {
    if (start < end) out.push_back({start, end, watts * to_seconds(end - start)});
  };
  add(of.rising.start, of.rising.end - 1, of.rising.first_w);
  add(of.rising.end - 1, of.rising.end, of.rising.last_w);
  if (of.even.start < of.even.end) out.push_back(of.even);
}

// Returns what a GPU draws above its work to keep the cluster's floor. `tasks`: with all that draw power.
std::vector<PowerSlope> floor_of(const PowerInputs& in, const TasksOfRanks& tasks, const GpuClass& gpu) {
  const std::optional<PowerFloor>& floor = in.job.cluster.facility().power_floor;
  if (!floor) return {};
  const NodeHardware& hardware = hardware_of(in, gpu);
  std::vector<WorkEnergy> work;
  for (const std::uint32_t rank : gpu.ranks) {
    for (const TaskId task : tasks.of(rank)) {
      const WorkEnergy of{in.timeline.start[task], in.timeline.end[task], in.program.class_of(task).energy_j};
      if (const std::optional<RampedEnergy> ramped = in.ramped_energy(task)) {
        add_ramped_steps(*ramped, work);
      } else if (of.start < of.end) {
        work.push_back(of);
      }
    }
  }
  return power_above_work(*floor, hardware.gpu.limit_w(), waiting_w(hardware, gpu), work, in.timeline.makespan);
}

// Returns the power of one GPU: of its tasks, held to its limit, smoothed by its node's supply.
GpuPower power_of(const PowerInputs& in, const PowerGrid& grid, const TasksOfRanks& tasks, const GpuClass& gpu) {
  const NodeHardware& hardware = hardware_of(in, gpu);
  GpuPower out(grid.intervals());
  for (const std::uint32_t rank : gpu.ranks) {
    add_rank(in, grid, tasks.of(rank), hardware.gpu.blocked_w.value / hardware.spec.ranks_per_gpu, out);
  }
  for (const PowerSlope& slope : floor_of(in, tasks, gpu)) grid.add_slope(out[PowerPart::floor], slope);
  limit_and_smooth(hardware, grid, out);
  return out;
}

// True if two GPUs draw the same power at all times: their hardware is the same, and so are times and energy of their
// tasks.
bool draw_alike(const PowerInputs& in, const TasksOfRanks& tasks, const GpuClass& one, const GpuClass& other) {
  if (!in.ramped.empty() || &hardware_of(in, one) != &hardware_of(in, other)) return false;
  const auto alike = [&](TaskId a, TaskId b) {
    const auto energy_j = [&](TaskId task) { return in.program.class_of(task).energy_j; };
    return in.timeline.start[a] == in.timeline.start[b] && in.timeline.end[a] == in.timeline.end[b] &&
           energy_j(a) == energy_j(b);
  };
  return std::equal(one.ranks.begin(), one.ranks.end(), other.ranks.begin(), other.ranks.end(),
                    [&](std::uint32_t a, std::uint32_t b) {
                      const std::span<const TaskId> of_a = tasks.of(a);
                      const std::span<const TaskId> of_b = tasks.of(b);
                      return std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), alike);
                    });
}

// Returns the power of a GPU, not divided into parts. A GPU that runs a kernel draws the power of waiting, too, so that
// only the energy above it is spread over tasks.
Series undivided_power_of(const PowerInputs& in, const PowerGrid& grid, const TasksOfRanks& tasks,
                          const GpuClass& gpu) {
  const NodeHardware& hardware = hardware_of(in, gpu);
  Series watts(grid.intervals(), waiting_w(hardware, gpu));
  for (const std::uint32_t rank : gpu.ranks) {
    for (const TaskId task : tasks.of(rank)) {
      add_work(in, grid, task, watts);
    }
  }
  for (const PowerSlope& slope : floor_of(in, tasks, gpu)) grid.add_slope(watts, slope);
  hold_to_own_limit(hardware.gpu, grid, watts);
  smooth_by_supply(hardware.spec, grid, watts);
  return watts;
}

// Returns the power of all GPUs together, not divided into parts. Programs with all ranks have thousands of GPUs in a
// row that draw the same power.
Series all_gpus(const PowerInputs& in, const PowerGrid& grid) {
  const TasksOfRanks tasks(in.program, draws_power);
  Series out(grid.intervals());
  Series watts;
  const std::vector<GpuClass> gpus = gpu_classes(in);
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (i == 0 || !draw_alike(in, tasks, gpus[i - 1], gpus[i])) watts = undivided_power_of(in, grid, tasks, gpus[i]);
    add_times(out, watts, gpus[i].count);
  }
  return out;
}

// Returns the same from the parts of each program's GPU, which are handed to `visit`.
template <typename Visit>
Series all_gpus(const PowerInputs& in, const PowerGrid& grid, const Visit& visit) {
  const TasksOfRanks tasks(in.program, draws_power_or_keeps_busy);
  Series out(grid.intervals());
  for (const GpuClass& gpu : gpu_classes(in)) {
    GpuPower power = power_of(in, grid, tasks, gpu);
    Series sum = power.sum();
    add_times(out, sum, gpu.count);
    visit(gpu, power, std::move(sum));
  }
  return out;
}

PowerInputs inputs_of(const Simulation& simulation) {
  return {simulation.job, simulation.plans, simulation.program, simulation.timeline};
}

// Numbers series by their content.
class KnownSeries {
 public:
  // Returns the number of the series, a new one if no equal series is known.
  std::size_t number_of(Series series) {
    const std::size_t hash = hash_of(series);
    for (auto [known, end] = by_hash_.equal_range(hash); known != end; ++known) {
      if (all_[known->second] == series) return known->second;
    }
    by_hash_.emplace(hash, all_.size());
    all_.push_back(std::move(series));
    return all_.size() - 1;
  }
  const std::vector<Series>& all() const { return all_; }

 private:
  static std::size_t hash_of(const Series& series) {
    std::size_t out = series.size();
    for (const double value : series) out = out * 1099511628211U + std::hash<double>()(value);
    return out;
  }

  std::vector<Series> all_;
  std::unordered_multimap<std::size_t, std::size_t> by_hash_;
};

void check_numbers(std::size_t numbers, const PowerGrid& grid) {
  check_power_numbers(static_cast<double>(numbers),
                      fmt::format("{} intervals of an iteration, each with the power of every GPU, node and rack that "
                                  "differs from the others, are",
                                  grid.intervals()),
                      "ask for a coarser resolution, or leave out --unfolded");
}

// Series of the GPUs of a cluster, by the GPU's number there.
struct SeriesOfGpus {
  std::vector<std::size_t> series;  // index into KnownSeries
  std::vector<int> rank;            // a rank on each GPU
};

// Units of one kind: GPUs, nodes or racks. `members`: for each unit the numbers of its GPUs' series, and of its nodes'
// groups.
class UnitList {
 public:
  void add(int unit, std::size_t series) { ++members_[unit][series]; }

  // Returns the units that differ, ordered by the first of each. `own(unit)`: what a unit draws besides its GPUs.
  template <typename Own>
  std::vector<PowerUnit> units(const std::vector<Series>& series, const PowerGrid& grid, std::size_t& numbers,
                               const Own& own) const {
    std::map<std::pair<std::map<std::size_t, int>, double>, std::size_t> known;
    std::vector<PowerUnit> out;
    for (const auto& [unit, gpus] : members_) {
      const double own_w = own(unit);
      const auto [place, is_new] = known.try_emplace({gpus, own_w}, out.size());
      if (is_new) {
        numbers += grid.intervals();
        check_numbers(numbers, grid);
        out.push_back({unit, 0, Series(grid.intervals(), own_w)});
        for (const auto& [gpu, count] : gpus) add_times(out.back().watts, series[gpu], count);
      }
      ++out[place->second].count;
    }
    return out;
  }

 private:
  std::map<int, std::map<std::size_t, int>> members_;  // by unit: number of GPUs with each series
};

// Adds GPUs, nodes and racks. `gpus`: the series of each GPU of the cluster.
void add_units(const Cluster& cluster, const KnownSeries& series, const SeriesOfGpus& gpus, const PowerGrid& grid,
               PowerWaveform& out) {
  UnitList each;
  UnitList nodes;
  UnitList racks;
  std::map<int, double> host_w;  // by node
  std::map<int, std::set<int>> nodes_of_rack;
  for (std::size_t gpu = 0; gpu < gpus.series.size(); ++gpu) {
    const DevicePlace place = cluster.place_of(gpus.rank[gpu]);
    each.add(static_cast<int>(gpu), gpus.series[gpu]);
    nodes.add(place.node, gpus.series[gpu]);
    racks.add(place.domain, gpus.series[gpu]);
    host_w[place.node] = cluster.group_of(gpus.rank[gpu]).hardware.spec.host_power_w.value;
    nodes_of_rack[place.domain].insert(place.node);
  }
  std::size_t numbers = (out.shown_parts() + 4) * grid.intervals();
  out.gpus = each.units(series.all(), grid, numbers, [](int) { return 0.0; });
  out.nodes = nodes.units(series.all(), grid, numbers, [&](int node) { return host_w.at(node); });
  const bool has_racks =
      std::any_of(nodes_of_rack.begin(), nodes_of_rack.end(), [](const auto& rack) { return rack.second.size() > 1; });
  if (!has_racks) return;
  out.racks = racks.units(series.all(), grid, numbers, [&](int rack) {
    double watts = 0;
    for (const int node : nodes_of_rack.at(rack)) watts += host_w.at(node);
    return watts;
  });
}

Series filled_in(const Series& gpus_w, const Series& collectives_w, const Series& in_collectives, double gpus) {
  const double others = gpus - mean(in_collectives);
  const double each_w = others > 0 ? (mean(gpus_w) - mean(collectives_w)) / others : 0;
  Series out = gpus_w;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += in_collectives[i] * each_w - collectives_w[i];
  return out;
}

}  // namespace

std::vector<std::string> notes_on_supplies(const Cluster& cluster) {
  std::vector<std::string> unknown;
  for (const NodeGroup& group : cluster.groups()) {
    const std::string& name = group.hardware.spec.name;
    if (group.hardware.spec.supply_time_constant_s) continue;
    if (std::find(unknown.begin(), unknown.end(), name) == unknown.end()) unknown.push_back(name);
  }
  if (unknown.empty()) return {};
  return {
      fmt::format("no time constant of the supply of {} is known (supply_time_constant_s of a node's file): power "
                  "is not smoothed, so ramps are as steep as tasks begin and end",
                  fmt::join(unknown, ", "))};
}

PowerWaveform power_waveform(const Simulation& simulation, double interval_s, bool units) {
  require_whole(simulation, "power over time");
  const Cluster& cluster = simulation.job.cluster;
  const PowerGrid grid(simulation.timeline.makespan, interval_s, kMostPowerNumbers);
  PowerWaveform out;
  out.iteration_s = grid.iteration_s();
  out.interval_s = grid.interval_s();
  out.has_floor = cluster.facility().power_floor.has_value();
  out.parts_w.fill(Series(grid.intervals()));
  out.gpus_in_collectives.resize(grid.intervals());
  KnownSeries series;
  SeriesOfGpus gpus;
  gpus.series.resize(static_cast<std::size_t>(cluster.physical_gpus()));
  gpus.rank.resize(gpus.series.size());
  out.gpus_w = all_gpus(inputs_of(simulation), grid, [&](const GpuClass& gpu, const GpuPower& power, Series sum) {
    for (std::size_t part = 0; part < kPowerParts; ++part) add_times(out.parts_w[part], power.parts[part], gpu.count);
    add_times(out.gpus_in_collectives, power.in_collectives, gpu.count);
    if (!units) return;
    const std::size_t number = series.number_of(std::move(sum));
    check_numbers(series.all().size() * grid.intervals(), grid);
    for (const std::uint32_t of : gpu.ranks) {
      for (const int rank :
           ranks_of(simulation.program, simulation.job, simulation.plans, simulation.program.ranks[of])) {
        const auto place = static_cast<std::size_t>(cluster.place_of(rank).gpu);
        gpus.series[place] = number;
        gpus.rank[place] = rank;
      }
    }
  });
  out.hosts_w.assign(grid.intervals(), cluster.host_power_w());
  out.network_w = cluster.facility().network_power_w;
  out.machine_w = out.gpus_w;
  for (std::size_t i = 0; i < grid.intervals(); ++i) out.machine_w[i] += out.hosts_w[i] + out.network_w;
  if (units) add_units(cluster, series, gpus, grid, out);
  out.notes = notes_on_supplies(cluster);
  return out;
}

PowerProfile power_profile(Picoseconds iteration, double gpus,
                           const std::function<GpusOverTime(const PowerGrid&, bool)>& over) {
  constexpr double kFine_s = 1e-3;  // a twentieth of half the period of the highest line
  constexpr std::size_t kStrongest = 10;
  PowerProfile out;
  // Transforms are fast for powers of two.
  std::size_t intervals = 4;
  while (intervals < 2 * PowerGrid::kMostIntervals &&
         to_seconds(iteration) / static_cast<double>(intervals) > kFine_s) {
    intervals *= 2;
  }
  const PowerGrid fine(iteration, to_seconds(iteration) / static_cast<double>(intervals), intervals);
  out.lines = power_spectrum(over(fine, false).gpus_w, to_seconds(iteration));
  out.strongest = strongest(out.lines, kStrongest);
  const PowerGrid grid(iteration, kPowerFigureInterval_s);
  const GpusOverTime all = over(grid, true);
  out.swing_without_collectives_w =
      figures_of_power(filled_in(all.gpus_w, all.collectives_w, all.in_collectives, gpus), grid.interval_s()).swing_w;
  return out;
}

PowerProfile power_profile(const Simulation& simulation) {
  require_whole(simulation, "power over time");
  const PowerInputs in = inputs_of(simulation);
  const auto gpus = static_cast<double>(simulation.job.cluster.physical_gpus());
  return power_profile(simulation.timeline.makespan, gpus, [&](const PowerGrid& grid, bool parts) {
    if (!parts) return GpusOverTime{all_gpus(in, grid), {}, {}};
    GpusOverTime out{{}, Series(grid.intervals()), Series(grid.intervals())};
    out.gpus_w = all_gpus(in, grid, [&](const GpuClass& gpu, GpuPower& power, const Series&) {
      add_times(out.collectives_w, power[PowerPart::collectives], gpu.count);
      add_times(out.in_collectives, power.in_collectives, gpu.count);
    });
    return out;
  });
}

PowerFigures power_figures(const Job& job, std::span<const StagePlan> plans, const Program& program,
                           const Timeline& timeline) {
  const PowerGrid grid(timeline.makespan, kPowerFigureInterval_s);
  return figures_of_power(all_gpus({job, plans, program, timeline}, grid), grid.interval_s());
}

std::vector<double> ramp_savings_of_plans(const Job& job, std::span<const StagePlan> plans, const Program& program,
                                          const Timeline& timeline) {
  const PowerInputs in(job, plans, program, timeline);
  if (in.ramped.empty()) return {};
  std::vector<double> out(plans.size());
  for (TaskId task = 0; task < program.size(); ++task) {  // in order, so that sums have the same bits everywhere
    const std::optional<RampedEnergy> of = in.ramped_energy(task);
    if (!of) continue;
    const ProgramRank& rank = program.ranks[program.rank_of(task)];
    out[rank.plan] += (program.class_of(task).energy_j - of->joules()) * rank.multiplicity;
  }
  return out;
}

std::vector<double> floor_energy_of_plans(const Job& job, std::span<const StagePlan> plans, const Program& program,
                                          const Timeline& timeline) {
  if (!job.cluster.facility().power_floor) return {};
  const PowerInputs in{job, plans, program, timeline};
  const TasksOfRanks tasks(program, draws_power);
  std::vector<double> out(plans.size());
  for (const GpuClass& gpu : gpu_classes(in)) {
    double joules = 0;
    for (const PowerSlope& slope : floor_of(in, tasks, gpu)) joules += slope.joules();
    out[program.ranks[gpu.ranks.front()].plan] += joules * gpu.count;
  }
  return out;
}

PowerFigures figures_of_power(std::span<const double> gpus_w, double interval_s) {
  PowerFigures out;
  const auto [least, most] = std::minmax_element(gpus_w.begin(), gpus_w.end());
  out.peak_w = *most;
  out.swing_w = *most - *least;
  for (std::size_t i = 0; i < gpus_w.size(); ++i) {
    const double change = std::abs(gpus_w[(i + 1) % gpus_w.size()] - gpus_w[i]);
    out.max_ramp_w_per_s = std::max(out.max_ramp_w_per_s, change / interval_s);
  }
  return out;
}

}  // namespace mirfak
