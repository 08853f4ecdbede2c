#include "report/summary_text.hpp"

#include "base/section.hpp"
#include "base/units.hpp"
#include "program/transfer_cost.hpp"
#include "report/document_report.hpp"
#include "report/host_copies.hpp"
#include "report/job_text.hpp"
#include "report/memory_shortage.hpp"
#include "simulation/figures.hpp"
#include "simulation/fullest_reserve.hpp"
#include "simulation/power_ramp.hpp"
#include "simulation/prediction_range.hpp"
#include "simulation/replica_labels.hpp"
#include "strategy/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

constexpr std::size_t kMaxMemoryRows = 16;

std::string headline(const Scenario& scenario, const Simulation& simulation) {
  const Job& job = simulation.whole_job();
  const TrainingSpec& training = job.training;
  Table table("|", 0);
  table.add({"scenario", scenario.name});
  table.add({"model", model_text(job.model)});
  table.add({"cluster", cluster_text(job.cluster)});
  table.add({"strategy", strategy_text(job)});
  table.add({"batch", fmt::format("{}: {}; {}, {}", sequences_text(training), microbatches_text(simulation),
                                  training.precision, job.framework.name)});
  return table.text();
}

// Returns the prices of GPUs: "h100 $6.88, a100-80g $3.76 per GPU hour (median on-demand 2026-08)".
std::string price_text(const Job& job) {
  std::string out;
  const std::vector<NodeGroup> groups = job.cluster.kinds();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", groups[i].hardware.gpu.name,
                       format_price(groups[i].price->usd_per_gpu_hour.value));
    const std::string origin = groups[i].price->origin();
    const bool last = i + 1 == groups.size() || groups[i + 1].price->origin() != origin;
    if (last) out += fmt::format(" per GPU hour ({})", origin);
  }
  return out;
}

// Returns a range with one unit: "131 to 162 k; ". Returns "" if the range of the iteration's time, from which other
// ranges follow, is not known.
template <typename Format>
std::string range_between(const IterationResult& r, double low, double high, const Format& format) {
  if (r.iteration_time_low_s <= 0) return {};
  std::string first = format(low);
  const std::string second = format(high);
  const std::size_t unit = first.find(' ');
  if (unit != std::string::npos && second.ends_with(first.substr(unit))) first.resize(unit);
  return fmt::format("{} to {}; ", first, second);
}

// Return the range of a figure that is proportional to the iteration's time, and of one that is inversely proportional.
template <typename Format>
std::string range_with_time(const IterationResult& r, double value, const Format& format) {
  const double of_second = value / r.iteration_time_s;
  return range_between(r, of_second * r.iteration_time_low_s, of_second * r.iteration_time_high_s, format);
}
template <typename Format>
std::string range_over_time(const IterationResult& r, double value, const Format& format) {
  const double in_all = value * r.iteration_time_s;
  return range_between(r, in_all / r.iteration_time_high_s, in_all / r.iteration_time_low_s, format);
}

// Returns the range of an energy, or "" if it is not known.
std::string range_of_energy(const IterationResult& r, double low_j, double high_j) {
  const auto joules = [](double value) { return format_joules(value); };
  return high_j > 0 ? range_between(r, low_j, high_j, joules) : std::string();
}

// Returns the label of a figure under the heading "Iteration", which the label does not repeat.
std::string label_of(std::string_view key) {
  constexpr std::string_view heading = "iteration ";
  const std::string& label = iteration_figure(key).label;
  return label.starts_with(heading) ? label.substr(heading.size()) : label;
}

// Adds the energy of hosts, network and facility, and emissions by the mean of a grid's hours.
void add_facility(const Simulation& simulation, Table& table) {
  const IterationResult& r = simulation.result;
  const Facility& facility = simulation.job.cluster.facility();
  table.add({label_of("machine_energy_j"), format_joules(r.machine_energy_j),
             range_of_energy(r, r.machine_energy_low_j, r.machine_energy_high_j) +
                 fmt::format("GPUs, hosts {}, network {}", format_watts(simulation.job.cluster.host_power_w()),
                             format_watts(facility.network_power_w))});
  const double around = r.facility_energy_j / r.machine_energy_j;
  table.add({label_of("facility_energy_j"), format_joules(r.facility_energy_j),
             range_of_energy(r, around * r.machine_energy_low_j, around * r.machine_energy_high_j) +
                 fmt::format("PUE {:g}", facility.pue)});
  if (facility.carbon.known()) {
    table.add({label_of("co2_kg"), format_kilograms(r.co2_kg),
               fmt::format("{:.0f} g/kWh ({})", facility.carbon.mean(), facility.carbon.source())});
  }
  if (facility.lifetime_years > 0) {
    table.add({label_of("embodied_co2_kg"), format_kilograms(r.embodied_co2_kg),
               fmt::format("{:g} kg a GPU over {:g} years", facility.embodied_kg_per_gpu, facility.lifetime_years)});
  }
}

