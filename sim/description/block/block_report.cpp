#include "block/block_report.hpp"

#include "base/section.hpp"
#include "base/units.hpp"
#include "block/measures.hpp"
#include "graph/backward.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

std::string axis_names(const OperatorGraph& graph, const AxisLabels& labels) {
  std::string out;
  for (const Axis label : labels) out += (out.empty() ? "" : " ") + graph.info(label).name;
  return "[" + out + "]";
}

Json name_list(const OperatorGraph& graph, const AxisLabels& labels) {
  Json out = Json::array();
  for (const Axis label : labels) out.push_back(graph.info(label).name);
  return out;
}

std::string kind_of(const Operator& op) { return op.function.empty() ? std::string(name_of(op.kind)) : op.function; }

std::string operands(const OperatorGraph& graph, const std::vector<Operand>& list, bool labels) {
  std::string out;
  for (const Operand& operand : list) {
    out += (out.empty() ? "" : " ") + graph.tensor(operand.tensor).name;
    if (labels) out += axis_names(graph, operand.labels);
  }
  return out;
}

bool is_kept(const std::vector<TensorId>& kept, std::size_t id) {
  return std::find(kept.begin(), kept.end(), static_cast<TensorId>(id)) != kept.end();
}

double bytes_of(const OperatorGraph& graph, const std::vector<TensorId>& tensors) {
  double out = 0;
  for (const TensorId id : tensors) out += graph.bytes(id);
  return out;
}

Table axes_table(const OperatorGraph& graph) {
  Table table("axis:name | >size:size | divided by:divided_by", 0);
  for (const AxisInfo& axis : graph.axes) {
    const std::string divided_by(name_of(axis.divided_by));
    table.add({axis.name, axis.extent, Cell(axis.divided_by == Parallelism::none ? "" : divided_by, divided_by)});
  }
  return table;
}

std::string tensors_text(const OperatorGraph& graph, const std::vector<TensorId>& kept) {
  Table table("tensor | axes | | >bytes |", 0);
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& tensor = graph.tensors[id];
    const bool forward = tensor.role == TensorRole::input || tensor.role == TensorRole::parameter ||
                         tensor.role == TensorRole::activation;
    if (!forward) continue;
    const char* role = tensor.role == TensorRole::input ? "input" : tensor.role == TensorRole::parameter ? "param" : "";
    const char* note = tensor.tied ? "tied" : tensor.frozen ? "frozen" : is_kept(kept, id) ? "kept" : "";
    table.add({tensor.name, axis_names(graph, tensor.axes), role, format_bytes(graph.bytes(static_cast<TensorId>(id))),
               note});
  }
  return table.text();
}

std::string operators_text(const OperatorGraph& graph, bool forward) {
  Table table(fmt::format("{} | | reads | >FLOP", forward ? "forward" : "backward"), 0);
  for (const Operator& op : graph.operators) {
    if ((op.phase == Phase::forward) != forward) continue;
    const double flop = block::flop(graph, op);
    table.add({op.name, kind_of(op), operands(graph, op.inputs, forward), flop > 0 ? format_flop(flop) : ""});
  }
  return table.text();
}

Json tensor_json(const OperatorGraph& graph, std::size_t id, const std::vector<TensorId>& kept) {
  static constexpr std::array<const char*, 6> roles = {"input",    "parameter",      "activation",
                                                       "gradient", "parameter_copy", "parameter_gradient"};
  const Tensor& tensor = graph.tensors[id];
  Json out;
  out["name"] = tensor.name;
  out["role"] = roles[static_cast<std::size_t>(tensor.role)];
  out["axes"] = name_list(graph, tensor.axes);
  out["bytes"] = graph.bytes(static_cast<TensorId>(id));
  out["kept"] = is_kept(kept, id);
  if (tensor.role == TensorRole::parameter) {
    out["frozen"] = tensor.frozen;
    out["tied"] = tensor.tied;
  }
  return out;
}

Json operator_json(const OperatorGraph& graph, const Operator& op) {
  Json out;
  out["name"] = op.name;
  out["kind"] = name_of(op.kind);
  out["function"] = op.function;
  out["phase"] = op.phase == Phase::forward           ? "forward"
                 : op.phase == Phase::weight_gradient ? "weight_gradient"
                                                      : "activation_gradient";
  for (const auto& [key, list] : {std::pair("inputs", &op.inputs), std::pair("outputs", &op.outputs)}) {
    out[key] = Json::array();
    for (const Operand& operand : *list) {
      out[key].push_back({{"tensor", graph.tensor(operand.tensor).name}, {"labels", name_list(graph, operand.labels)}});
    }
  }
  out["flop"] = block::flop(graph, op);
  return out;
}

}  // namespace

std::string block_text(const block::Definition& definition, const OperatorGraph& graph) {
  const std::vector<TensorId> kept = plan_activations(graph, {}).kept;
  std::string out = fmt::format("block {}: {}\n\n", definition.block->name, definition.file->description());
  out += axes_table(graph).text() + "\n" + tensors_text(graph, kept) + "\n" + operators_text(graph, true) + "\n" +
         operators_text(graph, false) + "\n";
  Table sums("|>", 0);
  const double all = block::parameters(graph);
  const double active = block::active_parameters(graph);
  sums.add({"parameters", fmt::format("{:.0f}", all)});
  if (active < all) sums.add({"active parameters", fmt::format("{:.0f}", active)});
  sums.add({"forward", format_flop(block::forward_flop(graph))});
  sums.add({"forward and backward", format_flop(block::model_flop(graph))});
  sums.add({"kept for backward", format_bytes(bytes_of(graph, kept))});
  return out + sums.text();
}

nlohmann::ordered_json block_json(const block::Definition& definition, const OperatorGraph& graph) {
  const std::vector<TensorId> kept = plan_activations(graph, {}).kept;
  Json out;
  out["block"] = definition.block->name;
  out["description"] = definition.file->description();
  out["parameters"] = block::parameters(graph);
  out["active_parameters"] = block::active_parameters(graph);
  out["forward_flop"] = block::forward_flop(graph);
  out["model_flop"] = block::model_flop(graph);
  out["kept_bytes"] = bytes_of(graph, kept);
  out["axes"] = axes_table(graph).json();
  out["tensors"] = Json::array();
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) out["tensors"].push_back(tensor_json(graph, id, kept));
  out["operators"] = Json::array();
  for (const Operator& op : graph.operators) out["operators"].push_back(operator_json(graph, op));
  return out;
}

}  // namespace mirfak
