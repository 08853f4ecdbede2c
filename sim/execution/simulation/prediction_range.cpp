#include "simulation/prediction_range.hpp"

#include "base/units.hpp"
#include "cluster/memory_draw.hpp"
#include "program/expert_room.hpp"
#include "program/replica_classes.hpp"
#include "simulation/borrowed_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace mirfak {

namespace {

double& at(UncertaintyShares& shares, Uncertainty uncertainty) { return shares[static_cast<std::size_t>(uncertainty)]; }

double seconds_of(const ActivitySeconds& seconds, Activity activity) {
  return seconds[static_cast<std::size_t>(activity)];
}

// Returns the time that one rank on `node` spends on products and collectives that were measured on other hardware.
double borrowed_seconds(const NodeHardware& node, Precision precision, const ActivitySeconds& seconds) {
  double out = 0;
  if (borrows_products(node.gpu, precision)) {
    out += seconds_of(seconds, Activity::gemm) + seconds_of(seconds, Activity::attention);
  }
  if (borrows_collectives(node)) {
    out += seconds_of(seconds, Activity::tensor_communication) + seconds_of(seconds, Activity::context_communication) +
           seconds_of(seconds, Activity::expert_communication) + seconds_of(seconds, Activity::data_communication);
  }
  return out;
}

// Returns whether the link between the GPUs of `node` sets the pace of a ring over whole nodes: their ports together
// are faster.
bool paces_whole_nodes(const NodeHardware& node) {
  const double ports = node.spec.ports * node.network.bandwidth.value * node.network.efficiency.value;
  return node.scale_up.bandwidth.value * node.scale_up.efficiency.value < ports;
}

// Returns the time that one rank waits for collectives at the pace of the link between the GPUs of its node. Tensor
// groups inside a node always have that pace, other groups where they cannot leave the node or its ports are faster.
double paced_inside_s(const Job& job, const NodeHardware& node, int stage, const ActivitySeconds& seconds) {
  if (node.spec.gpus < 2) return 0;
  const bool whole = job.cluster.nodes() == 1 || paces_whole_nodes(node);
  double out = 0;
  if (whole || job.strategy.shape_of(stage).tensor <= node.spec.gpus) {
    out += seconds_of(seconds, Activity::tensor_communication);
  }
  if (!whole) return out;
  return out + seconds_of(seconds, Activity::context_communication) +
         seconds_of(seconds, Activity::expert_communication) + seconds_of(seconds, Activity::data_communication);
}

// Returns the number of sources that measured the job's software on such GPUs; the job knows of them.
int sources_of(const Job& job, const GpuSpec& gpu) {
  return job.ranges.measured->sources(job.framework.name, job.framework.likes, gpu.architecture);
}

double unmeasured_share_of(const Job& job, const GpuSpec& gpu) {
  return job.ranges.measured == nullptr ? 0 : unmeasured_share(sources_of(job, gpu));
}

// Returns how far the power of all hosts lies from its prediction, in W, if measured power is `factor` times the
// predicted power. A cluster that does without fans or supplies takes away what they are said to draw, which is as
// uncertain as the host.
double off_of_hosts_w(const Cluster& cluster, double factor) {
  double out = 0;
  for (const NodeGroup& group : cluster.groups()) {
    const NodeSpec& spec = group.hardware.spec;
    double squares = spec.host_power_w.value * spec.host_power_w.value;
    const auto without = [&](bool left_out, const std::optional<Figure>& part) {
      if (left_out && part) squares += part->value * part->value;
    };
    without(spec.cooling == Cooling::immersion, spec.fan_power_w);
    without(spec.feed == Feed::direct_current, spec.supply_loss_w);
    out += group.nodes() * std::sqrt(squares);
  }
  return out * std::abs(factor - 1);
}

// Returns the range of an energy that includes the energy of all GPUs. `hosts_below_w`, `hosts_above_w`: how far the
// power of all hosts may lie below and above its prediction.
EnergyRange range_of_energy(double energy_j, const IterationResult& result, const PowerWidths& widths,
                            double hosts_below_w, double hosts_above_w) {
  const auto off = [&](double factor_of_gpus, double hosts_w) {
    return std::hypot(result.energy_j * (factor_of_gpus - 1), hosts_w * result.iteration_time_s);
  };
  return {energy_j - std::min(energy_j, off(std::exp(-widths.gpus.below), hosts_below_w)),
          energy_j + off(std::exp(widths.gpus.above), hosts_above_w)};
}

// Adds the range of the time: distances of logarithms add up as squares.
EnergyRange with_time(const EnergyRange& by_power, double energy_j, const IterationResult& result) {
  if (!by_power.known() || by_power.low_j <= 0 || result.iteration_time_low_s <= 0) return {};
  const double below =
      std::hypot(std::log(energy_j / by_power.low_j), std::log(result.iteration_time_s / result.iteration_time_low_s));
  const double above = std::hypot(std::log(by_power.high_j / energy_j),
                                  std::log(result.iteration_time_high_s / result.iteration_time_s));
  return {energy_j * std::exp(-below), energy_j * std::exp(above)};
}

double share_of_layers_with_experts(const ModelSpec& model) {
  if (!model.blocks.empty()) return model.mixture.experts > 0 ? 1 : 0;
  std::int64_t layers = 0;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) layers += kind_of_layer(model, layer).experts ? 1 : 0;
  return static_cast<double>(layers) / static_cast<double>(model.layers);
}

