// Profiles of a processor in the terms of GPUs: a core is a GPU with one multiprocessor and no host to wait for. The
// parts of the product model that the hardware lacks are switched off (waves, splits, the power limit, the second-level
// cache: benchmarks find their operands in memory); the rest is a rate, a share of the rate lost at the edges of tiles,
// and memory.
#include "calibration/machine_profile.hpp"

#include "base/error.hpp"
#include "base/yaml.hpp"
#include "calibration/collective_table.hpp"
#include "calibration/gemm_table.hpp"
#include "calibration/memory_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

namespace mirfak {

namespace {

using Description = std::map<std::string, std::string>;

Description read_description(const CsvTable& machine) {
  Description out;
  const std::size_t key = machine.require("key");
  const std::size_t value = machine.require("value");
  for (std::size_t row = 0; row < machine.rows(); ++row) out[machine.text(row, key)] = machine.text(row, value);
  for (const char* needed : {"processor", "processes", "cores"}) {
    if (!out.contains(needed)) {
      fail_input({machine.name(), 0, 0}, fmt::format("the key '{}' is missing", needed),
                 "give the machine.csv that mirfak-measure wrote");
    }
  }
  return out;
}

double number_of(const Description& description, const std::string& key, double otherwise) {
  const auto found = description.find(key);
  const double value = found == description.end() ? 0 : std::strtod(found->second.c_str(), nullptr);
  return value > 0 ? value : otherwise;
}

// Returns the largest amount / time over the rows whose `column` is `value`.
double best_rate(const CsvTable& table, const char* column, const std::string& value) {
  double best = 0;
  const std::size_t names = table.require(column);
  const std::size_t bytes = table.require("bytes");
  const std::size_t time = table.require("time_us");
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.text(row, names) != value) continue;
    best = std::max(best, table.number(row, bytes, 1, 1e15) / (1e-6 * table.number(row, time, 1e-6, 1e12)));
  }
  return best;
}

double best_product_rate(const CsvTable& table) {
  double best = 0;
  const auto column = [&](const char* name) { return table.require(name); };
  const std::size_t time = column("latency_us");
  for (std::size_t row = 0; row < table.rows(); ++row) {
    double flop = 2;
    for (const char* extent : {"b", "m", "n", "k"}) flop *= table.number(row, column(extent), 1, 1e9);
    best = std::max(best, flop / (1e-6 * table.number(row, time, 1e-6, 1e12)));
  }
  return best;
}

struct Rates {
  double flops = 0;
  double memory = 0;
  double sends = 0;
};

Rates rates_of(std::span<const CsvTable> tables) {
  Rates out;
  for (const CsvTable& table : tables) {
    if (is_gemm_table(table)) out.flops = std::max(out.flops, best_product_rate(table));
    if (is_memory_table(table)) out.memory = std::max(out.memory, best_rate(table, "kernel", "elementwise"));
    if (is_collective_table(table)) out.sends = std::max(out.sends, best_rate(table, "collective", "sendrecv"));
  }
  if (out.flops <= 0 || out.memory <= 0) {
    fail_input({}, "profiles of a machine need its tables of products and of kernels bound by memory",
               "give the gemm.csv and memory.csv that mirfak-measure kernels wrote");
  }
  return out;
}

