#include "program/shard_report.hpp"

#include "base/markup.hpp"
#include "base/units.hpp"

#include <fmt/format.h>

namespace mirfak {

namespace {

// Returns the labels that a kernel divides: "ffn@tensor batch@data".
std::string divided_labels(const ShardedBlock& block, const BlockStep& step, const DeviceMesh& mesh) {
  std::string out;
  for (std::size_t i = 0; i < step.labels.size(); ++i) {
    if (step.labels[i].empty()) continue;
    out +=
        fmt::format("{}{}@{}", out.empty() ? "" : " ", block.block.graph.axes[i].name, mesh.names_of(step.labels[i]));
  }
  return out;
}

// Writes the steps of one phase of one block in a box of their own. Tensors from outside have no node: data that exist
// from the start need no arrow.
class PhaseWriter {
 public:
  PhaseWriter(std::string& out, const ShardedBlock& block, const DeviceMesh& mesh, std::string prefix)
      : out_(out), block_(block), mesh_(mesh), prefix_(std::move(prefix)) {}

  void write(const std::vector<BlockStep>& steps, std::string_view phase) {
    if (steps.empty()) return;
    out_ +=
        fmt::format("  subgraph \"cluster_{}\" {{\n    label=\"{}: {}\";\n", prefix_, dot_escaped(block_.name), phase);
    for (std::size_t i = 0; i < steps.size(); ++i) out_ += node(steps[i], i);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      for (const int before : steps[i].after) {
        out_ += fmt::format("    \"{}{}\" -> \"{}{}\";\n", prefix_, before, prefix_, i);
      }
    }
    out_ += "  }\n";
  }

 private:
  std::string node(const BlockStep& step, std::size_t place) const {
    const OperatorGraph& graph = block_.block.graph;
    if (step.kind == BlockStep::Kind::collective) {
      return fmt::format(
          "    \"{}{}\" [shape=ellipse, style=filled, class=\"collective\", fillcolor=\"#f4c98b\", label=\"{} over "
          "{}\\n{}, {}\"];\n",
          prefix_, place, name_of(step.collective), dot_escaped(mesh_.names_of(step.over)),
          dot_escaped(graph.tensor(step.tensor).name), format_bytes(step.bytes));
    }
    return fmt::format("    \"{}{}\" [label=\"{}\\n{}\"];\n", prefix_, place, dot_escaped(graph.op(step.op).name),
                       dot_escaped(divided_labels(block_, step, mesh_)));
  }

  std::string& out_;
  const ShardedBlock& block_;
  const DeviceMesh& mesh_;
  std::string prefix_;
};

}  // namespace

std::string shard_dot(const ShardedModel& model) {
  std::string out = "digraph sharded {\n  fontname=\"sans-serif\";\n  node [shape=box, fontname=\"sans-serif\"];\n";
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    const ShardedBlock& block = model.blocks[i];
    const auto writer = [&](const char* phase) {
      return PhaseWriter(out, block, model.mesh, fmt::format("{}_{}_", i, phase));
    };
    writer("forward").write(block.block.forward, "forward");
    writer("backward").write(block.block.backward, "backward");
    writer("gradients").write(block.update.reductions, "gradients");
    writer("update").write(block.update.gathers, "update");
  }
  return out + "}\n";
}

}  // namespace mirfak
