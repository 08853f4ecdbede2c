#include "scenario/operations_section.hpp"

#include "base/units.hpp"
#include "scenario/failure_section.hpp"
#include "scenario/training_section.hpp"
#include "strategy/precision_recipe.hpp"

#include <fmt/format.h>

#include <optional>

namespace mirfak {

namespace {

constexpr std::int64_t kMaxIterations = std::int64_t{1} << 40;

double seconds_or_zero(Mapping& keys, std::string_view key) { return keys.number_or(key, 0, 0, kLongestOperation); }

std::optional<double> seconds(Mapping& keys, std::string_view key) {
  const std::optional<Node> found = keys.find(key);
  return found ? std::optional(found->as_number(0, kLongestOperation)) : std::nullopt;
}

std::optional<double> read_interval(Mapping& keys) {
  const std::optional<Node> interval = keys.find("interval_s");
  if (!interval || (interval->is_scalar() && interval->value().scalar == "auto")) return std::nullopt;
  return interval->as_number(0, kLongestOperation);
}

CheckpointPlan read_in_memory(const Node& node) {
  Mapping keys(node);
  CheckpointPlan plan;
  plan.where = node.where();
  plan.interval_s = read_interval(keys);
  plan.write_s = seconds_or_zero(keys, "write_s");
  plan.read_s = seconds_or_zero(keys, "read_s");
  plan.survives = static_cast<int>(keys.integer_or("copies", 1, 1, 1 << 20));
  keys.finish();
  return plan;
}

void read_bandwidths(Mapping& keys, CheckpointPlan& plan) {
  plan.bytes = keys.number_or("bytes", 0, 1, 1e18);
  plan.storage_bandwidth = keys.number_or("storage_bandwidth", 0, 1, 1e18);
  plan.node_bandwidth = keys.number_or("node_bandwidth", 0, 1, 1e15);
  plan.sharded = keys.bool_or("sharded", true);
  const std::optional<Node> sharded = keys.find("sharded");
  if (sharded && !plan.sharded && plan.node_bandwidth == 0) {
    sharded->fail("one node writes all, at a bandwidth that stands nowhere", "write node_bandwidth, in bytes/s");
  }
  if (plan.write_s && (plan.storage_bandwidth > 0 || plan.node_bandwidth > 0)) {
    keys.find("write_s")->fail("bandwidths say it already",
                               "leave out write_s, or storage_bandwidth and node_bandwidth");
  }
}

void read_checkpoint(const Node& node, Operations& operations) {
  static const std::vector<std::string> modes = {"blocking", "asynchronous"};
  Mapping keys(node);
  CheckpointPlan plan;
  plan.where = node.where();
  plan.interval_s = read_interval(keys);
  if (plan.interval_s) plan.where = keys.require("interval_s").where();
  if (const std::optional<Node> mode = keys.find("mode")) plan.asynchronous = mode->as_choice(modes) == 1;
  plan.write_s = seconds(keys, "write_s");
  plan.read_s = seconds(keys, "read_s");
  plan.stall_s = seconds_or_zero(keys, "stall_s");
  if (plan.stall_s > 0 && !plan.asynchronous) {
    keys.find("stall_s")->fail("a blocking checkpoint holds the training up for all of its time",
                               "write mode: asynchronous, or leave stall_s out");
  }
  read_bandwidths(keys, plan);
  if (const std::optional<Node> memory = keys.find("in_memory")) operations.memory = read_in_memory(*memory);
  keys.finish();
  operations.storage = std::move(plan);
}

EvaluationPause read_evaluation(const Node& node) {
  Mapping keys(node);
  EvaluationPause pause;
  pause.every = keys.require("every_iterations").as_integer(1, kMaxIterations);
  pause.duration_s = keys.require("duration_s").as_number(0, kLongestOperation);
  keys.finish();
  return pause;
}

Maintenance read_maintenance(const Node& node) {
  Mapping keys(node);
  Maintenance maintenance;
  const Node every = keys.require("every_days");
  maintenance.every_s = every.as_number(1e-3, 1e5) * kSecondsPerDay;
  maintenance.duration_s = keys.require("duration_s").as_number(0, kLongestOperation);
  if (maintenance.duration_s >= maintenance.every_s) {
    every.fail("maintenance lasts as long as the time between two", "raise every_days, or lower duration_s");
  }
  keys.finish();
  return maintenance;
}

FailureCause read_preemption(const Node& node, const Cluster& cluster) {
  Mapping keys(node);
  FailureCause cause;
  cause.name = "preemption";
  cause.rate_per_s = keys.require("rate_per_node_day").as_number(0, 1e5) * cluster.nodes() / kSecondsPerDay;
  cause.nodes = 1;
  cause.notice_s = seconds_or_zero(keys, "notice_s");
  cause.repair_s = seconds_or_zero(keys, "return_s");
  cause.unpaid = true;
  cause.per = FailureUnit::node;
  cause.source = "the scenario";
  keys.finish();
  return cause;
}

std::vector<RampStep> read_ramp(const Node& list) {
  std::vector<RampStep> ramp;
  for (const Node& item : list.as_items()) {
    Mapping keys(item);
    ramp.push_back({keys.require("iterations").as_integer(1, kMaxIterations),
                    keys.require("global_batch").as_integer(1, kMaxBatch), item.where()});
    keys.finish();
  }
  return ramp;
}

LastIterations read_last(const Node& node) {
  static const std::vector<std::string> precisions = precision_recipe_names();
  Mapping keys(node);
  LastIterations last;
  last.share = keys.require("share").as_number(0, 1);
  last.precision = precisions[keys.require("precision").as_choice(precisions)];
  last.where = node.where();
  keys.finish();
  return last;
}

void read_length(Mapping& keys, Operations& operations) {
  operations.iterations = keys.integer_or("iterations", 0, 1, kMaxIterations);
  operations.gpu_hours = keys.number_or("gpu_hours", 0, 1e-6, 1e15);
  if (operations.iterations > 0 && operations.gpu_hours > 0) {
    keys.find("gpu_hours")->fail("iterations say how long the training is already", "leave one of them out");
  }
}

void read_spares(Mapping& keys, const Cluster& cluster, Operations& operations) {
  static const std::vector<std::string> choices = {"wait", "shrink"};
  operations.repair_s = seconds_or_zero(keys, "repair_s");
  operations.spares = static_cast<int>(keys.integer_or("spares", 0, 0, 1 << 20));
  if (operations.spares > 0 && operations.repair_s == 0) {
    keys.find("spares")->fail("without repair_s nodes are mended at once, and spares have nothing to do",
                              "write repair_s, the time until a failed node can be used again");
  }
  if (const std::optional<Node> without = keys.find("without_spares")) {
    operations.shrinks = without->as_choice(choices) == 1;
    if (operations.shrinks && cluster.nodes() == 1) without->fail("one node cannot become fewer", "write wait");
  }
}

void read_learners(Mapping& keys, Operations& operations) {
  operations.quorum = static_cast<int>(keys.integer_or("quorum", 1, 1, 1 << 16));
  operations.reconfiguration_s = seconds_or_zero(keys, "reconfiguration_s");
  for (const char* const key : {"reconfiguration_s", "quorum"}) {
    if (const std::optional<Node> found = keys.find(key)) operations.quorum_where = found->where();
  }
}

}  // namespace

Operations read_operations(const Node& section, const Cluster& cluster, const ScenarioSources& sources) {
  Mapping keys(section);
  Operations operations;
  operations.where = operations.failures_where = section.where();
  read_length(keys, operations);
  read_spares(keys, cluster, operations);
  read_learners(keys, operations);
  operations.detection_s = seconds_or_zero(keys, "detection_s");
  operations.restart_s = seconds_or_zero(keys, "restart_s");
  operations.nameplate_power_w = keys.number_or("nameplate_power_w", 0, 1, 1e5);
  if (const std::optional<Node> failures = keys.find("failures")) {
    operations.failures = read_failures(*failures, cluster, operations.repair_s, sources.folders.hardware);
    operations.failures_where = failures->where();
  }
  if (const std::optional<Node> preemption = keys.find("preemption")) {
    if (!operations.failures.log.empty()) preemption->fail("a log says all that fails", "write preemptions into it");
    operations.failures.causes.push_back(read_preemption(*preemption, cluster));
  }
  if (const std::optional<Node> ramp = keys.find("batch_ramp")) operations.ramp = read_ramp(*ramp);
  if (const std::optional<Node> last = keys.find("last_iterations")) operations.last = read_last(*last);
  if (const std::optional<Node> checkpoint = keys.find("checkpoint")) read_checkpoint(*checkpoint, operations);
  if (const std::optional<Node> pause = keys.find("evaluation")) operations.evaluation = read_evaluation(*pause);
  if (const std::optional<Node> plan = keys.find("maintenance")) operations.maintenance = read_maintenance(*plan);
  keys.finish();
  return operations;
}

Value independent_operations(const Node& section) {
  Value out = section.value();
  for (Value::Field& field : out.fields) {
    if (field.key == "failures") field.value = independent_failures(section.child(field.value, field.key));
  }
  return out;
}

}  // namespace mirfak
