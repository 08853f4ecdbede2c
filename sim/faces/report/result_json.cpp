#include "report/result_json.hpp"

#include "base/json_parts.hpp"
#include "program/replica_classes.hpp"
#include "program/transfer_cost.hpp"
#include "report/document_report.hpp"
#include "simulation/document_contexts.hpp"
#include "simulation/figures.hpp"
#include "simulation/fullest_reserve.hpp"
#include "simulation/laws.hpp"
#include "strategy/rules.hpp"

#include <nlohmann/json.hpp>

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
  out["host_bytes"] = memory.host;
  out["host_capacity_bytes"] = memory.host_capacity;
  out["passes_in_flight"] = memory.passes_in_flight;
  out["fits"] = memory.fits();
  return out;
}

// Returns the properties of a stage that has its own shape.
Json shape_json(const Job& job, int stage) {
  const Strategy own = job.strategy.at(stage);
  Json out = Json::object();
  out["node"] = job.hardware_of(stage, 0).hardware.spec.name;
  out["layers"] = layers_of_chunk(job.strategy, job.model, stage);
  out["tensor"] = own.tensor;
  out["data"] = own.data;
  out["expert"] = own.expert;
  out["micro_batch"] = own.micro_batch;
  return out;
}

// Adds the duration of a stage's forward pass, and the data that leave the stage.
void add_flow(const Simulation& simulation, const StagePlan& plan, Json& out) {
  out["gpus"] = plan.gpus();
  out["forward_s"] = to_seconds(plan.folded(plan.chunks.front(), Pass::Kind::forward).device);
  if (plan.stage + 1 == simulation.job.strategy.pipeline) return;
  const TransferCost cost =
      transfer_cost(simulation.job, simulation.plans, simulation.blocks,
                    {plan.stage, plan.stage + 1, plan.replica_class, plan.chunks.front().leaving});
  out["sent_bytes"] = cost.bytes;
  out["receivers"] = cost.receivers;
  out["sent_s"] = cost.seconds;
  out["gathered"] = cost.gathered_bytes > 0;
}

Json prices_json(const Cluster& cluster) {
  Json out = Json::array();
  for (const NodeGroup& group : cluster.kinds()) {
    Json& entry = out.emplace_back(Json{{"gpu", group.hardware.gpu.name}});
    entry["usd_per_gpu_hour"] = group.price ? Json(group.price->usd_per_gpu_hour.value) : Json();
    entry["origin"] = group.price ? Json(group.price->origin()) : Json();
  }
  return out;
}

}  // namespace

void add_reserve(const Simulation& simulation, nlohmann::ordered_json& result) {
  const auto reserve = reserve_of_fullest(simulation);
  if (!reserve) return;
  Json& allocator = result["stages"][simulation.result.fullest_plan]["allocator"];
  allocator["reserved_bytes"] = reserve->reserved;
  allocator["cached_bytes"] = reserve->cached();
  allocator["needed_bytes"] = reserve->needed;
  allocator["runs_out"] = reserve->runs_out();
}

nlohmann::ordered_json result_json(const Simulation& simulation, double wall_time_s,
                                   std::span<const std::string> notes) {
  Json out = result_json(simulation.whole_job(), simulation.result, wall_time_s);
  if (simulation.contexts) {
    out["documents"] = {{"rounds", simulation.contexts->rounds},
                        {"busiest_s", simulation.contexts->busiest_s},
                        {"mean_s", simulation.contexts->mean_s},
                        {"once_s", simulation.contexts->fixed_s},
                        {"shapes", documents_table(simulation).json()}};
  }
  for (const std::string& note : notes) out["notes"].push_back(note);
  add_reserve(simulation, out);
  const bool shaped = !simulation.job.strategy.stages.empty();
  for (std::size_t i = 0; shaped && i < simulation.plans.size(); ++i) {
    add_flow(simulation, simulation.plans[i], out["stages"][i]);
  }
  return out;
}

nlohmann::ordered_json result_json(const Job& job, const IterationResult& result, double wall_time_s) {
  Json out = Json::object();
  add_figures(figure_values(result, job.cluster.facility()), out);
  if (job.cluster.facility().asked) {
    out["host_power_w"] = job.cluster.host_power_w();
    out["network_power_w"] = job.cluster.facility().network_power_w;
  }
  out["prices"] = prices_json(job.cluster);
  out["notes"] = notes_on(job, result);
  out["fullest_stage"] = result.fullest_stage;
  out["wall_time_s"] = wall_time_s;
  out["activities"] = activities_json(result.activity_s);
  const std::vector<ReplicaClass> classes = replica_classes(job);
  Json& stages = out["stages"] = Json::array();
  for (std::size_t i = 0; i < result.stages.size(); ++i) {
    const auto stage = static_cast<int>(i / classes.size());
    const ReplicaClass& alike = classes[i % classes.size()];
    const NodeHardware& hardware = job.hardware_of(stage, alike.first()).hardware;
    Json& entry = stages.emplace_back(Json::object());
    entry["stage"] = stage;
    if (classes.size() > 1) {
      entry["replicas"] = alike.replicas;
      entry["microbatches"] = alike.microbatches;
      entry["node"] = hardware.spec.name;
    }
    if (!job.strategy.stages.empty()) entry.update(shape_json(job, stage));
    entry["gpu"] = hardware.gpu.name;
    entry["average_power_w"] = result.stages[i].average_power_w;
    entry["activities"] = activities_json(result.stages[i].activity_s);
    entry["memory"] = memory_json(result.stages[i].memory);
  }
  return out;
}

}  // namespace mirfak