// Visits the nodes that the ranks of an iteration are on: a stage of a class of replicas, its number of ranks, and the
// time of one of them by activity. Returns the number of all ranks.
template <typename Visit>
double visit_ranks(const Job& job, const IterationResult& result, const Visit& visit) {
  const std::vector<ReplicaClass> classes = replica_classes(job);
  double ranks = 0;
  for (std::size_t i = 0; i < result.stages.size(); ++i) {
    const ReplicaClass& alike = classes[i % classes.size()];
    const auto stage = static_cast<int>(i / classes.size());
    visit(job.hardware_of(stage, alike.first()).hardware, stage, alike.count(), result.stages[i].activity_s);
    ranks += alike.count();
  }
  return ranks;
}

}  // namespace

UncertaintyShares uncertainty_shares(const Job& job, const IterationResult& result) {
  UncertaintyShares shares{};
  at(shares, Uncertainty::always) = 1;
  at(shares, Uncertainty::tensor_communication) =
      seconds_of(result.activity_s, Activity::tensor_communication) / result.iteration_time_s;
  at(shares, Uncertainty::experts) = share_of_layers_with_experts(job.model);
  double borrowed = 0;
  double unmeasured = 0;
  const double ranks = visit_ranks(
      job, result, [&](const NodeHardware& node, int /*stage*/, double count, const ActivitySeconds& seconds) {
        borrowed += count * borrowed_seconds(node, job.product_precision(), seconds);
        unmeasured += count * unmeasured_share_of(job, node.gpu);
      });
  at(shares, Uncertainty::unmeasured) = unmeasured / ranks;
  at(shares, Uncertainty::borrowed) = borrowed / (ranks * result.iteration_time_s);
  return shares;
}

HostMargins host_margins(const Job& job, const IterationResult& result) {
  HostMargins out;
  const auto groups = job.cluster.groups();
  const bool alike = std::none_of(groups.begin(), groups.end(),
                                  [](const NodeGroup& group) { return group.hardware.scale_up.spread.has_value(); });
  if (alike) return out;
  const double ranks =
      visit_ranks(job, result, [&](const NodeHardware& node, int stage, double count, const ActivitySeconds& seconds) {
        const std::optional<HostSpread>& spread = node.scale_up.spread;
        if (!spread) return;
        const double s = count * paced_inside_s(job, node, stage, seconds);
        out.shorter -= s * std::expm1(-spread->below.value);
        out.longer += s * std::expm1(spread->above.value);
      });
  out.shorter /= ranks * result.iteration_time_s;
  out.longer /= ranks * result.iteration_time_s;
  return out;
}

