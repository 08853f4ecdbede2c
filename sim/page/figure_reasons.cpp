#include "page/figure_reasons.hpp"

#include "base/units.hpp"
#include "report/explain_text.hpp"
#include "simulation/prediction_range.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
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
    return std::move(out_);
  }

 private:
  Json& add(const char* key, const std::string& meaning, const std::string& formula,
            std::vector<std::string> see = {}) {
    Json& entry = out_[key] = {{"meaning", meaning}};
    if (!formula.empty()) entry["formula"] = formula;
    entry["see"] = std::move(see);
    return entry;
  }

  static void add_source(Json& entry, const std::string& what, const std::string& source) {
    if (source.empty()) return;
    const std::string text = what + ": " + source;
    Json& sources = entry["sources"];
    if (std::find(sources.begin(), sources.end(), text) == sources.end()) sources.push_back(text);
  }

  std::string time() const { return format_seconds(result_.iteration_time_s); }

  // "GEMM 1.20 s + bubble 300 ms"
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
    add("iteration_time_s",
        fmt::format(
            "From the start of the iteration to the end of its last task: {} tasks that the engine executed on {} "
            "simulated ranks. What a GPU does in it adds up to it, mean over stages.",
            format_count(static_cast<double>(simulation_.program.size())), simulation_.program.ranks.size()),
        sum_of([](Activity) { return true; }) + " = " + time(),
        {kIterationSection, kPassesSection, kExchangeSection, kRangeSection});
    const double level = simulation_.job.ranges.level;
    if (result_.iteration_time_high_s > 0) {
      const std::string meaning =
          fmt::format("In {}, {:.0f} % of measured iterations lie that were predicted like this one.",
                      range_text(result_), 100 * level);
      add("iteration_time_low_s", meaning, "", {kRangeSection});
      add("iteration_time_high_s", meaning, "", {kRangeSection});
    }
    add("bubble_fraction", "The share of the iteration that a GPU waits for other stages, mean over ranks.",
        fmt::format("{} / {} = {}", format_seconds(result_.bubble_fraction * result_.iteration_time_s), time(),
                    format_percent(result_.bubble_fraction)),
        {kIterationSection});
    add("gpu_of_others_s",
        "What kernels of a GPU's other ranks take while a rank waits for the GPU that they share, mean over ranks; a "
        "part of the bubble.",
        "");
    add("exposed_communication_s", "What the compute stream of a GPU waits for communication, mean over ranks.",
        sum_of([](Activity activity) {
          return activity >= Activity::tensor_communication && activity <= Activity::pipeline_communication;
        }),
        {kExchangeSection});
    add("events", "Ends of tasks and changes of speed that the engine handled.", "");
    add("wall_time_s", "What the simulation itself took on this machine.", "");
  }

  void add_rates() {
    const std::string tokens = format_count(result_.tokens_per_s * result_.iteration_time_s);
    add("tokens_per_s", "Tokens of the global batch over the time of an iteration.",
        fmt::format("{} tokens / {} = {}", tokens, time(), format_count(result_.tokens_per_s)), {kScenarioSection});
    add("tokens_per_s_per_gpu", "The same of one GPU.",
        fmt::format("{} / {} GPUs = {}", format_count(result_.tokens_per_s), result_.gpus,
                    format_count(result_.tokens_per_s_per_gpu)));
    add("gpus", "GPUs of the cluster.", "", {kScenarioSection});
    const auto add_tflops = [&](const char* key, const char* meaning, double flop, double tflops) {
      add(key, meaning,
          fmt::format("{} / {} / {} GPUs = {} TFLOP/s", format_flop(flop), time(), result_.gpus,
                      format_number(tflops)));
    };
    add_tflops("tflops_per_gpu", "Model FLOPs over time, as papers count: attention over all pairs of tokens.",
               result_.model_flop, result_.tflops_per_gpu);
    add_tflops("hardware_tflops_per_gpu", "Hardware FLOPs over time: with recomputation.", result_.hardware_flop,
               result_.hardware_tflops_per_gpu);
  }

  void add_flop() {
    const auto add_share = [&](const char* key, const char* meaning, double flop, double share) {
      if (share <= 0) return;
      const double peak = flop / share / result_.iteration_time_s;
      Json& entry = add(
          key, meaning,
          fmt::format("{} / ({} x {}/s) = {}", format_flop(flop), time(), format_flop(peak), format_percent(share)));
      for (const NodeGroup& group : simulation_.job.cluster.groups()) {
        const auto found = group.hardware.gpu.peak_flops.find(simulation_.job.precision());
        if (found == group.hardware.gpu.peak_flops.end()) continue;
        add_source(entry, fmt::format("peak of {}, {}/s", group.hardware.gpu.name, format_flop(found->second.value)),
                   found->second.source);
      }
    };
    add_share("mfu",
              "FLOPs of the model as executed, without recomputation, over what all GPUs could do at their peak.",
              result_.visible_flop, result_.mfu);
    add_share("hfu", "All FLOPs that are executed over what all GPUs could do at their peak.", result_.executed_flop,
              result_.hfu);
    add("model_flop", "Three times the forward pass of the whole job; attention over all pairs of tokens.", "",
        {kPassesSection});
    add("hardware_flop", "The same with what is recomputed.", "", {kPassesSection});
    add("visible_flop", "Model FLOPs as executed: fused attention leaves out what its mask hides.", "",
        {kPassesSection});
    add("executed_flop", "The same with what is recomputed.", "", {kPassesSection});
  }

  void add_memory() {
    const StageMemory& memory = result_.stages[result_.fullest_plan].memory;
    std::string parts;
    for (const MemoryPart& part : memory_parts()) {
      const double bytes = memory.peak.*part.bytes;
      if (bytes > 0) parts += fmt::format("{}{} {}", parts.empty() ? "" : " + ", part.name, format_bytes(bytes));
    }
    add("memory_peak_bytes",
        fmt::format("The peak of a GPU of stage {}, which has the largest share of its memory.", result_.fullest_stage),
        parts + " = " + format_bytes(memory.peak.total()), {kMemorySection});
    const char* const range = "Of what the framework allocates, 80 % of measured peaks lie in this range.";
    add("memory_peak_low_bytes", range, "", {kMemorySection});
    add("memory_peak_high_bytes", range, "", {kMemorySection});
    Json& capacity = add("memory_capacity_bytes", "The memory of that GPU.", "", {kMemorySection});
    for (const NodeGroup& group : simulation_.job.cluster.groups()) {
      add_source(capacity, "memory of " + group.hardware.gpu.name, group.hardware.gpu.memory_bytes.source);
    }
    add("memory_headroom", "The share of that memory that is free.",
        fmt::format("1 - {} / {}", format_bytes(memory.peak.total()), format_bytes(memory.capacity)));
    add("fits", "Whether every stage fits in the memory of its GPUs and of their hosts.", "");
  }

  void add_energy() {
    Json& energy =
        add("energy_j", "What all GPUs draw over the iteration: kernels above waiting and idling.",
            fmt::format("{} x {} = {}", format_watts(result_.average_power_w), time(), format_joules(result_.energy_j)),
            {kMemorySection});
    for (const NodeGroup& group : simulation_.job.cluster.groups()) {
      const GpuSpec& gpu = group.hardware.gpu;
      add_source(energy, fmt::format("power of {}, computing, {}", gpu.name, format_watts(gpu.tdp_w.value)),
                 gpu.tdp_w.source);
      add_source(energy, fmt::format("power of {}, waiting, {}", gpu.name, format_watts(gpu.blocked_w.value)),
                 gpu.blocked_w.source);
    }
    add("average_power_w", "Of all GPUs together.", fmt::format("{} / {}", format_joules(result_.energy_j), time()),
        {kMemorySection});
  }

  void add_facility() {
    const Facility& facility = simulation_.job.cluster.facility();
    if (!facility.asked) return;
    add("machine_energy_j", "Of GPUs, hosts and network.",
        fmt::format("{} + {} x ({} hosts + {} network) = {}", format_joules(result_.energy_j), time(),
                    format_watts(simulation_.job.cluster.host_power_w()), format_watts(facility.network_power_w),
                    format_joules(result_.machine_energy_j)));
    add("facility_energy_j", "Of the machine, times the facility's PUE, with cooling beside it.",
        fmt::format("{} x {:g} + {} x {} = {}", format_joules(result_.machine_energy_j), facility.pue,
                    format_watts(facility.cooling_power_w), time(), format_joules(result_.facility_energy_j)));
    if (facility.carbon.known()) {
      Json& co2 = add("co2_kg", "What making the facility's energy emits, by the mean of the grid's hours.",
                      fmt::format("{} x {:.0f} g/kWh = {}", format_watt_hours(result_.facility_energy_j),
                                  facility.carbon.mean(), format_kilograms(result_.co2_kg)));
      add_source(co2, "intensity", facility.carbon.source());
    }
    add("embodied_co2_kg", "The iteration's share of what making the GPUs emitted.",
        fmt::format("{:g} kg a GPU over {:g} years", facility.embodied_kg_per_gpu, facility.lifetime_years));
  }

  void add_costs() {
    if (!result_.priced) {
      add("cost_usd_per_iteration", simulation_.job.cluster.missing_prices(), "");
      return;
    }
    std::string formula;
    for (const NodeGroup& group : simulation_.job.cluster.groups()) {
      formula += fmt::format("{}{} GPUs x {} an hour", formula.empty() ? "" : " + ",
                             group.count * group.hardware.spec.gpus, format_price(group.price->usd_per_gpu_hour.value));
    }
    Json& cost = add("cost_usd_per_iteration", "The price of all GPUs for the time of an iteration.",
                     fmt::format("({}) x {} = {}", formula, time(), format_usd(result_.cost_usd)), {kMemorySection});
    for (const NodeGroup& group : simulation_.job.cluster.groups()) {
      add_source(cost, "price of " + group.hardware.gpu.name + ", " + group.price->origin(),
                 group.price->usd_per_gpu_hour.source);
    }
  }

  void add_training() {
    if (result_.training_time_s <= 0) return;
    const std::string iterations = format_count(result_.training_time_s / result_.iteration_time_s);
    add("training_time_s",
        fmt::format("As many iterations as {} tokens need, without failures.",
                    format_count(simulation_.job.training.tokens)),
        fmt::format("{} iterations x {} = {}", iterations, time(), format_seconds(result_.training_time_s)));
    add("training_iterations", "Tokens of the training over those of an iteration.", "");
    add("training_energy_j", "The energy of these iterations.",
        fmt::format("{} x {}", iterations, format_joules(result_.energy_j)));
    if (!result_.priced) return;
    add("training_cost_usd", "The cost of these iterations.",
        fmt::format("{} x {} = {}", iterations, format_usd(result_.cost_usd), format_usd(result_.training_cost_usd)));
  }

  void add_activities() {
    for (std::size_t i = 0; i < kActivities; ++i) {
      const auto activity = static_cast<Activity>(i);
      const std::string key = fmt::format("activities.{}_s", key_of(activity));
      const bool exchange = activity >= Activity::tensor_communication && activity <= Activity::pipeline_communication;
      const bool waiting = activity == Activity::bubble;
      add(key.c_str(),
          exchange  ? "What the compute stream waits for these collectives and transfers, beside which nothing runs."
          : waiting ? "What a GPU waits for other stages, and for nothing of its own."
                    : "Of kernels of this kind on a GPU of the mean stage, or of the host that issues them.",
          fmt::format("{} / {} = {} of the iteration", format_seconds(result_.activity_s[i]), time(),
                      format_percent(result_.activity_s[i] / result_.iteration_time_s)),
          {waiting ? kIterationSection : kPassesSection, exchange ? kExchangeSection : kIterationSection});
    }
  }

  const Simulation& simulation_;
  const IterationResult& result_;
  Json out_ = Json::object();
};

}  // namespace

nlohmann::ordered_json explanation_sections(const std::string& text) {
  Json out = Json::array();
  std::istringstream lines(text);
  std::string section;
  const auto end_section = [&] {
    if (out.empty()) return;
    while (section.ends_with('\n')) section.pop_back();
    out.back()["text"] = section;
  };
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.front() != ' ') {
      end_section();
      out.push_back({{"title", line}});
      section.clear();
    } else if (!line.empty() || !section.empty()) {
      section += line + '\n';
    }
  }
  end_section();
  return out;
}

nlohmann::ordered_json explanation_of(const Scenario& scenario, const Simulation& simulation) {
  return {{"figures", FigureReasons(simulation).json()},
          {"sections", explanation_sections(explain_text(scenario, simulation))}};
}

}  // namespace mirfak
