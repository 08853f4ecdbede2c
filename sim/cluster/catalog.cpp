#include "cluster/catalog.hpp"

#include "base/text.hpp"
#include "cluster/profiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>

namespace mirfak {

namespace {

constexpr std::string_view kEnding = ".yaml";
constexpr std::string_view kMedian = "median";  // the price list over all providers
constexpr std::array<std::string_view, 4> kFolders = {"gpus", "links", "nodes", "prices"};
constexpr std::array<std::string_view, 4> kNouns = {"GPU", "link", "node type", "price list"};

std::string_view folder_of(ProfileKind kind) { return kFolders[static_cast<std::size_t>(kind)]; }

// What follows a name that is not there: the nearest one, or all of them when none is near.
std::string suggestion(std::string_view name, const std::vector<std::string>& known) {
  const std::string close = nearest(name, known);
  if (!close.empty()) return fmt::format("did you mean '{}'?", close);
  return "expected " + join_or(known) + ", or the path of a YAML file";
}

// What was made of each file, or other name. What fails is not remembered.
template <typename T>
class Remembered {
 public:
  template <typename Make>
  T get(const std::string& name, const Make& make) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = known_.find(name); known != known_.end()) return known->second;
    }
    T made = make();
    const std::lock_guard lock(mutex_);
    return known_.try_emplace(name, std::move(made)).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, T> known_;
};

}  // namespace

struct Catalog::Memory {
  Remembered<GpuSpec> gpus;
  Remembered<LinkSpec> links;
  Remembered<NodeHardware> nodes;
  Remembered<std::vector<PriceSpec>> prices;
  Remembered<std::vector<std::string>> names;
};

bool ProfileReference::is_path() const {
  const std::string_view name = name_;
  return name.find('/') != name.npos || name.ends_with(kEnding) || name.ends_with(".yml") || name.ends_with(".json");
}

std::filesystem::path ProfileReference::path() const {
  if (!node_) return name_;
  // An override has no file of its own: its paths are relative to the working directory.
  const std::filesystem::path file = node_->where().file;
  std::error_code ignored;
  return std::filesystem::is_regular_file(file, ignored) ? file.parent_path() / name_ : std::filesystem::path(name_);
}

ProfileReference ProfileReference::renamed(std::string name) const {
  ProfileReference other = *this;
  other.name_ = std::move(name);
  return other;
}

void ProfileReference::fail(std::string message, std::string hint) const {
  if (node_) node_->fail(std::move(message), std::move(hint));
  fail_input({}, std::move(message), std::move(hint));
}

Catalog::Catalog(std::filesystem::path folder) : folder_(std::move(folder)), memory_(std::make_shared<Memory>()) {
  for (const std::string_view part : kFolders) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(folder_ / part, ignored)) {
      fail_input({folder_.string(), 0, 0}, fmt::format("expected a folder of hardware data with {}/ in it", part));
    }
  }
}

std::filesystem::path Catalog::file_of(ProfileKind kind, const ProfileReference& reference) const {
  std::error_code ignored;
  if (reference.is_path()) {
    std::filesystem::path path = reference.path();
    if (!std::filesystem::is_regular_file(path, ignored)) {
      reference.fail(fmt::format("there is no file '{}'", excerpt(path.string())));
    }
    return path;
  }
  // Compared with the names that exist, not asked of the file system: "A100-80G" must not find "a100-80g" on one
  // machine only.
  const std::vector<std::string> known = names(kind);
  if (!std::binary_search(known.begin(), known.end(), reference.name())) {
    reference.fail(fmt::format("unknown {} '{}'", kNouns[static_cast<std::size_t>(kind)], excerpt(reference.name())),
                   suggestion(reference.name(), known));
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

GpuSpec Catalog::gpu(const ProfileReference& reference) const {
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

LinkSpec Catalog::link(const ProfileReference& reference) const {
  const std::filesystem::path path = file_of(ProfileKind::link, reference);
  return memory_->links.get(path.string(), [&] {
    ProfileFile file(path);
    return read_link_profile(file);
  });
}

NodeHardware Catalog::node(const ProfileReference& reference) const {
  const std::filesystem::path path = file_of(ProfileKind::node, reference);
  return memory_->nodes.get(path.string(), [&] {
    ProfileFile file(path);
    const NodeProfile profile = read_node_profile(file);
    return NodeHardware{profile.spec, gpu(profile.gpu), link(profile.scale_up), link(profile.host_link),
                        link(profile.network)};
  });
}

std::vector<PriceSpec> Catalog::prices(const ProfileReference& provider) const {
  const std::filesystem::path path = file_of(ProfileKind::price, provider);
  return memory_->prices.get(path.string(), [&] {
    ProfileFile file(path);
    return read_price_profile(file);
  });
}

std::optional<PriceSpec> Catalog::price(const ProfileReference& choice, std::string_view gpu) const {
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