// Says by how much work takes longer for a floor of power.
std::string price_of_floor(const Simulation& simulation, const PowerFloor& floor) {
  std::vector<std::string> out;
  if (floor.slowdown > 0)
    out.push_back(fmt::format("kernels take {} longer beside it", format_percent(floor.slowdown)));
  if (floor.ramp_up_slows_work) {
    out.push_back(fmt::format("work takes {} longer while power may not rise, mean over ranks",
                              format_seconds(seconds_on_ramps(simulation.program, simulation.timeline))));
  }
  return out.empty() ? "no work takes longer" : fmt::format("{}", fmt::join(out, "; "));
}

// Returns what hardware FLOPs have beside those of the model.
const char* counted_twice(const Job& job) {
  const bool recomputes = job.strategy.recompute != Recompute::none;
  if (job.training.preferences.runs_forward_only()) {
    return recomputes ? ", with recomputation and passes without gradients" : ", with passes without gradients";
  }
  return recomputes ? ", with recomputation" : ", as nothing is recomputed";
}

std::string iteration_table(const Simulation& simulation) {
  const IterationResult& r = simulation.result;
  Table table("|>|");
  const double level = simulation.job.ranges.level;
  const std::string range =
      level > 0 ? fmt::format("{}, as {:.0f} % of measured iterations; ", range_text(r), 100 * level) : std::string();
  table.add({label_of("iteration_time_s"), format_seconds(r.iteration_time_s),
             fmt::format("{}on {} GPU{}", range, r.gpus, r.gpus == 1 ? "" : "s")});
  table.add({label_of("tokens_per_s"), format_count(r.tokens_per_s),
             range_over_time(r, r.tokens_per_s, format_count) + format_count(r.tokens_per_s_per_gpu) + " per GPU"});
  // TFLOP/s as papers count them exceed the executed ones if fused attention leaves out pairs that a mask hides.
  const bool leaves_out = r.executed_flop < r.hardware_flop;
  table.add({label_of("tflops_per_gpu"), format_number(r.tflops_per_gpu),
             range_over_time(r, r.tflops_per_gpu, format_number) + "MFU " + format_percent(r.mfu) +
                 (leaves_out ? ", of what is executed" : "")});
  table.add({label_of("hardware_tflops_per_gpu"), format_number(r.hardware_tflops_per_gpu),
             range_over_time(r, r.hardware_tflops_per_gpu, format_number) + "HFU " + format_percent(r.hfu) +
                 counted_twice(simulation.job)});
  if (leaves_out) {
    table.add({"... of them executed", format_number(r.executed_flop / r.hardware_flop * r.hardware_tflops_per_gpu),
               "attention leaves out what its mask hides; TFLOP/s above count all pairs of tokens"});
  }
  table.add({label_of("bubble_fraction"), format_percent(r.bubble_fraction),
             format_seconds(r.bubble_fraction * r.iteration_time_s) + ", mean over ranks"});
  if (r.gpu_of_others_s > 0) {
    table.add({label_of("gpu_of_others_s"), format_percent(r.gpu_of_others_s / r.iteration_time_s),
               format_seconds(r.gpu_of_others_s) + ", kernels of a GPU's other ranks, mean over ranks"});
  }
  table.add({label_of("exposed_communication_s"), format_percent(r.exposed_communication_s / r.iteration_time_s),
             format_seconds(r.exposed_communication_s) + ", mean over ranks"});
  table.add({label_of("energy_j"), format_joules(r.energy_j),
             range_of_energy(r, r.energy_low_j, r.energy_high_j) +
                 fmt::format("all GPUs: {}, {} each on average", format_watts(r.average_power_w),
                             format_watts(r.average_power_w / r.gpus))});
  if (const std::optional<PowerFloor>& floor = simulation.job.cluster.facility().power_floor) {
    table.add({label_of("power_floor_energy_j"), format_joules(r.power_floor_energy_j),
               fmt::format("{} of the energy, burnt to keep cluster.power_floor; {}",
                           format_percent(r.power_floor_energy_j / r.energy_j), price_of_floor(simulation, *floor))});
  }
  if (simulation.job.cluster.facility().asked) add_facility(simulation, table);
  if (r.priced)
    table.add({label_of("cost_usd_per_iteration"), format_usd(r.cost_usd),
               range_with_time(r, r.cost_usd, format_usd) + price_text(simulation.job)});
  else
    table.add({label_of("cost_usd_per_iteration"), "unknown", simulation.job.cluster.missing_prices()});
  return "Iteration\n" + table.text();
}

