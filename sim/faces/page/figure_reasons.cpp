#include "page/figure_reasons.hpp"

#include "base/units.hpp"
#include "page/reason_list.hpp"
#include "report/explanation.hpp"
#include "simulation/figures.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string_view>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kPassesSection = "Passes on";
constexpr const char* kExchangeSection = "Between stages";
constexpr const char* kIterationSection = "The iteration";
constexpr const char* kRangeSection = "The range of the iteration";
constexpr const char* kMemorySection = "Memory, power and price";
constexpr const char* kScenarioSection = "The scenario";
constexpr const char* kRangeOfEnergy =
    "distances from the ends of the ranges of time and powers, the root of the sum of their squares";

class FigureReasons {
 public:
  explicit FigureReasons(const Simulation& simulation) : simulation_(simulation), result_(simulation.result) {}

  Json json() {
    add_times();
    add_rates();
    add_flop();
    add_memory();
    add_energy();
    add_facility();
    add_costs();
    add_training();
    add_activities();
    return reasons_.take();
  }

 private:
  Json& add(std::string_view key, const std::string& formula, const std::vector<std::string>& see = {}) {
    return reasons_.add(key, formula, see);
  }

  void add_range(const char* low, const char* high, const char* formula) {
    add(low, formula, {kRangeSection});
    add(high, formula, {kRangeSection});
  }

  std::string time() const { return format_seconds(result_.iteration_time_s); }

  // Returns the activities as a sum: "GEMM 1.20 s + bubble 300 ms".
  std::string sum_of(bool (*wanted)(Activity)) const {
    std::string text;
    for (std::size_t i = 0; i < kActivities; ++i) {
      const auto activity = static_cast<Activity>(i);
      if (result_.activity_s[i] <= 0 || !wanted(activity)) continue;
      text +=
          fmt::format("{}{} {}", text.empty() ? "" : " + ", name_of(activity), format_seconds(result_.activity_s[i]));
    }
    return text.empty() ? "0 s" : text;
  }

  void add_times() {
    add("iteration_time_s", sum_of([](Activity) { return true; }) + " = " + time(),
        {kIterationSection, kPassesSection, kExchangeSection, kRangeSection});
    if (result_.iteration_time_high_s > 0) {
      add("iteration_time_low_s", "", {kRangeSection});
      add("iteration_time_high_s", "", {kRangeSection});
    }
    add("bubble_fraction",
        fmt::format("{} / {} = {}", format_seconds(result_.bubble_fraction * result_.iteration_time_s), time(),
                    format_percent(result_.bubble_fraction)),
        {kIterationSection});
    add("gpu_of_others_s", "");
    add("exposed_communication_s", sum_of([](Activity activity) {
          return activity >= Activity::tensor_communication && activity <= Activity::pipeline_communication;
        }),
        {kExchangeSection});
    add("events",
        fmt::format("of {} tasks on {} simulated ranks", format_count(static_cast<double>(simulation_.program.size())),
                    simulation_.program.ranks.size()));
    reasons_.add_wall_time();
  }

  void add_rates() {
    const std::string tokens = format_count(result_.tokens_per_s * result_.iteration_time_s);
    add("tokens_per_s", fmt::format("{} tokens / {} = {}", tokens, time(), format_count(result_.tokens_per_s)),
        {kScenarioSection});
    add("tokens_per_s_per_gpu", fmt::format("{} / {} GPUs = {}", format_count(result_.tokens_per_s), result_.gpus,
                                            format_count(result_.tokens_per_s_per_gpu)));
    add("gpus", "", {kScenarioSection});
    const auto add_tflops = [&](std::string_view key, double flop, double tflops) {
      add(key, fmt::format("{} / {} / {} GPUs = {} TFLOP/s", format_flop(flop), time(), result_.gpus,
                           format_number(tflops)));
    };
    add_tflops("tflops_per_gpu", result_.model_flop, result_.tflops_per_gpu);
    add_tflops("hardware_tflops_per_gpu", result_.hardware_flop, result_.hardware_tflops_per_gpu);
  }

  void add_flop() {
    const auto add_share = [&](std::string_view key, double flop, double share) {
      if (share <= 0) return;
      const double peak = flop / share / result_.iteration_time_s;
      Json& entry = add(key, fmt::format("{} / ({} x {}/s) = {}", format_flop(flop), time(), format_flop(peak),
                                         format_percent(share)));
      for (const NodeGroup& group : simulation_.job.cluster.groups()) {
        const auto found = group.hardware.gpu.peak_flops.find(simulation_.job.precision());
        if (found == group.hardware.gpu.peak_flops.end()) continue;
        const double full = found->second.value * group.hardware.gpu.throttle.stretch;
        add_source(entry, fmt::format("peak of {}, {}/s", group.hardware.gpu.name, format_flop(full)),
                   found->second.source);
      }
    };
    add_share("mfu", result_.visible_flop, result_.mfu);
    add_share("hfu", result_.executed_flop, result_.hfu);
    for (const char* key : {"model_flop", "hardware_flop", "visible_flop", "executed_flop"}) {
      add(key, "", {kPassesSection});
    }
  }

  void add_memory() {
    const StageMemory& memory = result_.stages[result_.fullest_plan].memory;
    std::string parts;
    for (const MemoryPart& part : memory_parts()) {
      const double bytes = memory.peak.*part.bytes;
      if (bytes > 0) parts += fmt::format("{}{} {}", parts.empty() ? "" : " + ", part.name, format_bytes(bytes));
    }
    add("memory_peak_bytes",
        fmt::format("stage {}: {} = {}", result_.fullest_stage, parts, format_bytes(memory.peak.total())),
        {kMemorySection});
    add("memory_peak_low_bytes", "", {kMemorySection});
    add("memory_peak_high_bytes", "", {kMemorySection});
    Json& capacity = add("memory_capacity_bytes", "", {kMemorySection});
    add_memory_sources(capacity, simulation_.job.cluster);
    add("memory_headroom",
        fmt::format("1 - {} / {}", format_bytes(memory.peak.total()), format_bytes(memory.capacity)));
    add("fits", "");
    add("fit_probability", "", {kMemorySection});
  }