std::vector<std::string> unmeasured_software(const Job& job) {
  std::vector<std::string> notes;
  if (job.ranges.measured == nullptr) return notes;
  std::set<std::string> seen;
  for (const NodeGroup& group : job.cluster.groups()) {
    const NodeHardware& node = group.hardware;
    if (node.spec.correction || sources_of(job, node.gpu) > 0) continue;
    if (!seen.insert(node.gpu.architecture).second) continue;
    notes.push_back(fmt::format(
        "no run of {} on {} GPUs has judged these predictions: the range is that of first contacts, and a few runs of "
        "your own make it narrower (mirfak calibrate --runs)",
        job.framework.name, node.gpu.architecture));
  }
  return notes;
}

// Weights the factors by their shares of the time: bubbles follow the activities that cause them.
double range_deviation(const Correction& correction, const IterationResult& result) {
  const ActivitySeconds& seconds = result.activity_s;
  FactorVector shares{};
  double all = 0;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    const std::optional<std::size_t> factor = time_factor_of(static_cast<Activity>(i));
    if (!factor) continue;
    shares[*factor] += seconds[i];
    all += seconds[i];
  }
  double variance = correction.run_deviation * correction.run_deviation;
  for (std::size_t i = 0; i < kTimeFactors; ++i) {
    for (std::size_t k = 0; k < kTimeFactors; ++k) {
      variance += shares[i] / all * correction.covariance[i][k] * shares[k] / all;
    }
  }
  return std::sqrt(std::max(0.0, variance));
}

namespace {

// Returns the range with a later end: no source says how many multiprocessors copies of experts' rows take from the
// kernels beside them, which at worst wait for all of it. Errors add up as squares.
PredictionRange beside_copies(PredictionRange range, const Job& job, const IterationResult& result) {
  const double longer = unhidden_stash_share(job, result.iteration_time_s);
  if (longer <= 0) return range;
  const double above = std::hypot(std::log(range.high_s / result.iteration_time_s), std::log1p(longer));
  return {range.low_s, result.iteration_time_s * std::exp(above)};
}

PredictionRange range_without_limits(const Job& job, const IterationResult& result) {
  double widest = 0;
  for (const NodeGroup& group : job.cluster.groups()) {
    const std::optional<Correction>& correction = group.hardware.spec.correction;
    if (!correction || !job.ranges.own_runs.known()) {
      return between_hosts(prediction_range(result.iteration_time_s, uncertainty_shares(job, result), job.ranges),
                           result.iteration_time_s, host_margins(job, result));
    }
    widest = std::max(widest, range_deviation(*correction, result));
  }
  const double width = job.ranges.own_runs.quantile * widest;
  return {result.iteration_time_s * std::exp(-width), result.iteration_time_s * std::exp(width)};
}

}  // namespace

PredictionRange range_of(const Job& job, const IterationResult& result) {
  if (!job.ranges.known()) return {};
  const PredictionRange range = beside_copies(range_without_limits(job, result), job, result);
  return under_power_limits(range, job.cluster, job.ranges.limits);
}

std::vector<std::string> throttled_gpus(const Cluster& cluster) {
  std::set<std::string> notes;
  for (const NodeGroup& group : cluster.groups()) {
    const GpuSpec& gpu = group.hardware.gpu;
    if (!gpu.throttle.active()) continue;
    std::string note = fmt::format(
        "a limit of {:g} W is {:.0f} % of the {:g} W of {}, where the voltage falls no further: kernels take {:.3g} "
        "times "
        "as long as at {:.0f} %",
        gpu.limit_w(), 100 * gpu.limit_share(), gpu.tdp_w.value, gpu.name, gpu.throttle.stretch,
        100 * kVoltageFloorLimit);
    if (gpu.throttle.duty < 1) {
      note += fmt::format(
          "; at the lowest clock the GPU still has to halt for {:.0f} % of the time, which nobody has measured",
          100 * (1 - gpu.throttle.duty));
    }
    if (gpu.throttle.blocked_w > 0) {
      note += fmt::format("; waiting draws {:g} W without the limit, and collectives are taken to keep their speed",
                          gpu.throttle.blocked_w);
    }
    notes.insert(std::move(note));
  }
  return {notes.begin(), notes.end()};
}