std::string training_table(const Simulation& simulation) {
  const IterationResult& r = simulation.result;
  if (r.training_time_s <= 0) return {};
  Table table("|>|");
  const double iterations = r.training_time_s / r.iteration_time_s;
  const auto seconds = [](double value) { return format_seconds(value); };
  table.add({"time", format_seconds(r.training_time_s),
             range_with_time(r, r.training_time_s, seconds) + format_count(iterations) + " iterations"});
  table.add({"energy", format_joules(r.energy_j * iterations),
             range_of_energy(r, r.energy_low_j * iterations, r.energy_high_j * iterations) +
                 "all GPUs: " + format_watt_hours(r.energy_j * iterations)});
  if (r.priced) {
    std::string range = range_with_time(r, r.training_cost_usd, format_usd);
    if (!range.empty()) range.resize(range.size() - 2);  // drops "; ": nothing follows the range
    table.add({"cost", format_usd(r.training_cost_usd), range});
  }
  return fmt::format("\nTraining on {} tokens\n", format_count(simulation.job.training.tokens)) + table.text();
}

std::string activity_table(const IterationResult& result) {
  constexpr double bar_width = 30;
  Table table("| >mean | >share | >min .. max over stages |");
  for (std::size_t i = 0; i < kActivities; ++i) {
    const auto by_seconds = [i](const StageResult& a, const StageResult& b) {
      return a.activity_s[i] < b.activity_s[i];
    };
    const auto [min, max] = std::minmax_element(result.stages.begin(), result.stages.end(), by_seconds);
    if (max->activity_s[i] <= 0) continue;
    const double share = result.activity_s[i] / result.iteration_time_s;
    table.add({std::string(name_of(static_cast<Activity>(i))), format_seconds(result.activity_s[i]),
               format_percent(share), format_seconds(min->activity_s[i]) + " .. " + format_seconds(max->activity_s[i]),
               bar_text(share, bar_width)});
  }
  table.add({"iteration", format_seconds(result.iteration_time_s), format_percent(1)});
  return "\nWhere the time of a GPU goes\n" + table.text();
}

std::string documents_text(const Simulation& simulation) {
  const std::optional<Section> section = documents_section(simulation, kMaxMemoryRows);
  return section ? "\n" + text_of({*section}) : std::string();
}

// Returns the use of time of each class on each stage, for mixed replicas.
std::string replica_table(const Simulation& simulation) {
  if (!has_mixed_replicas(simulation)) return {};
  constexpr std::size_t max_rows = 32;
  Table table("stage | replicas | on | >microbatches | >compute | >communication | >host | >bubble");
  const std::size_t every = (simulation.plans.size() + max_rows - 1) / max_rows;
  for (std::size_t place = 0; place < simulation.plans.size(); place += every) {
    const StagePlan& plan = simulation.plans[place];
    const ActivitySeconds& seconds = simulation.result.stages[place].activity_s;
    table.add(
        {fmt::format("{}", plan.stage), replicas_text(plan), plan.costs.hardware->hardware.name(),
         fmt::format("{}", plan.replicas.microbatches),
         format_seconds(seconds_between(seconds, Activity::gemm, Activity::optimizer)),
         format_seconds(seconds_between(seconds, Activity::tensor_communication, Activity::pipeline_communication)),
         format_seconds(seconds_between(seconds, Activity::host, Activity::host)),
         format_seconds(seconds_between(seconds, Activity::bubble, Activity::bubble))});
  }
  return "\nReplicas, by stage (communication: exposed)\n" + table.text();
}

