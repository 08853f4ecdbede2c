#include "program/shard_report.hpp"

#include "base/section.hpp"
#include "base/units.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

// Returns the lists of steps that have collectives, by phase. The steps of the entry are before a row of blocks, both
// ways.
std::array<std::pair<const char*, const std::vector<BlockStep>*>, 5> phases_of(const ShardedBlock& block) {
  return {{{"entry", &block.entry},
           {"forward", &block.block.forward},
           {"backward", &block.block.backward},
           {"gradients", &block.update.reductions},
           {"update", &block.update.gathers}}};
}

std::string_view shown_kind(CollectiveKind kind) {
  return kind == CollectiveKind::shift ? "collective-permute" : name_of(kind);
}

std::vector<std::int64_t> local_shape(const OperatorGraph& graph, TensorId tensor, const Sharding& sharding,
                                      const DeviceMesh& mesh) {
  std::vector<std::int64_t> out;
  const AxisLabels& axes = graph.tensor(tensor).axes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    out.push_back(part_of(graph.extent(axes[i]), mesh.size(sharding.axes[i])));
  }
  return out;
}

MeshAxisSet dividing(const Sharding& sharding) {
  MeshAxisSet out;
  for (const MeshAxisSet axes : sharding.axes) out.insert(axes);
  return out;
}

// Returns the share of a device's bytes that is padding.
double padding_of(const OperatorGraph& graph, TensorId tensor, const Sharding& sharding, const DeviceMesh& mesh) {
  const double all = local_bytes(graph, tensor, sharding, mesh) * static_cast<double>(mesh.size(dividing(sharding)));
  return all > 0 ? 1 - graph.bytes(tensor) / all : 0;
}

const char* role_of(const Tensor& tensor) {
  static constexpr std::array<const char*, 6> roles = {"input",    "parameter",      "activation",
                                                       "gradient", "parameter_copy", "parameter_gradient"};
  return roles[static_cast<std::size_t>(tensor.role)];
}

bool is_annotated(const ShardedBlock& block, TensorId tensor) {
  return std::any_of(block.annotations.begin(), block.annotations.end(),
                     [tensor](const Annotation& annotation) { return annotation.tensor == tensor; });
}

// Returns all tensors but those that only the operators of a fused kernel made and read: they do not exist any more.
std::vector<TensorId> existing_tensors(const OperatorGraph& graph) {
  std::vector<bool> exists(graph.tensors.size());
  for (const Operator& op : graph.operators) {
    for (const Operand& input : op.inputs) exists[static_cast<std::size_t>(input.tensor)] = true;
    for (const Operand& output : op.outputs) exists[static_cast<std::size_t>(output.tensor)] = true;
  }
  std::vector<TensorId> out;
  for (std::size_t id = 0; id < exists.size(); ++id) {
    if (exists[id]) out.push_back(static_cast<TensorId>(id));
  }
  return out;
}

std::string tensors_text(const ShardedBlock& block, const DeviceMesh& mesh) {
  Table table("tensor | lies | on a device | > |");
  const OperatorGraph& graph = block.block.graph;
  for (const TensorId tensor : existing_tensors(graph)) {
    const Sharding& sharding = block.block.shardings[static_cast<std::size_t>(tensor)];
    const double padding = padding_of(graph, tensor, sharding, mesh);
    std::string note = is_annotated(block, tensor) ? "annotated" : "";
    if (padding > 0) note += fmt::format("{}{} padding", note.empty() ? "" : ", ", format_percent(padding));
    table.add({graph.tensor(tensor).name, sharding_text(graph, tensor, sharding, mesh),
               fmt::format("{}", fmt::join(local_shape(graph, tensor, sharding, mesh), " x ")),
               format_bytes(local_bytes(graph, tensor, sharding, mesh)), note});
  }
  return table.text();
}

std::string collectives_text(const ShardedBlock& block, const DeviceMesh& mesh) {
  Table table("collective | | over | of | >bytes");
  bool any = false;
  for (const auto& [phase, steps] : phases_of(block)) {
    for (const BlockStep& step : *steps) {
      if (step.kind != BlockStep::Kind::collective) continue;
      any = true;
      table.add({phase, std::string(shown_kind(step.collective)), mesh.names_of(step.over),
                 block.block.graph.tensor(step.tensor).name, format_bytes(step.bytes)});
    }
  }
  return any ? table.text() : "  no collectives\n";
}

std::string block_sums(const ShardedBlock& block) {
  Table table("|>");
  table.add({"forward", format_flop(block.forward_flop)});
  table.add({"backward", format_flop(block.backward_flop)});
  if (block.padding_flop > 0) table.add({"of these padding", format_flop(block.padding_flop)});
  table.add({"parameters", format_bytes(block.block.parameter_bytes)});
  table.add({"gradients", format_bytes(block.update.gradient_bytes)});
  table.add({"elements that the optimizer steps on", format_count(block.update.state_elements)});
  table.add({"kept for backward", format_bytes(block.memory.kept)});
  table.add(
      {"most in forward, backward", format_bytes(block.memory.forward) + ", " + format_bytes(block.memory.backward)});
  if (block.time) {
    table.add({"kernels", format_seconds(block.time->kernels_s)});
    table.add({"collectives", format_seconds(block.time->collectives_s)});
  }
  return table.text();
}

