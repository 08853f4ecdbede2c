#include "capture/capture_report.hpp"

#include "base/json_parts.hpp"
#include "base/section.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "capture/capture_figures.hpp"
#include "simulation/prediction_range.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <variant>

namespace mirfak {

namespace {

constexpr std::size_t kShownRanks = 8;  // in text; JSON has all
constexpr std::size_t kShownWork = 15;
constexpr std::size_t kExplainedWork = 100;

double share(double part, double of) { return of > 0 ? part / of : 0; }

Table times_table(const CaptureResult& result) {
  Table table(" | >mean | >share | >min .. max over ranks | ");
  for (const CapturedTimePart& part : captured_time_parts()) {
    const double mean = result.mean.*part.seconds;
    const auto [least, most] = std::minmax_element(
        result.ranks.begin(), result.ranks.end(),
        [&](const auto& a, const auto& b) { return a.times.*part.seconds < b.times.*part.seconds; });
    table.add({part.label, in_seconds(mean), in_percent(share(mean, result.iteration_s)),
               format_seconds(least->times.*part.seconds) + " .. " + format_seconds(most->times.*part.seconds),
               bar_text(share(mean, result.iteration_s), 30)});
  }
  return table;
}

Table memory_table(const CaptureResult& result) {
  const bool graphs = std::any_of(result.ranks.begin(), result.ranks.end(),
                                  [](const CapturedRankResult& rank) { return rank.graph_bytes > 0; });
  Table table(graphs ? ">rank | >allocated | >kept by graphs | >reserved | >platform | >total | >of |  "
                     : ">rank | >allocated | >reserved | >platform | >total | >of |  ");
  for (const CapturedRankResult& rank : result.ranks) {
    std::vector<Cell> row = {rank.rank, in_bytes(rank.allocated_bytes)};
    if (graphs) row.push_back(in_bytes(rank.graph_bytes));
    const char* const verdict = !rank.fits ? "does not fit"
                                : rank.memory_bytes <= rank.capacity_bytes
                                    ? "fits"
                                    : "fits once the allocator returns what it holds free";
    row.insert(row.end(), {in_bytes(rank.reserved_bytes), in_bytes(result.platform_bytes), in_bytes(rank.memory_bytes),
                           in_bytes(rank.capacity_bytes), verdict});
    table.add(std::move(row));
  }
  return table;
}

// Shortens a path of modules at its beginning, which all have in common.
std::string end_of(const std::string& path, std::size_t length) {
  return path.size() <= length ? path : "..." + path.substr(path.size() + 3 - length);
}

Table work_table(const CaptureResult& result, bool modules) {
  const char* columns = modules ? ">seconds:seconds | >share:share | >calls:calls | phase:phase | module:module | "
                                  "called at:line"
                                : ">seconds:seconds | >share:share | >calls:calls | operator:name | phase:phase | "
                                  "module:module | tensors:tensors | -:line | -:flop | -:bytes | -:communicates";
  Table table(columns);
  for (const CapturedWork& work : modules ? result.modules : result.work) {
    std::vector<Cell> row = {in_seconds(work.seconds), in_percent(share(work.seconds, result.iteration_s)),
                             static_cast<std::int64_t>(work.calls)};
    const Cell module = Cell(work.module.empty() ? std::string("-") : end_of(work.module, 44), work.module);
    const char* const phase = kCapturePhaseNames[static_cast<std::size_t>(work.phase)];
    const Cell line = work.line.empty() ? Cell("-", std::monostate()) : Cell(work.line);
    if (modules) {
      row.insert(row.end(), {phase, module, line});
    } else {
      row.insert(row.end(), {work.name, phase, module, Cell(excerpt(work.tensors, 44), work.tensors), line,
                             as_number(work.flop), as_number(work.bytes), work.communicates});
    }
    table.add(std::move(row));
  }
  return table;
}

// Prices by the types of nodes, as they are in the JSON of `mirfak simulate`.
Table price_table(const Cluster& cluster) {
  Table table("GPU:gpu | >USD an hour:usd_per_gpu_hour | from:origin");
  for (const NodeGroup& group : cluster.kinds()) {
    const auto& price = group.price;
    table.add({group.hardware.gpu.name, as_number(price ? std::optional(price->usd_per_gpu_hour.value) : std::nullopt),
               price ? Cell(price->origin()) : Cell("-", std::monostate())});
  }
  return table;
}

Table iteration_table(const CapturePricing& pricing, const CaptureResult& result) {
  const Cluster& cluster = pricing.cluster;
  const std::string gpus = fmt::format("of {} GPU{}", result.gpus, result.gpus == 1 ? "" : "s");
  Table table("|>|");
  const std::string range =
      result.range.high_s <= 0
          ? ""
          : fmt::format("{}, as {:.0f} % of measurements", range_text(result.range), 100 * pricing.ranges->level);
  table.add({"time", in_seconds(result.iteration_s), range});
  table.add({"hardware TFLOP/s per GPU", as_number(share(result.flop, result.iteration_s) / 1e12), ""});
  const std::string energies = result.energy.known() ? fmt::format("{} to {}; ", format_joules(result.energy.low_j),
                                                                   format_joules(result.energy.high_j))
                                                     : "";
  table.add({"energy", in_joules(result.energy_j),
             fmt::format("{}{}, {} each on average", energies, gpus,
                         format_watts(share(result.energy_j, result.iteration_s) / static_cast<double>(result.gpus)))});
  if (cluster.facility().asked) {
    table.add({"energy of the machine", in_joules(result.facility.machine_energy_j), "GPUs, hosts and network"});
    table.add({"energy of the facility", in_joules(result.facility.facility_energy_j),
               fmt::format("PUE {:g}", cluster.facility().pue)});
    if (cluster.facility().carbon.known()) table.add({"CO2", in_kilograms(result.facility.co2_kg), ""});
    if (result.facility.embodied_co2_kg > 0) {
      table.add({"embodied CO2", in_kilograms(result.facility.embodied_co2_kg), "of making the GPUs"});
    }
  }
  table.add({"cost", result.cost_usd ? in_usd(*result.cost_usd) : Cell("unknown"),
             result.cost_usd ? gpus : cluster.missing_prices()});
  return table;
}

std::string limited(const Table& table, std::size_t most) {
  std::string out = table.text(most);
  if (table.rows() > most) out += fmt::format("  ... and {} more\n", table.rows() - most);
  return out;
}

std::string heading(const Capture& capture, const CapturePricing& pricing) {
  std::string nodes;
  for (const NodeGroup& group : pricing.cluster.kinds()) {
    nodes += fmt::format("{}{} x {} ({} {})", nodes.empty() ? "" : ", ", group.count, group.hardware.name(),
                         group.hardware.spec.gpus_of_kind(), group.hardware.gpu.title);
  }
  return fmt::format(
      "capture   {}: {}, {}, PyTorch {}\n"
      "ranks     {}\n"
      "cluster   {}\n",
      capture.file, capture.program, captured_step_text(capture), capture.torch, captured_ranks_text(capture), nodes);
}

}  // namespace

std::string captured_step_text(const Capture& capture) {
  return capture.step < 0 ? "a block" : fmt::format("step {}", capture.step);
}

std::string captured_ranks_text(const Capture& capture) {
  std::size_t launches = 0;
  for (const CapturedRank& rank : capture.ranks) {
    launches += static_cast<std::size_t>(std::count_if(rank.events.begin(), rank.events.end(), [](const auto& event) {
      return event.kind == CaptureEventKind::launch;
    }));
  }
  return fmt::format("{} of {} captured, {} operators that launch kernels", capture.ranks.size(), capture.world_size,
                     format_count(static_cast<double>(launches)));
}

std::string memory_need_text(const CaptureResult& result) {
  const CapturedRankResult& rank = result.ranks[result.fullest];
  return fmt::format("rank {} needs {} of {}", rank.rank, format_bytes(rank.needed_bytes),
                     format_bytes(rank.capacity_bytes));
}

std::vector<Section> capture_explanation(const CapturePricing& pricing, const CaptureResult& result) {
  const OperatorTable::Host& host = pricing.table.host;
  Section prices{"Prices", {}};
  prices.add(
      fmt::format("  host       {} for each operator dispatched forward, {} backward, {} for each kernel, {} for each "
                  "line of Python: {}\n"
                  "  collective {} of the host: {}\n  platform   {}: {}\n",
                  format_seconds(host.forward_s), format_seconds(host.backward_s), format_seconds(host.launch_s),
                  format_seconds(host.python_line_s), host.source, format_seconds(pricing.framework.host.collective_s),
                  pricing.framework.host.source, format_bytes(pricing.framework.memory.platform_bytes),
                  pricing.framework.memory.source));
  Section gpus{"Prices of GPUs", {}};
  gpus.add(price_table(pricing.cluster));
  Table clocks(">rank | >clock, of the full one | >host's work | >hidden communication | >energy");
  for (const CapturedRankResult& rank : result.ranks) {
    clocks.add({rank.rank, in_percent(rank.clock), in_seconds(rank.host_work_s),
                in_seconds(rank.hidden_communication_s), in_joules(rank.energy_j)});
  }
  Section ranks{"Ranks", {}};
  ranks.add(std::move(clocks));
  std::vector<Section> out = {std::move(prices), std::move(gpus), std::move(ranks)};
  if (result.range.high_s > 0) {
    Section range{"The range of the step (hw_profiles/ranges.yaml)", {}};
    range.add(uncertainty_table(result.uncertain, *pricing.ranges));
    out.push_back(std::move(range));
  }
  return out;
}

std::string capture_text(const Capture& capture, const CapturePricing& pricing, const CaptureResult& result,
                         bool explain) {
  std::string out = heading(capture, pricing);
  out += "\nIteration\n" + iteration_table(pricing, result).text();
  out += "\nWhere the time of a GPU goes\n" + times_table(result).text();
  out += "\nPeak memory of a GPU\n" + limited(memory_table(result), kShownRanks);
  const std::size_t most = explain ? kExplainedWork : kShownWork;
  out += fmt::format("\nOperators of rank {} by time\n", result.longest) + limited(work_table(result, false), most);
  out += fmt::format("\nModules of rank {} by time of kernels\n", result.longest) +
         limited(work_table(result, true), most);
  if (explain) out += "\n" + text_of(capture_explanation(pricing, result));
  for (const std::string& note : result.notes) out += fmt::format("\nnote: {}\n", note);
  return out;
}

nlohmann::ordered_json capture_json(const Capture& capture, const CapturePricing& pricing, const CaptureResult& result,
                                    double wall_time_s) {
  const auto parts_of = [](const CapturedTimes& times) {
    nlohmann::ordered_json out;
    for (const CapturedTimePart& part : captured_time_parts()) out[part.key] = times.*part.seconds;
    return out;
  };
  nlohmann::ordered_json out;
  add_figures(figure_values(result, pricing.cluster.facility()), out);
  out["capture"] = {{"file", capture.file}, {"hash", capture.hash}};
  out["program"] = capture.program;
  out["world_size"] = capture.world_size;
  out["platform_bytes"] = result.platform_bytes;
  out["prices"] = price_table(pricing.cluster).json();
  out["activities"] = parts_of(result.mean);
  out["ranks"] = nlohmann::ordered_json::array();
  for (const CapturedRankResult& rank : result.ranks) {
    out["ranks"].push_back({{"rank", rank.rank},
                            {"gpu", rank.gpu},
                            {"activities", parts_of(rank.times)},
                            {"hidden_communication_s", rank.hidden_communication_s},
                            {"host_work_s", rank.host_work_s},
                            {"clock_share", rank.clock},
                            {"energy_j", rank.energy_j},
                            {"peak_allocated_bytes", rank.allocated_bytes},
                            {"graph_bytes", rank.graph_bytes},
                            {"peak_reserved_bytes", rank.reserved_bytes},
                            {"memory_peak_bytes", rank.memory_bytes},
                            {"memory_capacity_bytes", rank.capacity_bytes},
                            {"fits", rank.fits}});
  }
  out["longest_rank"] = result.longest;
  out["operators"] = work_table(result, false).json();
  out["modules"] = work_table(result, true).json();
  out["notes"] = result.notes;
  out["wall_time_s"] = wall_time_s;
  return out;
}

}  // namespace mirfak
