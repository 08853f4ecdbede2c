#include "import/chosen_nodes.hpp"

#include "cluster/catalog.hpp"
#include "import/imported_job.hpp"

#include <utility>

namespace mirfak {

std::optional<Cluster> cluster_of_nodes(const std::string& text, const std::filesystem::path& profiles) {
  if (text.empty()) return std::nullopt;
  const NodeChoice chosen = node_choice(text);
  NodeAllotment nodes;
  nodes.hardware = Catalog(profiles).node(FileReference(chosen.type));
  nodes.count = static_cast<int>(chosen.count);
  return Cluster({std::move(nodes)}, default_fabric());
}

}  // namespace mirfak