// Returns the shape of each stage and the data that leave it, if stages have shapes of their own.
std::string shape_table(const Simulation& simulation) {
  const Job& job = simulation.job;
  if (job.strategy.stages.empty()) return {};
  Table table("stage | >layers | on | >GPUs | >tp | >dp | >ep | >sequences | >forward | >sent on by a GPU");
  const auto layers = layers_of_chunks(job.strategy, job.model);
  for (const StagePlan& plan : simulation.plans) {
    const Strategy own = job.strategy.at(plan.stage);
    const auto place = static_cast<std::size_t>(plan.stage);
    const Picoseconds forward = plan.folded(plan.chunks.front(), Pass::Kind::forward).device;
    std::string sent;
    if (plan.stage + 1 < job.strategy.pipeline) {
      const TransferCost cost =
          transfer_cost(job, simulation.plans, simulation.blocks,
                        {plan.stage, plan.stage + 1, plan.replica_class, plan.chunks.front().leaving});
      sent = fmt::format("{} to {}, {}{}", format_bytes(cost.bytes), cost.receivers, format_seconds(cost.seconds),
                         cost.gathered_bytes > 0 ? " with a gather" : "");
    }
    table.add({fmt::format("{}", plan.stage), fmt::format("{}", layers[place].front().count),
               plan.costs.hardware->hardware.name(), fmt::format("{:g}", plan.gpus()), fmt::format("{}", own.tensor),
               fmt::format("{}", own.data), fmt::format("{}", own.expert), fmt::format("{}", own.micro_batch),
               format_seconds(to_seconds(forward)), sent});
  }
  return "\nStages of their own shape (sequences: of a microbatch on one replica)\n" + table.text();
}

std::string gib(double bytes) { return format_number(bytes / kGiB); }

std::vector<std::string> memory_cells(const StageMemory& memory) {
  std::vector<std::string> cells;
  for (const MemoryPart& part : memory_parts()) cells.push_back(gib(memory.peak.*part.bytes));
  cells.push_back(gib(memory.peak.total()));
  cells.push_back(gib(memory.capacity));
  cells.push_back(fmt::format("{}", memory.passes_in_flight));
  cells.emplace_back(memory.fits() ? "fits" : "DOES NOT FIT");
  return cells;
}

struct MemoryRow {
  const StagePlan* first = nullptr;  // first of the plans that share the row
  const StagePlan* last = nullptr;
  std::vector<std::string> cells;
  bool fullest = false;  // the fullest plan is among them

  std::string stages() const {
    return first == last ? fmt::format("{}", first->stage) : fmt::format("{}-{}", first->stage, last->stage);
  }
};

// Returns the rows of each class of replicas; neighbouring stages with the same figures share a row.
std::vector<MemoryRow> memory_rows(const Simulation& simulation) {
  const IterationResult& result = simulation.result;
  const auto classes = static_cast<std::size_t>(classes_of(simulation.plans));
  const auto node_of = [](const StagePlan& plan) { return plan.costs.hardware->hardware.name(); };
  std::vector<MemoryRow> rows;
  for (std::size_t own = 0; own < classes; ++own) {
    for (std::size_t place = own; place < result.stages.size(); place += classes) {
      const StagePlan& plan = simulation.plans[place];
      std::vector<std::string> cells = memory_cells(result.stages[place].memory);
      if (place == own || rows.back().cells != cells || (classes > 1 && node_of(*rows.back().last) != node_of(plan))) {
        rows.push_back({&plan, &plan, std::move(cells)});
      }
      rows.back().last = &plan;
      rows.back().fullest = rows.back().fullest || place == result.fullest_plan;
    }
  }
  return rows;
}

// Returns the range of peak memory: ", 66.1 to 70.9 %".
std::string memory_range_text(const IterationResult& result) {
  if (result.memory_peak_high_bytes <= 0) return {};
  return fmt::format(", {:.1f} to {:.1f} %", 100 * result.memory_peak_low_bytes / result.memory_capacity_bytes,
                     100 * result.memory_peak_high_bytes / result.memory_capacity_bytes);
}

// Returns the line on what the allocator of the fullest stage takes from its GPU; "" if that is not known.
std::string reserved_text(const Simulation& simulation) {
  const std::optional<ReservedMemory> reserve = reserve_of_fullest(simulation);
  if (!reserve) return {};
  std::string out = fmt::format(
      "  reserved by the allocator on stage {}: {} of the {} that it can take, {} of them free pieces between blocks\n",
      simulation.result.fullest_stage, format_bytes(reserve->reserved), format_bytes(reserve->capacity),
      format_bytes(reserve->cached()));
  if (simulation.result.fits && reserve->runs_out()) {
    out += "  though blocks fit, pieces between them may make it run out of memory";
    out += simulation.job.framework.memory.expandable_segments
               ? "\n"
               : ": expandable_segments:True in PYTORCH_CUDA_ALLOC_CONF leaves fewer\n";
  }
  return out;
}

