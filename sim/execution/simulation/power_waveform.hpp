#pragma once

#include "simulation/gpu_power.hpp"
#include "simulation/iteration.hpp"
#include "simulation/power_spectrum.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// GPUs, nodes or racks that draw the same power at all times.
struct PowerUnit {
  int first = 0;              // number of the first of them in the cluster
  int count = 0;              // number of them
  std::vector<double> watts;  // power of each, by interval
};

// Mean power over equal intervals of an iteration that repeats. Each task's energy is spread evenly over the task:
// passes, or kernels and collectives if the program has them as tasks. Whatever the interval, the means of all GPUs
// times its length add up to the iteration's energy (1e-9), and folded programs have the waveform of unfolded ones.
//
// A GPU's limit holds for its mean over kLimitWindow_s, or over one interval if that is longer (hold_to_limit). The
// power of a node whose supply has a time constant (NodeSpec::supply_time_constant_s) is smoothed by it.
struct PowerWaveform {
  double iteration_s = 0;
  double interval_s = 0;
  std::vector<double> gpus_w;                            // all GPUs together
  std::array<std::vector<double>, kPowerParts> parts_w;  // by PowerPart; they sum to gpus_w
  bool has_floor = false;                                // the cluster keeps a floor
  std::vector<double> hosts_w;                           // all nodes without their GPUs
  double network_w = 0;                                  // switches and cables (cluster.network_power_w)
  std::vector<double> machine_w;                         // GPUs, hosts and network
  std::vector<double> gpus_in_collectives;               // mean number of GPUs that wait while a collective runs
  std::vector<PowerUnit> gpus;
  std::vector<PowerUnit> nodes;  // with their hosts
  std::vector<PowerUnit> racks;  // nodes that share one scale-up link between them; empty: there are none
  std::vector<std::string> notes;

  std::size_t intervals() const { return gpus_w.size(); }
  // Number of parts that are shown, the first ones: without a floor, none is burnt for it.
  std::size_t shown_parts() const { return has_floor ? kPowerParts : kPowerParts - 1; }
};

// Returns the waveform of an iteration that was executed whole (require_whole). Error(input) if it would have more
// than kMostPowerNumbers numbers; the hint names --power-resolution.
// `units`: false leaves GPUs, nodes and racks out.
PowerWaveform power_waveform(const Simulation& simulation, double interval_s, bool units = true);

// Properties of the power of all GPUs together that no interval of a waveform decides.
struct PowerProfile {
  std::vector<PowerLine> lines;  // all lines of the band, by ascending frequency
  std::vector<PowerLine> strongest;
  // The swing (PowerFigures::swing_w) if GPUs drew the mean power of the others while they wait in collectives: the
  // rest of the swing is what synchronous collectives contribute.
  double swing_without_collectives_w = 0;
};
PowerProfile power_profile(const Simulation& simulation);

// Power of all GPUs over a grid; the last two members are empty if nobody asked for them.
struct GpusOverTime {
  std::vector<double> gpus_w;
  std::vector<double> collectives_w;   // part of it in PowerPart::collectives
  std::vector<double> in_collectives;  // mean number of GPUs that wait while a collective runs
};
// Returns the profile of the power of `gpus` GPUs over an iteration. `over(grid, parts)`: their power, with the last
// two series if `parts` is true.
PowerProfile power_profile(Picoseconds iteration, double gpus,
                           const std::function<GpusOverTime(const PowerGrid&, bool)>& over);

// Names the node types whose supply is not smoothed because nothing is known of it.
std::vector<std::string> notes_on_supplies(const Cluster& cluster);

// Returns the figures of a program's power. `timeline`: of the program.
PowerFigures power_figures(const Job& job, std::span<const StagePlan> plans, const Program& program,
                           const Timeline& timeline);
// Returns the energy that the GPUs of each plan burn to keep cluster.power_floor; empty: there is no floor.
std::vector<double> floor_energy_of_plans(const Job& job, std::span<const StagePlan> plans, const Program& program,
                                          const Timeline& timeline);
// Returns the energy by which the work of each plan's GPUs draws less than at full speed, because it is slowed while
// power may not rise (PowerFloor::ramp_up_slows_work); empty: nothing is slowed.
std::vector<double> ramp_savings_of_plans(const Job& job, std::span<const StagePlan> plans, const Program& program,
                                          const Timeline& timeline);
// Returns the figures of means of the power of all GPUs, over intervals of this length.
PowerFigures figures_of_power(std::span<const double> gpus_w, double interval_s);

}  // namespace mirfak