MemoryRange memory_range(const Job& job, const IterationResult& result) {
  const MemoryWidths& widths = job.ranges.memory;
  if (!widths.known()) return {};
  const double platform = std::min(job.framework.memory.platform_bytes, result.memory_peak_bytes);
  const double allocated = result.memory_peak_bytes - platform;
  return {platform + allocated * std::exp(-widths.below), platform + allocated * std::exp(widths.above)};
}

EnergyRange energy_range_by_power(const Job& job, const IterationResult& result) {
  const PowerWidths& widths = job.ranges.power;
  if (!widths.gpus.known() || result.energy_j <= 0) return {};
  return range_of_energy(result.energy_j, result, widths, 0, 0);
}

EnergyRange machine_energy_range_by_power(const Job& job, const IterationResult& result) {
  const PowerWidths& widths = job.ranges.power;
  if (!widths.gpus.known() || !widths.hosts.known() || result.machine_energy_j <= 0) return {};
  return range_of_energy(result.machine_energy_j, result, widths,
                         off_of_hosts_w(job.cluster, std::exp(-widths.hosts.below)),
                         off_of_hosts_w(job.cluster, std::exp(widths.hosts.above)));
}

EnergyRange energy_range(const Job& job, const IterationResult& result) {
  return with_time(energy_range_by_power(job, result), result.energy_j, result);
}

EnergyRange energy_range(double gpus_j, double seconds, const PredictionRange& time, const PowerWidths& widths) {
  if (!widths.gpus.known() || gpus_j <= 0) return {};
  IterationResult step;
  step.energy_j = gpus_j;
  step.iteration_time_s = seconds;
  step.iteration_time_low_s = time.low_s;
  step.iteration_time_high_s = time.high_s;
  return with_time(range_of_energy(gpus_j, step, widths, 0, 0), gpus_j, step);
}

EnergyRange machine_energy_range(const Job& job, const IterationResult& result) {
  return with_time(machine_energy_range_by_power(job, result), result.machine_energy_j, result);
}

double probability_of_fit(const Job& job, const IterationResult& result) {
  const DeviceMemoryWidths& widths = job.ranges.memory.device;
  if (!widths.known()) return -1;
  double least = 1;
  for (const StageResult& stage : result.stages) {
    const StageMemory& memory = stage.memory;
    if (memory.host > memory.host_capacity) return 0;
    least = std::min(least, fit_probability(widths, memory.needed(), memory.peak.platform, memory.capacity));
  }
  return least;
}

std::string range_text(const IterationResult& result) {
  return range_text(PredictionRange{result.iteration_time_low_s, result.iteration_time_high_s});
}

Table uncertainty_table(const UncertaintyShares& shares, const RangeWidths& widths, const HostMargins& hosts) {
  Table table("for | >share of the iteration | >below | >above");
  for (std::size_t i = 0; i < kUncertainties; ++i) {
    if (shares[i] <= 0) continue;
    const double below = shares[i] * widths.below[i];
    table.add({name_of(static_cast<Uncertainty>(i)), in_percent(shares[i]),
               format_signed_percent(below > 0 ? std::expm1(-below) : 0),
               format_signed_percent(std::expm1(shares[i] * widths.above[i]))});
  }
  if (hosts.longer > 0) {
    table.add({"hosts, which join GPUs at unlike rates", "", format_signed_percent(-hosts.shorter),
               format_signed_percent(hosts.longer)});
  }
  return table;
}

std::string range_text(const PredictionRange& range) {
  std::string low = format_seconds(range.low_s);
  const std::string high = format_seconds(range.high_s);
  const std::size_t unit = low.find(' ');
  if (high.substr(high.find(' ')) == low.substr(unit)) low.resize(unit);
  return low + " to " + high;
}

}  // namespace mirfak
