#include "report/result_json.hpp"

#include "report/summary_values.hpp"

#include <string>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

Json activities_json(const ActivitySeconds& seconds) {
  Json out = Json::object();
  for (std::size_t i = 0; i < kActivities; ++i) {
    out[std::string(key_of(static_cast<Activity>(i))) + "_s"] = seconds[i];
  }
  return out;
}

Json memory_json(const StageMemory& memory) {
  Json out = Json::object();
  for (const MemoryPart& part : memory_parts()) out[std::string(part.name) + "_bytes"] = memory.peak.*part.bytes;
  out["peak_bytes"] = memory.peak.total();
  out["capacity_bytes"] = memory.capacity;
  out["passes_in_flight"] = memory.passes_in_flight;
  out["fits"] = memory.fits();
  return out;
}

}  // namespace

nlohmann::ordered_json result_json(const Simulation& simulation, double wall_time_s) {
  return result_json(simulation.job, simulation.result, wall_time_s);
}

nlohmann::ordered_json result_json(const Job& job, const IterationResult& result, double wall_time_s) {
  Json out = Json::object();
  for (const SummaryValue& value : summary_values(result)) {
    Json& slot = out[value.key];
    if (!value.known) continue;
    if (value.whole) {
      slot = static_cast<std::int64_t>(value.number);
    } else {
      slot = value.number;
    }
  }
  out["fits"] = result.fits;
  out["fullest_stage"] = result.fullest_stage;
  out["wall_time_s"] = wall_time_s;
  out["activities"] = activities_json(result.activity_s);
  Json& stages = out["stages"] = Json::array();
  for (std::size_t i = 0; i < result.stages.size(); ++i) {
    const StageResult& stage = result.stages[i];
    stages.push_back({{"stage", i},
                      {"gpu", job.hardware_of(static_cast<int>(i)).hardware.gpu.name},
                      {"activities", activities_json(stage.activity_s)},
                      {"memory", memory_json(stage.memory)}});
  }
  return out;
}

}  // namespace mirfak