  void add_energy() {
    Json& energy =
        add("energy_j",
            fmt::format("{} x {} = {}", format_watts(result_.average_power_w), time(), format_joules(result_.energy_j)),
            {kMemorySection});
    add_power_sources(energy, simulation_.job.cluster);
    if (result_.energy_high_j > 0) add_range("energy_low_j", "energy_high_j", kRangeOfEnergy);
    add("average_power_w", fmt::format("{} / {}", format_joules(result_.energy_j), time()), {kMemorySection});
    if (simulation_.job.cluster.facility().power_floor) {
      add("power_floor_energy_j",
          fmt::format("energy above the work's, {} of {}", format_joules(result_.power_floor_energy_j),
                      format_joules(result_.energy_j)));
    }
    if (!result_.power) return;
    add("power_peak_w", fmt::format("the highest mean over {}", format_seconds(kPowerFigureInterval_s)));
    add("power_swing_w", fmt::format("{} - {}", format_watts(result_.power->peak_w),
                                     format_watts(result_.power->peak_w - result_.power->swing_w)));
    add("power_max_ramp_w_per_s",
        fmt::format("{} in {}", format_watts(result_.power->max_ramp_w_per_s * kPowerFigureInterval_s),
                    format_seconds(kPowerFigureInterval_s)));
  }

  void add_facility() {
    const Facility& facility = simulation_.job.cluster.facility();
    if (!facility.asked) return;
    add("machine_energy_j",
        fmt::format("{} + {} x ({} hosts + {} network) = {}", format_joules(result_.energy_j), time(),
                    format_watts(simulation_.job.cluster.host_power_w()), format_watts(facility.network_power_w),
                    format_joules(result_.machine_energy_j)));
    if (result_.machine_energy_high_j > 0) {
      add_range("machine_energy_low_j", "machine_energy_high_j", kRangeOfEnergy);
      add_range("facility_energy_low_j", "facility_energy_high_j", "in proportion to the machine's");
    }
    add("facility_energy_j",
        fmt::format("{} x {:g} + {} x {} = {}", format_joules(result_.machine_energy_j), facility.pue,
                    format_watts(facility.cooling_power_w), time(), format_joules(result_.facility_energy_j)));
    if (facility.carbon.known()) {
      Json& co2 = add("co2_kg", fmt::format("{} x {:.0f} g/kWh = {}", format_watt_hours(result_.facility_energy_j),
                                            facility.carbon.mean(), format_kilograms(result_.co2_kg)));
      add_source(co2, "intensity", facility.carbon.source());
    }
    add("embodied_co2_kg",
        fmt::format("{:g} kg a GPU over {:g} years", facility.embodied_kg_per_gpu, facility.lifetime_years));
  }

  void add_costs() {
    if (!result_.priced) {
      reasons_.put("cost_usd_per_iteration", simulation_.job.cluster.missing_prices(), "", {});
      return;
    }
    std::string formula;
    for (const NodeGroup& group : simulation_.job.cluster.kinds()) {
      formula += fmt::format("{}{} GPUs x {} an hour", formula.empty() ? "" : " + ", group.gpus(),
                             format_price(group.price->usd_per_gpu_hour.value));
    }
    Json& cost = add("cost_usd_per_iteration",
                     fmt::format("({}) x {} = {}", formula, time(), format_usd(result_.cost_usd)), {kMemorySection});
    add_price_sources(cost, simulation_.job.cluster);
    if (result_.iteration_time_high_s > 0) {
      add_range("cost_low_usd_per_iteration", "cost_high_usd_per_iteration", "in proportion to the time");
    }
  }

  void add_training() {
    if (result_.training_time_s <= 0) return;
    const std::string iterations = format_count(result_.training_time_s / result_.iteration_time_s);
    add("training_time_s",
        fmt::format("{} iterations x {} = {}", iterations, time(), format_seconds(result_.training_time_s)));
    add("training_iterations", "");
    add("training_energy_j", fmt::format("{} x {}", iterations, format_joules(result_.energy_j)));
    if (!result_.priced) return;
    add("training_cost_usd",
        fmt::format("{} x {} = {}", iterations, format_usd(result_.cost_usd), format_usd(result_.training_cost_usd)));
  }

  void add_activities() {
    for (std::size_t i = 0; i < kActivities; ++i) {
      const auto activity = static_cast<Activity>(i);
      const std::string key = fmt::format("{}_s", key_of(activity));
      const bool exchange = activity >= Activity::tensor_communication && activity <= Activity::pipeline_communication;
      const bool waiting = activity == Activity::bubble;
      reasons_.add_activity(
          key, result_.activity_s[i], result_.iteration_time_s,
          {waiting ? kIterationSection : kPassesSection, exchange ? kExchangeSection : kIterationSection});
    }
  }

  const Simulation& simulation_;
  const IterationResult& result_;
  ReasonList reasons_;
};

}  // namespace

nlohmann::ordered_json explanation_of(const Scenario& scenario, const Simulation& simulation) {
  return {{"figures", FigureReasons(simulation).json()},
          {"sections", sections_json(explanation(scenario, simulation))}};
}

}  // namespace mirfak
