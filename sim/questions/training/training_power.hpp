#pragma once

#include "base/units.hpp"
#include "cluster/cluster.hpp"
#include "simulation/power_grid.hpp"
#include "training/run.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// Power of the machine (GPUs, hosts, network, spares) over a run of a training, as means over equal intervals. While
// the machine trains it draws the mean power of its iterations: what happens within an iteration is left out. The means
// times the interval add up to the run's energy (1e-9).
struct TrainingPower {
  double interval_s = 0;
  std::vector<double> machine_w;
  std::array<std::vector<double>, kTimeParts> parts_w;  // by TimePart; they sum to machine_w. Empty: it never draws
  double energy_j = 0;
  double saving_energy_j = 0;  // part of it while training waits for a state to be saved
  std::int64_t saves = 0;      // saves that training waited for
  double training_w = 0;       // while it trains at full speed, in the phase that ends the run
  double idle_w = 0;           // while it does not train
  std::vector<std::string> notes;

  std::size_t intervals() const { return machine_w.size(); }
  std::size_t drawn_parts() const;  // number of parts that are not empty
};

inline constexpr PowerResolutions kTrainingResolutions{1, kSecondsPerHour, 60};

// Returns the power of a run. `spans`: all of its stretches, of run_training(course). The intervals divide the run;
// their length is the nearest to `interval_s`. Error(input) with --power-resolution for more than
// kMostPowerNumbers numbers. Its notes are empty.
TrainingPower power_of_run(const TrainingCourse& course, std::span<const RunSpan> spans, double interval_s);

// Names the node types whose power without work is not known, so that hosts count with what they draw with work.
std::vector<std::string> notes_on_idle_hosts(const Cluster& cluster);

}  // namespace mirfak
