#include "import/chosen_nodes.hpp"

#include "base/yaml.hpp"
#include "cluster/catalog.hpp"
#include "import/imported_job.hpp"

#include <fmt/format.h>

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

std::string cluster_section(std::span<const std::string> nodes) {
  std::string out = "cluster:\n  nodes:\n";
  for (const std::string& text : nodes) {
    const NodeChoice choice = node_choice(text);
    out += fmt::format("    - {{type: {}, count: {}}}\n", quoted_yaml(choice.type), choice.count);
  }
  return out;
}

std::string capture_scenario(const std::string& capture, std::span<const std::string> nodes) {
  if (nodes.empty()) {
    fail_input({capture, 0, 0}, "a capture does not say on what it runs",
               "give --nodes TYPE:COUNT, such as --nodes hgx-h100:8, or name it in a scenario with a cluster");
  }
  return fmt::format("capture: {}\n{}", quoted_yaml(capture), cluster_section(nodes));
}

}  // namespace mirfak
