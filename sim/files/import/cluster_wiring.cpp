#include "import/cluster_choice.hpp"

#include <fmt/format.h>

namespace mirfak {

namespace {

GpuMatrix::Joined joined_by_links(const NodeSpec& node) {
  if (node.wiring == Wiring::host_bridge) return GpuMatrix::Joined::none;
  return node.wiring == Wiring::cube_mesh ? GpuMatrix::Joined::some : GpuMatrix::Joined::all;
}

std::string_view joined_text(GpuMatrix::Joined joined) {
  if (joined == GpuMatrix::Joined::none) return "no two GPUs";
  return joined == GpuMatrix::Joined::some ? "some GPUs" : "all GPUs";
}

}  // namespace

std::vector<ImportObstacle> wiring_differences(const GpuMatrix& matrix, const NodeSpec& node,
                                               const ClusterKnowledge& knowledge) {
  std::vector<ImportObstacle> out;
  const auto links = knowledge.nvlinks.find(node.scale_up);
  const bool wired = links != knowledge.nvlinks.end();
  const GpuMatrix::Joined expected = wired ? joined_by_links(node) : GpuMatrix::Joined::none;
  if (node.gpus != matrix.gpus)
    out.push_back({matrix.where, fmt::format("{} GPUs, where {} has {}", matrix.gpus, node.name, node.gpus)});
  if (expected != matrix.joined && (node.gpus > 1 || matrix.joined != GpuMatrix::Joined::none)) {
    out.push_back({matrix.where, fmt::format("NVLink joins {}, where it joins {} of {}", joined_text(matrix.joined),
                                             joined_text(expected), node.name)});
  } else if (wired && matrix.joined != GpuMatrix::Joined::none && links->second != matrix.links_of_pair &&
             links->second != matrix.links_of_gpu) {
    out.push_back({matrix.where, fmt::format("{} NVLinks of a GPU, where {} has {}", matrix.links_of_pair, node.name,
                                             links->second)});
  }
  return out;
}

std::optional<ImportObstacle> port_difference(const GpuMatrix& matrix, const NodeSpec& node) {
  if (matrix.ports == 0 || matrix.ports >= node.ports) return std::nullopt;
  return ImportObstacle{matrix.ports_where,
                        fmt::format("{} network ports, where {} has {}", matrix.ports, node.name, node.ports)};
}

}  // namespace mirfak