std::string memory_table(const Simulation& simulation) {
  const bool mixed = has_mixed_replicas(simulation);
  Table table("stage | replicas | on");
  table.show("replicas", mixed);
  table.show("on", mixed);
  for (const MemoryPart& part : memory_parts()) table.add_column(std::string(part.name));
  for (const char* heading : {"total", "of", "in flight"}) table.add_column(heading);
  table.add_column("", false);
  const std::vector<MemoryRow> rows = memory_rows(simulation);
  const std::size_t every = (rows.size() + kMaxMemoryRows - 1) / kMaxMemoryRows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const MemoryRow& row = rows[i];
    if (i % every != 0 && i + 1 != rows.size() && !row.fullest) continue;
    std::vector<Cell> cells = {row.stages(), replicas_text(*row.first), row.first->costs.hardware->hardware.name()};
    cells.insert(cells.end(), row.cells.begin(), row.cells.end());
    table.add(std::move(cells));
  }
  const IterationResult& result = simulation.result;
  std::string title = fmt::format(
      "\nPeak memory of a GPU, GiB: {} of capacity{} (in flight: forward passes of chunks kept for backward)\n",
      format_percent(result.memory_peak_bytes / result.memory_capacity_bytes), memory_range_text(result));
  if (every > 1) {
    title += fmt::format("  of {} stages{}, the fullest and the last among them\n", simulation.job.strategy.pipeline,
                         mixed ? fmt::format(" and {} classes of replicas", classes_of(simulation.plans)) : "");
  }
  return title + table.text() + reserved_text(simulation);
}

// Returns the memory that ranks keep on their hosts, if any: of the rank that keeps most, and of the fullest node.
std::string host_memory_text(const Simulation& simulation) {
  const Job& job = simulation.job;
  const std::vector<StageResult>& stages = simulation.result.stages;
  const StageMemory& most = std::max_element(stages.begin(), stages.end(), [](const auto& a, const auto& b) {
                              return a.memory.host < b.memory.host;
                            })->memory;
  if (most.host <= 0) return {};
  std::vector<double> nodes(static_cast<std::size_t>(job.network().nodes()));
  std::vector<double> there(nodes.size());
  for (std::size_t place = 0; place < stages.size(); ++place) {
    const StagePlan& plan = simulation.plans[place];
    const int team = job.strategy.shape_of(plan.stage).tensor * job.strategy.context;
    for (const int replica : plan.replicas.replicas) {
      for (int member = 0; member < team; ++member) {
        const int device = job.device_of(job.rank_of(plan.stage, replica, member));
        const auto node = static_cast<std::size_t>(job.network().place_of(device).node);
        nodes[node] += stages[place].memory.host;
        there[node] = job.network().group_of(device).hardware.spec.host_memory_bytes.value;
      }
    }
  }
  const auto fullest = static_cast<std::size_t>(std::max_element(nodes.begin(), nodes.end()) - nodes.begin());
  return fmt::format("\nMemory of a host, GiB: {} of {} on the node that needs most; {} a rank, whose share is {}{}\n",
                     gib(nodes[fullest]), gib(there[fullest]), gib(most.host), gib(most.host_capacity),
                     most.host > most.host_capacity ? ": DOES NOT FIT" : "");
}

}  // namespace

std::string summary_text(const Scenario& scenario, const Simulation& simulation, std::span<const std::string> notes) {
  const IterationResult& result = simulation.result;
  std::string out = headline(scenario, simulation) + '\n' + iteration_table(simulation) + training_table(simulation) +
                    activity_table(result) + documents_text(simulation) + shape_table(simulation) +
                    replica_table(simulation) + memory_table(simulation) + host_memory_text(simulation) +
                    activation_copies_text(simulation) + page_copies_text(simulation) + disk_text(simulation);
  out += notes_text(simulation.whole_job(), result, notes);
  if (!result.fits) out += "\nDOES NOT FIT: " + memory_shortage_text(result) + '\n';
  return out;
}

}  // namespace mirfak
