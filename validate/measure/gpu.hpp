#pragma once

#include "cluster/hardware.hpp"
#include "executor/executor.hpp"
#include "executor/gpu_settings.hpp"
#include "executor/submission_order.hpp"
#include "measure/measured_table.hpp"
#include "program/kernel_work.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mirfak::measure {

class World;

// The hardware's part of --backend cuda: the commands know neither CUDA nor NCCL. Defined where CUDA is built in;
// check_backend() refuses it elsewhere.

// Makes a GPU this process's own. Error(infeasible) "no CUDA device: ..." where there is none; all processes call.
void choose_gpu(const World& world);

// An executor of one plan, this process's, or (loopback) of all ranks' plans. References must outlive it.
// `clock_error_s`: says by how much the times of two ranks may be off.
struct GpuExecutor {
  std::unique_ptr<Executor> executor;
  double (*clock_error_s)(const Executor&) = nullptr;
};
GpuExecutor gpu_executor(const World& world, const ExecutionGroups& groups, const std::vector<TransferLane>& transfers,
                         std::span<const RankPlan> plans, const GpuSettings& settings);

// Seconds of each kernel, the middle of `repeats`.
std::vector<double> time_gpu_kernels(std::span<const KernelWork> work, const KernelPrecision& precision, int repeats,
                                     double timeout_s);

// Periods of empty kernels, in seconds.
struct GpuLaunch {
  double stream_s = 0;  // in a stream that the host has filled
  double host_s = 0;    // of the host, which hands them to a stream one after another
  double graph_s = 0;   // in a CUDA graph, each behind the one before
};
GpuLaunch time_gpu_launches(double timeout_s);

// The time and energy of one kernel class at one clock, run without a pause for a while.
struct GpuEnergy {
  double clock_hz = 0;      // set, or that the card chose, at the end
  double time_s = 0;        // of one kernel
  double short_time_s = 0;  // ... of a few in a row, before the clock falls under the power limit
  double energy_j = 0;      // ... of the whole card
  double power_w = 0;
  double temperature_c = 0;
};
// A load of the card during such a measurement.
struct GpuLoad {
  enum class Kind : std::uint8_t {
    rest,
    wait,  // as in a collective whose other members have not come: some thread blocks that look again and again
    kernel,
  };
  Kind kind{};
  KernelWork work;  // kernel
};
// Error(infeasible) without NVML. `clocks_hz`: to be set one after another;
// empty: the card's own; the clock is given back on any way out, signals included. Results by load and then clock.
std::vector<GpuEnergy> measure_gpu_energy(std::span<const GpuLoad> loads, const KernelPrecision& precision,
                                          double seconds, std::span<const double> clocks_hz);
// Returns `count` of the clocks that the card has, the highest and the lowest among them.
std::vector<double> gpu_clocks(int count);

// Says what this process's GPU has drawn since its driver was loaded, in joules; nothing where its driver does not
// count.
std::function<std::optional<double>()> gpu_energy_meter();

// Reads what this process's GPU draws at the moment, in W; nothing where its driver knows only averages of a second.
std::function<std::optional<double>()> gpu_power_meter();

// The machine, its GPU included.
Machine describe_gpu_machine();
const char* nccl_type_name(Precision precision);  // "bfloat16"

}  // namespace mirfak::measure