Json mesh_names(const DeviceMesh& mesh, MeshAxisSet axes) {
  Json out = Json::array();
  for (const MeshAxis axis : axes) out.push_back(mesh.name_of(axis));
  return out;
}

Json tensor_json(const ShardedBlock& block, TensorId tensor, const DeviceMesh& mesh) {
  const OperatorGraph& graph = block.block.graph;
  const Sharding& sharding = block.block.shardings[static_cast<std::size_t>(tensor)];
  Json axes = Json::array();
  for (std::size_t i = 0; i < sharding.axes.size(); ++i) {
    axes.push_back({{"axis", graph.info(graph.tensor(tensor).axes[i]).name},
                    {"size", graph.extent(graph.tensor(tensor).axes[i])},
                    {"mesh_axes", mesh_names(mesh, sharding.axes[i])}});
  }
  Json out;
  out["block"] = block.name;
  out["name"] = graph.tensor(tensor).name;
  out["role"] = role_of(graph.tensor(tensor));
  out["annotated"] = is_annotated(block, tensor);
  out["sharding"] = sharding_text(graph, tensor, sharding, mesh);
  out["axes"] = axes;
  out["shape"] = local_shape(graph, tensor, sharding, mesh);
  out["bytes"] = local_bytes(graph, tensor, sharding, mesh);
  out["padding"] = padding_of(graph, tensor, sharding, mesh);
  return out;
}

Json block_json(const ShardedBlock& block) {
  Json out;
  out["name"] = block.name;
  out["count"] = block.count;
  out["forward_flop"] = block.forward_flop;
  out["backward_flop"] = block.backward_flop;
  out["padding_flop"] = block.padding_flop;
  out["parameter_bytes"] = block.block.parameter_bytes;
  out["gradient_bytes"] = block.update.gradient_bytes;
  out["state_elements"] = block.update.state_elements;
  out["kept_bytes"] = block.memory.kept;
  out["forward_peak_bytes"] = block.memory.forward;
  out["backward_peak_bytes"] = block.memory.backward;
  out["kernels_s"] = block.time ? Json(block.time->kernels_s) : Json();
  out["collectives_s"] = block.time ? Json(block.time->collectives_s) : Json();
  out["entry_s"] = block.time ? Json(block.time->entry_s) : Json();
  return out;
}

}  // namespace

std::string shard_text(const ShardedModel& model, std::string_view heading) {
  std::string out = fmt::format("{}\n", heading);
  for (const ShardedBlock& block : model.blocks) {
    out += fmt::format("\n{}{}\n{}\n{}\n{}", block.name, block.count > 1 ? fmt::format(" x {}", block.count) : "",
                       tensors_text(block, model.mesh), collectives_text(block, model.mesh), block_sums(block));
  }
  Table sums("|>");
  sums.add({"FLOP", format_flop(model.flop())});
  if (model.padding_flop() > 0) sums.add({"of these padding", format_percent(model.padding_flop() / model.flop())});
  sums.add({"parameters", format_bytes(model.parameter_bytes())});
  sums.add({"gradients", format_bytes(model.gradient_bytes())});
  sums.add({"elements that the optimizer steps on", format_count(model.state_elements())});
  sums.add({"peak memory, without the optimizer's state", format_bytes(model.memory_bytes())});
  if (const auto time = model.time_s()) sums.add({"time, one step after the other", format_seconds(*time)});
  return out + "\nAll blocks, on one device\n" + sums.text();
}

nlohmann::ordered_json shard_json(const ShardedModel& model, std::string_view name, std::int64_t batch,
                                  std::int64_t sequence) {
  Json out;
  out["model"] = name;
  out["mesh"] = Json::object();
  for (const MeshAxis axis : model.mesh.axes())
    out["mesh"][std::string(model.mesh.name_of(axis))] = model.mesh.size(axis);
  out["devices"] = model.mesh.devices();
  out["batch"] = batch;
  out["sequence"] = sequence;
  out["flop"] = model.flop();
  out["padding_flop"] = model.padding_flop();
  out["parameter_bytes"] = model.parameter_bytes();
  out["gradient_bytes"] = model.gradient_bytes();
  out["state_elements"] = model.state_elements();
  out["memory_bytes"] = model.memory_bytes();
  const std::optional<double> time = model.time_s();
  out["time_s"] = time ? Json(*time) : Json();
  out["blocks"] = Json::array();
  out["tensors"] = Json::array();
  out["collectives"] = Json::array();
  for (const ShardedBlock& block : model.blocks) {
    out["blocks"].push_back(block_json(block));
    for (const TensorId tensor : existing_tensors(block.block.graph)) {
      out["tensors"].push_back(tensor_json(block, tensor, model.mesh));
    }
    for (const auto& [phase, steps] : phases_of(block)) {
      for (const BlockStep& step : *steps) {
        if (step.kind != BlockStep::Kind::collective) continue;
        out["collectives"].push_back({{"block", block.name},
                                      {"phase", phase},
                                      {"tensor", block.block.graph.tensor(step.tensor).name},
                                      {"kind", shown_kind(step.collective)},
                                      {"mesh_axes", mesh_names(model.mesh, step.over)},
                                      {"bytes", step.bytes}});
      }
    }
  }
  return out;
}

}  // namespace mirfak
