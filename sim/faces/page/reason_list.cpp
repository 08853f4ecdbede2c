#include "page/reason_list.hpp"

#include "base/units.hpp"
#include "simulation/figures.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Json& ReasonList::add(std::string_view key, const std::string& formula, const std::vector<std::string>& see) {
  return put(std::string(key), iteration_figure(key).meaning, formula, see);
}

Json& ReasonList::put(const std::string& key, const std::string& meaning, const std::string& formula,
                      const std::vector<std::string>& see) {
  Json& entry = out_[key] = {{"meaning", meaning}};
  if (!formula.empty()) entry["formula"] = formula;
  entry["see"] = see;
  return entry;
}

void ReasonList::add_activity(const std::string& key, double seconds, double iteration_s,
                              const std::vector<std::string>& see) {
  put("activities." + key, iteration_figure(key).meaning,
      fmt::format("{} / {} = {} of the iteration", format_seconds(seconds), format_seconds(iteration_s),
                  format_percent(iteration_s > 0 ? seconds / iteration_s : 0)),
      see);
}

void ReasonList::add_wall_time() { put("wall_time_s", "What the simulation itself took on this machine.", "", {}); }

void add_source(Json& entry, const std::string& what, const std::string& source) {
  if (source.empty()) return;
  const std::string text = what + ": " + source;
  Json& sources = entry["sources"];
  if (std::find(sources.begin(), sources.end(), text) == sources.end()) sources.push_back(text);
}

void add_memory_sources(Json& entry, const Cluster& cluster) {
  for (const NodeGroup& group : cluster.groups()) {
    add_source(entry, "memory of " + group.hardware.gpu.name, group.hardware.gpu.memory_bytes.source);
  }
}

void add_power_sources(Json& entry, const Cluster& cluster) {
  for (const NodeGroup& group : cluster.groups()) {
    const GpuSpec& gpu = group.hardware.gpu;
    add_source(entry, fmt::format("power of {}, computing, {}", gpu.name, format_watts(gpu.tdp_w.value)),
               gpu.tdp_w.source);
    add_source(entry, fmt::format("power of {}, waiting, {}", gpu.name, format_watts(gpu.blocked_w.value)),
               gpu.blocked_w.source);
  }
}

void add_price_sources(Json& entry, const Cluster& cluster) {
  for (const NodeGroup& group : cluster.groups()) {
    if (!group.price) continue;
    add_source(entry, "price of " + group.hardware.gpu.name + ", " + group.price->origin(),
               group.price->usd_per_gpu_hour.source);
  }
}

}  // namespace mirfak
