#include "validation/run_scenario.hpp"

#include "base/key_path.hpp"
#include "validation/run_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace mirfak {

namespace {

Value scalar(std::string text, const Location& where) {
  Value out;
  out.kind = Value::Kind::scalar;
  out.scalar = std::move(text);
  out.where = out.key_where = where;
  return out;
}

Value mapping(const Location& where) {
  Value out;
  out.kind = Value::Kind::mapping;
  out.where = out.key_where = where;
  return out;
}

void copy(const RunReading& reading, std::string_view key, std::string_view name, Value& node) {
  if (const Value* value = reading.find(key)) node.fields.push_back({std::string(name), *value});
}

// Returns the whole nodes, and one partly used node. Links between nodes do not matter for a job on one node.
Value nodes_of(const RunReading& reading) {
  const Location& where = reading.where();
  const std::int64_t gpus = reading.whole_number("gpus").value_or(0);
  const std::int64_t of_node = reading.whole_number("gpus_per_node").value_or(0);
  if (gpus < 1 || of_node < 1) fail_infeasible(where, "the row does not state the GPUs of the job and of a node");
  const std::int64_t per_node = std::min(of_node, gpus);
  Value nodes;
  nodes.kind = Value::Kind::sequence;
  nodes.where = where;
  const auto add = [&](std::int64_t count, std::int64_t used) {
    Value node = mapping(where);
    copy(reading, "node", "type", node);
    node.fields.push_back({"count", scalar(std::to_string(count), where)});
    node.fields.push_back({"gpus", scalar(std::to_string(used), where)});
    if (gpus > per_node) {
      copy(reading, "network", "network", node);
      copy(reading, "ports", "ports", node);
    }
    nodes.items.push_back(std::move(node));
  };
  add(gpus / per_node, per_node);
  if (gpus % per_node != 0) add(1, gpus % per_node);
  return nodes;
}

Value layers_of_chunks(const std::vector<int>& split, const Location& where) {
  Value out;
  out.kind = Value::Kind::sequence;
  out.where = where;
  for (const int layers : split) out.items.push_back(scalar(std::to_string(layers), where));
  return out;
}

}  // namespace

namespace {

// Returns the scenario that a row names, with the row's keys in place of the scenario's.
Document stated_scenario(const RunReading& reading, const Value& name) {
  const std::filesystem::path beside = std::filesystem::path(reading.where().file).parent_path();
  const std::filesystem::path file = (beside / name.scalar).lexically_normal();
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(file, unknown)) {
    fail_input(name.where, fmt::format("there is no scenario '{}'", file.string()),
               "paths of scenarios are relative to the table");
  }
  Document scenario = Document::from_file(file);
  Value root = scenario.root();
  const Value* model = root.find("model");
  const bool model_by_name = model == nullptr || model->kind != Value::Kind::mapping;
  for (const RunReading::Key& key : reading.keys()) {
    if (key.name == "scenario" || key.name == "tier" || key.name.starts_with("measured.") || !key.stated) continue;
    if (key.name == "model.name" || key.name == "model.source") continue;  // the name for people
    if (key.name == "model.max_sequence" && model_by_name) continue;       // the model itself states it
    if (key.name.find('.') == std::string::npos) {
      fail_infeasible(key.value.where, fmt::format("'{}' means nothing together with a scenario", key.name),
                      "name keys of the scenario, such as cluster.nodes[0].count");
    }
    KeyPath(key.name, key.value.where).assign(root, key.value, key.value.where);
  }
  return scenario.with_root(std::move(root));
}

}  // namespace

Document scenario_of(const RunReading& reading, const ModelLibrary& models) {
  if (const Value* name = reading.find("scenario")) return stated_scenario(reading, *name);
  const Location& where = reading.where();
  Value root = mapping(where);
  const auto put = [&](std::string_view key, Value value) {
    const Location place = value.where.known() ? value.where : where;
    KeyPath(key, place).assign(root, std::move(value), place);
  };
  put("model", models.model_of(reading));
  put("cluster.nodes", nodes_of(reading));
  if (reading.data() == 0) fail_infeasible(where, "the GPUs are not a multiple of tp x pp x cp");
  for (const std::string_view section : {"cluster.", "training.", "strategy."}) {
    for (const RunReading::Key& key : reading.keys()) {
      if (key.name.starts_with(section)) put(key.name, key.value);
    }
  }
  if (reading.find("strategy.data") == nullptr) put("strategy.data", scalar(std::to_string(reading.data()), where));
  const std::vector<int> split = layer_split_of(reading);
  if (!split.empty() && reading.find("strategy.layer_split") == nullptr) {
    put("strategy.layer_split", layers_of_chunks(split, where));
  }
  return Document::from_text("", fmt::format("scenario of {}", where.text())).with_root(std::move(root));
}

}  // namespace mirfak
