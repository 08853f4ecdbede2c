#include "cluster/catalog.hpp"

#include "base/remembered.hpp"
#include "base/text.hpp"
#include "cluster/profiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace mirfak {

namespace {

constexpr std::string_view kEnding = ".yaml";
constexpr std::string_view kMedian = "median";  // the price list over all providers
constexpr std::array<std::string_view, 4> kFolders = {"gpus", "links", "nodes", "prices"};
constexpr std::array<std::string_view, 4> kNouns = {"GPU", "link", "node type", "price list"};

std::string_view folder_of(ProfileKind kind) { return kFolders[static_cast<std::size_t>(kind)]; }

}  // namespace

struct Catalog::Memory {
  Remembered<GpuSpec> gpus;
  Remembered<LinkSpec> links;
  Remembered<NodeHardware> nodes;
  Remembered<std::vector<PriceSpec>> prices;
  Remembered<std::vector<std::string>> names;
};

Catalog::Catalog(std::filesystem::path folder) : folder_(std::move(folder)), memory_(std::make_shared<Memory>()) {
  for (const std::string_view part : kFolders) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(folder_ / part, ignored)) {
      fail_input({folder_.string(), 0, 0}, fmt::format("expected a folder of hardware data with {}/ in it", part));
    }
  }
}

std::filesystem::path Catalog::file_of(ProfileKind kind, const FileReference& reference) const {
  if (reference.is_path()) return reference.existing_path();
  // Compared with the names that exist, not asked of the file system: "A100-80G" must not find "a100-80g" on one
  // machine only.
  const std::vector<std::string> known = names(kind);
  if (!std::binary_search(known.begin(), known.end(), reference.name())) {
    reference.fail_unknown(kNouns[static_cast<std::size_t>(kind)], known);
  }
  return folder_ / folder_of(kind) / (reference.name() + std::string(kEnding));
}

std::vector<std::string> Catalog::names(ProfileKind kind) const {
  return memory_->names.get(std::string(folder_of(kind)), [&] {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / folder_of(kind))) {
      if (entry.path().extension() == kEnding) names.push_back(entry.path().stem().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  });
}

GpuSpec Catalog::gpu(const FileReference& reference) const {
  const std::filesystem::path path = file_of(ProfileKind::gpu, reference);
  return memory_->gpus.get(path.string(), [&] {
    ProfileFile file(path);
    return read_gpu_profile(file, [&](const Node& name) {
      // One step only: the other GPU must have a table of its own, so a circle of names cannot close.
      ProfileFile other(file_of(ProfileKind::gpu, name));
      return read_gpu_profile(other, [&](const Node&) -> GpuSpec {
        name.fail(fmt::format("{} has no measured table of its own", other.name()));
      });
    });
  });
}

LinkSpec Catalog::link(const FileReference& reference) const {
  const std::filesystem::path path = file_of(ProfileKind::link, reference);
  return memory_->links.get(path.string(), [&] {
    ProfileFile file(path);
    return read_link_profile(file);
  });
}

LinkSpec Catalog::link(const FileReference& reference, LinkEnd to) const {
  LinkSpec found = link(reference);
  if (std::find(found.joins.begin(), found.joins.end(), to) != found.joins.end()) return found;
  std::vector<std::string> ends;
  for (const LinkEnd end : found.joins) ends.push_back(link_end_names()[static_cast<std::size_t>(end)]);
  reference.fail(fmt::format("'{}' joins a GPU to {}, not to {}", found.name, fmt::join(ends, " and "),
                             link_end_names()[static_cast<std::size_t>(to)]),
                 "`mirfak list links` shows what links join");
}

NodeHardware Catalog::node(const FileReference& reference) const {
  const std::filesystem::path path = file_of(ProfileKind::node, reference);
  return memory_->nodes.get(path.string(), [&] {
    ProfileFile file(path);
    const NodeProfile profile = read_node_profile(file);
    return NodeHardware{profile.spec, gpu(profile.gpu), link(profile.scale_up, LinkEnd::gpus),
                        link(profile.host_link, LinkEnd::host), link(profile.network, LinkEnd::nodes)};
  });
}

std::vector<PriceSpec> Catalog::prices(const FileReference& provider) const {
  const std::filesystem::path path = file_of(ProfileKind::price, provider);
  return memory_->prices.get(path.string(), [&] {
    ProfileFile file(path);
    return read_price_profile(file);
  });
}

std::optional<PriceSpec> Catalog::price(const FileReference& choice, std::string_view gpu) const {
  const std::string& text = choice.name();
  const std::size_t slash = text.rfind('/');
  const std::string provider = slash == std::string::npos ? std::string(kMedian) : text.substr(0, slash);
  const std::string kind = slash == std::string::npos ? text : text.substr(slash + 1);

  const std::vector<std::string>& kinds = price_kind_names();
  const auto found = std::find(kinds.begin(), kinds.end(), kind);
  if (found == kinds.end()) {
    const std::string close = nearest(kind, kinds);
    choice.fail(fmt::format("unknown price '{}'", excerpt(text)),
                close.empty() ? "expected on-demand, spot or one of them after a provider: aws/spot"
                              : fmt::format("did you mean '{}'?", close));
  }
  for (const PriceSpec& price : prices(choice.renamed(provider))) {
    if (price.gpu == gpu && price.kind == static_cast<PriceKind>(found - kinds.begin())) return price;
  }
  return std::nullopt;
}

}  // namespace mirfak