std::string core_profile(const Description& machine, const Rates& rates, const std::string& source) {
  const double clock = std::clamp(number_of(machine, "clock_hz", 1e9), 1e8, 1e10);
  return fmt::format(
      R"(# A core of a processor, in the terms of a GPU: one multiprocessor, fp32 only, no host of its own.
title: {}
architecture: processor
multiprocessors: 1
sources:
  measured: {}
  nominal: "not measured: a processor's power is not predicted"
peak_flops:
  fp32: [{:.4g}, measured]
memory_bytes: [{:.0f}, measured]
memory_bandwidth: [{:.4g}, measured]
memory_bandwidth_efficiency: [0.9, measured]
l2_bytes: [{:.0f}, measured]
tdp_w: [10, nominal]
idle_w: [1, nominal]
blocked_w: [1, nominal]
clock_peak_hz: [{:.4g}, measured]
clock_max_hz: [{:.4g}, measured]
clock_min_hz: [{:.4g}, measured]
clock_step_hz: [1e8, nominal]
kernel_launch_s: [1e-6, measured]
sustained_share: [1, nominal]
memory_kernels:
  normalization: [0.5, measured]
  softmax: [0.5, measured]
  reduction: [0.5, measured]
  gather: [0.5, measured]
  cached_speedup: [1, measured]
gemm:
  fp32:
    overhead_s: [1e-6, measured]
    efficiency: [0.9, measured]
    share_128x128: [1, measured]
    share_128x64: [1, measured]
    share_64x64: [1, measured]
    tile_overhead_s: [0, measured]
    tile_write_s: [0, measured]
    quantisation: [0, measured]
    preference: [0, measured]
    split_overhead_s: [1e-5, measured]
    split_bandwidth: [0.1, measured]
    memory_efficiency: [1, measured]
    cache_speed: [1, measured]
    cache_share: [0.1, measured]
    exponent: [10, measured]
    power_threshold: [10, measured]
    settling_s: [1e-3, measured]
    measurements: 1
    median_error: 0
    p90_error: 0
    held_out_median_error: 0
    held_out_p90_error: 0
)",
      quoted_yaml(machine.at("processor") + " core"), quoted_yaml(source), rates.flops,
      std::max(1e9, number_of(machine, "memory_bytes", 1e9) / number_of(machine, "processes", 1)), rates.memory,
      std::max(1e5, number_of(machine, "cache_bytes", 1e6)), clock, clock, clock);
}

std::string link_profile(const Description& machine, const Rates& rates, const std::string& source) {
  // Without measured sends no ranks communicate.
  const double bandwidth = rates.sends > 0 ? rates.sends : rates.memory;
  return fmt::format(
      R"(# Memory that processes share, as the link between them.
title: {}
joins: [gpus, host, nodes]
sources:
  measured: {}
bandwidth: [{:.4g}, measured]
send_efficiency: [0.9, measured]
send_latency_s: [1e-5, measured]
protocols:
  ll_base_s: [1e-5, measured]
  ll_step_s: [1e-6, measured]
  ll_efficiency: [0.3, measured]
  simple_base_s: [1e-5, measured]
  simple_step_s: [1e-6, measured]
  simple_efficiency: [0.6, measured]
  simple_overlap: [1, measured]
  extra_steps: [0, measured]
)",
      quoted_yaml("Shared memory of " + machine.at("processor")), quoted_yaml(source), bandwidth);
}

std::string node_profile(const Description& machine, const std::string& source, const std::string& name) {
  return fmt::format(
      R"(# A machine whose cores take the place of GPUs, a process each.
title: {}
sources:
  measured: {}
  nominal: "not measured: a processor's power is not predicted"
gpu: ./{}-core.yaml
gpus: {:.0f}
scale_up: ./{}-link.yaml
wiring: host-bridge
host_link: ./{}-link.yaml
network: ./{}-link.yaml
ports: 1
host_memory_bytes: [{:.0f}, measured]
host_power_w: [0, nominal]
)",
      quoted_yaml(machine.at("processor")), quoted_yaml(source), name, number_of(machine, "processes", 1), name, name,
      name, std::max(1e9, number_of(machine, "memory_bytes", 1e9)));
}

}  // namespace

MachineProfiles machine_profiles(const CsvTable& machine, std::span<const CsvTable> tables, const std::string& name) {
  const Description description = read_description(machine);
  const Rates rates = rates_of(tables);
  std::string source = "mirfak-measure on " + description.at("processor") + ", " + description.at("processes") +
                       " processes on " + description.at("cores") + " cores";
  for (const char* key : {"system", "mpi", "libraries"}) {
    if (description.contains(key)) source += ", " + description.at(key);
  }
  return {core_profile(description, rates, source), link_profile(description, rates, source),
          node_profile(description, source, name)};
}

}  // namespace mirfak
