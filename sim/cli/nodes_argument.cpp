#include "cli/nodes_argument.hpp"

#include "base/text.hpp"
#include "cluster/catalog.hpp"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace mirfak {

std::optional<Cluster> cluster_of_nodes(const std::string& text, const std::filesystem::path& profiles) {
  if (text.empty()) return std::nullopt;
  const Location at{fmt::format("--nodes {}", excerpt(text)), 0, 0};
  const std::size_t colon = text.rfind(':');
  int count = 0;
  if (colon != std::string::npos) {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, count);
    if (error != std::errc() || stop != end) count = 0;
  }
  if (count < 1) fail_input(at, "expected a type of node and how many", "for example --nodes dgx-a100-80g:4");
  NodeAllotment nodes;
  nodes.hardware = Catalog(profiles).node(FileReference(text.substr(0, colon)));
  nodes.count = count;
  return Cluster({std::move(nodes)}, default_fabric());
}

}  // namespace mirfak
