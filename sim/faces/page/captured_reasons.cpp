#include "page/captured_reasons.hpp"

#include "base/units.hpp"
#include "capture/capture_report.hpp"
#include "page/reason_list.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kPricesSection = "Prices";
constexpr const char* kMoneySection = "Prices of GPUs";
constexpr const char* kRanksSection = "Ranks";
constexpr const char* kStepRangeSection = "The range of the step";

class CapturedReasons {
 public:
  CapturedReasons(const CapturePricing& pricing, const CaptureResult& result)
      : cluster_(pricing.cluster), result_(result), fullest_(result.ranks[result.fullest]) {}

  Json json() {
    add_times();
    add_work();
    add_memory();
    add_energy();
    add_facility();
    add_cost();
    for (const CapturedTimePart& part : captured_time_parts()) {
      reasons_.add_activity(part.key, result_.mean.*part.seconds, result_.iteration_s, {kPricesSection, kRanksSection});
    }
    reasons_.put("program", "The script that was captured.", "", {});
    reasons_.put("world_size", "Ranks of the job; those that were captured have a row in the tables.", "", {});
    reasons_.put("platform_bytes", "Memory outside of PyTorch's allocator: the context and buffers of communication.",
                 "", {kPricesSection});
    reasons_.put("longest_rank", "The rank whose kernels take longest; operators and modules are its.", "", {});
    reasons_.add_wall_time();
    return reasons_.take();
  }

 private:
  std::string time() const { return format_seconds(result_.iteration_s); }
  std::string gpus() const { return fmt::format("{} GPU{} with a rank", result_.gpus, result_.gpus == 1 ? "" : "s"); }

  void add_times() {
    std::string sum;
    for (const CapturedTimePart& part : captured_time_parts()) {
      const double seconds = result_.mean.*part.seconds;
      if (seconds > 0) sum += fmt::format("{}{} {}", sum.empty() ? "" : " + ", part.label, format_seconds(seconds));
    }
    reasons_.add("iteration_time_s", fmt::format("mean over captured ranks: {} = {}", sum, time()), {kPricesSection});
    if (result_.range.high_s > 0) {
      reasons_.add("iteration_time_low_s", "", {kStepRangeSection});
      reasons_.add("iteration_time_high_s", "", {kStepRangeSection});
    }
    reasons_.add("bubble_fraction", fmt::format("{} / {}", format_seconds(result_.mean.waiting_s), time()));
    reasons_.add("exposed_communication_s", "mean over captured ranks; what kernels hide is left out", {kRanksSection});
    reasons_.add("events", "");
  }

  void add_work() {
    const std::string flop = format_flop(result_.flop);
    reasons_.add("hardware_tflops_per_gpu", fmt::format("{} of a rank, mean / {}", flop, time()));
    reasons_.add("hardware_flop", fmt::format("{} of a rank, mean x {}", flop, gpus()));
    reasons_.add("gpus", "those with a rank");
  }

  void add_memory() {
    reasons_.add("memory_peak_bytes",
                 fmt::format("rank {}: reserved by the allocator {} + platform {} = {}", fullest_.rank,
                             format_bytes(fullest_.reserved_bytes), format_bytes(result_.platform_bytes),
                             format_bytes(fullest_.memory_bytes)),
                 {kPricesSection});
    add_memory_sources(reasons_.add("memory_capacity_bytes", ""), cluster_);
    const std::string needed =
        fmt::format("rank {}: allocated {} + kept by graphs {} + platform {} = {}", fullest_.rank,
                    format_bytes(fullest_.allocated_bytes), format_bytes(fullest_.graph_bytes),
                    format_bytes(result_.platform_bytes), format_bytes(fullest_.needed_bytes));
    reasons_.add("memory_headroom", fmt::format("{}; 1 - {} / {}", needed, format_bytes(fullest_.needed_bytes),
                                                format_bytes(fullest_.capacity_bytes)));
    reasons_.add("fits", needed);
  }

  void add_energy() {
    Json& energy = reasons_.add("energy_j",
                                fmt::format("{} over {}: kernels, and what a GPU draws while it waits", gpus(), time()),
                                {kRanksSection});
    add_power_sources(energy, cluster_);
    reasons_.add("average_power_w", fmt::format("{} / {}", format_joules(result_.energy_j), time()));
    if (result_.power) {
      for (const char* key : {"power_peak_w", "power_swing_w", "power_max_ramp_w_per_s"}) {
        reasons_.add(key, fmt::format("of means over {}", format_seconds(kPowerFigureInterval_s)));
      }
    }
  }

  void add_facility() {
    const Facility& facility = cluster_.facility();
    if (!facility.asked) return;
    reasons_.add("machine_energy_j", fmt::format("GPUs {} + hosts of nodes with ranks, and network, over {} = {}",
                                                 format_joules(result_.energy_j), time(),
                                                 format_joules(result_.facility.machine_energy_j)));
    reasons_.add("facility_energy_j",
                 fmt::format("{} x {:g} + cooling = {}", format_joules(result_.facility.machine_energy_j), facility.pue,
                             format_joules(result_.facility.facility_energy_j)));
    if (facility.carbon.known()) {
      Json& co2 = reasons_.add(
          "co2_kg", fmt::format("{} x {:.0f} g/kWh = {}", format_watt_hours(result_.facility.facility_energy_j),
                                facility.carbon.mean(), format_kilograms(result_.facility.co2_kg)));
      add_source(co2, "intensity", facility.carbon.source());
    }
    reasons_.add("embodied_co2_kg", "");
  }

  void add_cost() {
    if (!result_.cost_usd) {
      reasons_.put("cost_usd_per_iteration", cluster_.missing_prices(), "", {kMoneySection});
      return;
    }
    Json& cost =
        reasons_.add("cost_usd_per_iteration",
                     fmt::format("{} x {} = {}", gpus(), time(), format_usd(*result_.cost_usd)), {kMoneySection});
    add_price_sources(cost, cluster_);
  }

  const Cluster& cluster_;
  const CaptureResult& result_;
  const CapturedRankResult& fullest_;
  ReasonList reasons_;
};

}  // namespace

Json explanation_of(const CapturePricing& pricing, const CaptureResult& result) {
  return {{"figures", CapturedReasons(pricing, result).json()},
          {"sections", sections_json(capture_explanation(pricing, result))}};
}

}  // namespace mirfak
