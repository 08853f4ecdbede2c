#include "cluster/catalog.hpp"

#include "base/remembered.hpp"
#include "base/text.hpp"
#include "base/yaml.hpp"
#include "cluster/profile_overlay.hpp"
#include "cluster/profiles.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <set>
#include <utility>

namespace mirfak {

namespace {

constexpr std::string_view kEnding = ".yaml";
constexpr std::string_view kMedian = "median";  // price list over all providers
constexpr std::array<std::string_view, 4> kFolders = {"gpus", "links", "nodes", "prices"};
constexpr std::array<std::string_view, 4> kNouns = {"GPU", "link", "node type", "price list"};

bool same_letter(char a, char b) {
  const auto lower = [](char sign) { return std::tolower(static_cast<unsigned char>(sign)); };
  return lower(a) == lower(b);
}

// True for the same words but for capital letters.
bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_letter);
}

bool has_letters(std::string_view name, std::string_view part) {
  return std::search(name.begin(), name.end(), part.begin(), part.end(), same_letter) != name.end();
}

std::string_view folder_of(ProfileKind kind) { return kFolders[static_cast<std::size_t>(kind)]; }

// Throws Error(input) for the name of a machine or accelerator that mirfak says it does not simulate (refused.yaml).
void fail_if_refused(const std::filesystem::path& hardware, const FileReference& reference) {
  static Remembered<Document> files;
  const std::filesystem::path path = hardware / "refused.yaml";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return;
  const Document& document = files.get(path.string(), [&] { return Document::from_file(path); });
  Mapping root((Node(document)));
  for (const Node& item : root.require("refused").as_items()) {
    Mapping entry(item);
    const std::string reason = entry.require("reason").as_string();
    for (const Node& word : entry.require("words").as_items()) {
      if (has_letters(reference.name(), word.as_string())) reference.fail(reason, "choose nodes of other accelerators");
    }
    entry.finish();
  }
  root.finish();
}

// Returns a GPU as another one is like it: products are as fast as on that GPU, whose measured table is borrowed, so
// that predictions note it.
Document without_table(const Document& gpu, const Value& like) {
  Value root = gpu.root();
  if (root.find("gemm") == nullptr) return gpu;
  std::erase_if(root.fields, [](const Value::Field& field) { return field.key == "gemm"; });
  root.fields.push_back({"gemm_like", like});
  return gpu.with_root(std::move(root));
}

// Returns a node type as another one, `own`, is like it: `parts` and `gpu` with `gpus` say the same, so that one of
// them in `own` leaves out the other.
Document without_gpus(const Document& node, const Value& own) {
  const bool parts = own.find("parts") != nullptr;
  if (!parts && own.find("gpu") == nullptr && own.find("gpus") == nullptr) return node;
  Value root = node.root();
  std::erase_if(root.fields, [&](const Value::Field& field) {
    return parts ? field.key == "gpu" || field.key == "gpus" : field.key == "parts";
  });
  return node.with_root(std::move(root));
}

// Returns the text of a mapping of hardware, in which names of files have the same meaning in any folder.
std::string independent_text(const Node& stated) {
  static const std::set<std::string, std::less<>> references = {"like",      "gpu",     "scale_up",
                                                                "host_link", "network", "gemm_like"};
  const std::function<Value(const Node&)> independent = [&](const Node& mapping) {
    Value out = mapping.value();
    for (Value::Field& field : out.fields) {
      if (field.key == "parts") {
        const std::vector<Node> parts = mapping.child(field.value, field.key).as_items();
        for (std::size_t i = 0; i < parts.size(); ++i) field.value.items[i] = independent(parts[i]);
      }
      if (!references.contains(field.key)) continue;
      const Node reference = mapping.child(field.value, field.key);
      if (reference.is_mapping()) {
        field.value = independent(reference);
      } else if (reference.is_scalar()) {
        field.value.scalar = FileReference(reference).independent();
      }
    }
    return out;
  };
  return emit_flow_yaml(independent(stated));
}

}  // namespace

// Hardware data that a file holds, or a mapping within another document.
struct StatedProfile {
  Document document;
  std::string name;
  std::string path;  // within the document; empty: the whole file

  static StatedProfile of_file(const std::filesystem::path& path) {
    return {Document::from_file(path), path.stem().string(), {}};
  }
  static StatedProfile of_mapping(const Node& mapping, const std::vector<std::string>& known);

  // Returns the profile, completed by the one that it is like.
  ProfileFile completed(const Catalog& catalog, ProfileKind kind) const {
    const Value* like = document.root().find("like");
    if (like == nullptr) return {document, name, path};
    const Document other =
        Document::from_file(catalog.path_of(kind, Node(document, document.root(), path).child(*like, "like")));
    const bool own_table = document.root().find("gemm") != nullptr || document.root().find("gemm_like") != nullptr;
    const bool borrows = kind == ProfileKind::gpu && !own_table;
    const Document taken = kind == ProfileKind::node ? without_gpus(other, document.root())
                           : borrows                 ? without_table(other, *like)
                                                     : other;
    return {completed_profile(document, name, taken), name, path};
  }
};

// Reads a mapping of hardware, which is named by its key `name`, else after the hardware that it is like. `known`:
// names that it may not take, because prices and ranges belong to them.
StatedProfile StatedProfile::of_mapping(const Node& mapping, const std::vector<std::string>& known) {
  const Value* like = mapping.value().find("like");
  if (like == nullptr) {
    mapping.fail("expected the key `like`: the hardware that this one is like", "or write all keys in a file");
  }
  Value root = mapping.value();
  std::string name = std::filesystem::path(like->scalar).stem().string() + "-like";
  if (const Value* own = mapping.value().find("name")) {
    const Node stated = mapping.child(*own, "name");
    name = stated.as_string();
    if (name.empty()) stated.fail("expected a name, found nothing");
    if (std::find(known.begin(), known.end(), name) != known.end()) {
      stated.fail(fmt::format("'{}' is known, and this one differs from it", name), "choose another name");
    }
    std::erase_if(root.fields, [](const Value::Field& field) { return field.key == "name"; });
  }
  return {mapping.document().with_root(std::move(root)), std::move(name), mapping.path()};
}

struct Catalog::Memory {
  Remembered<GpuSpec> gpus;
  Remembered<LinkSpec> links;
  Remembered<std::vector<NodeHardware>> nodes;
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

std::filesystem::path Catalog::path_of(ProfileKind kind, const FileReference& reference) const {
  if (reference.is_path()) return reference.existing_path();
  // Names are compared with the names that exist, not looked up in the file system, which may distinguish capital
  // letters or not.
  const std::vector<std::string> known = names(kind);
  const std::filesystem::path folder = folder_ / folder_of(kind);
  const auto file = [&](const std::string& name) { return folder / (name + std::string(kEnding)); };
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const std::string& name) { return same_letters(name, reference.name()); });
  if (found != known.end()) return file(*found);
  if (kind == ProfileKind::node) {
    for (const std::string& name : known) {
      const Document profile = Document::from_file(file(name));
      const Value* instance = profile.root().find("instance");
      if (instance != nullptr && same_letters(instance->scalar, reference.name())) return file(name);
    }
  }
  if (kind == ProfileKind::node || kind == ProfileKind::gpu) fail_if_refused(folder_, reference);
  reference.fail_unknown(kNouns[static_cast<std::size_t>(kind)], known);
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
  const std::filesystem::path path = path_of(ProfileKind::gpu, reference);
  return memory_->gpus.get(path.string(), [&] { return read_gpu(StatedProfile::of_file(path)); });
}

GpuSpec Catalog::read_gpu(const StatedProfile& stated) const {
  ProfileFile file = stated.completed(*this, ProfileKind::gpu);
  return read_gpu_profile(file, [&](const Node& name) {
    // One step only: the other GPU must have a table of its own, so the names cannot form a circle.
    ProfileFile other(path_of(ProfileKind::gpu, name));
    return read_gpu_profile(other, [&](const Node&) -> GpuSpec {
      name.fail(fmt::format("{} has no measured table of its own", other.name()));
    });
  });
}

LinkSpec Catalog::link(const FileReference& reference) const {
  const std::filesystem::path path = path_of(ProfileKind::link, reference);
  return memory_->links.get(path.string(), [&] {
    ProfileFile file = StatedProfile::of_file(path).completed(*this, ProfileKind::link);
    return read_link_profile(file);
  });
}

LinkSpec Catalog::link(const FileReference& reference, LinkEnd to) const {
  LinkSpec found = link(reference);
  if (std::find(found.joins.begin(), found.joins.end(), to) != found.joins.end()) return found;
  reference.fail(fmt::format("'{}' joins a GPU to {}, not to {}", found.name, link_ends_text(found),
                             link_end_names()[static_cast<std::size_t>(to)]),
                 "`mirfak list links` shows what links join");
}

namespace {

// Joins kinds that follow each other and are one, and says which GPUs of the node are of each kind. A node whose GPUs
// are all of one kind is the same as if it were written without parts.
std::vector<NodeHardware> numbered(std::vector<NodeHardware> kinds, const std::vector<NodeKind>& stated) {
  std::vector<NodeHardware> out;
  int gpus = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    for (const NodeHardware& other : out) {
      if (other.gpu.name != kinds[i].gpu.name || other.gpu == kinds[i].gpu) continue;
      stated[i].gpu.fail(fmt::format("two different GPUs of the node have the name {}", other.gpu.name),
                         "give this one the key `name`");
    }
    kinds[i].spec.part = {gpus, stated[i].gpus};
    gpus += stated[i].gpus;
    const bool goes_on = !out.empty() && out.back().gpu == kinds[i].gpu && out.back().scale_up == kinds[i].scale_up &&
                         out.back().host_link == kinds[i].host_link;
    if (goes_on) {
      out.back().spec.part.gpus += stated[i].gpus;
    } else {
      out.push_back(std::move(kinds[i]));
    }
  }
  if (out.size() == 1) out.front().spec.part = {};
  return out;
}

}  // namespace

std::vector<NodeHardware> Catalog::read_kinds(ProfileFile& file) const {
  const NodeProfile profile = read_node_profile(file);
  std::vector<NodeHardware> kinds;
  for (const NodeKind& kind : profile.kinds) {
    GpuSpec device =
        kind.gpu.is_mapping() ? read_gpu(StatedProfile::of_mapping(kind.gpu, names(ProfileKind::gpu))) : gpu(kind.gpu);
    NodeHardware& out = kinds.emplace_back(NodeHardware{profile.spec,
                                                        std::move(device),
                                                        link(kind.scale_up, LinkEnd::gpus),
                                                        link(kind.host_link, LinkEnd::host),
                                                        link(profile.network, LinkEnd::nodes),
                                                        {}});
    out.spec.gpu = kind.gpu.is_mapping() ? out.gpu.name : kind.gpu.as_string();
    out.spec.scale_up = FileReference(kind.scale_up).independent();
    out.spec.host_link = FileReference(kind.host_link).independent();
  }
  return numbered(std::move(kinds), profile.kinds);
}

std::vector<NodeHardware> Catalog::read_node(const StatedProfile& stated) const {
  if (stated.document.root().find("correction") == nullptr) {
    ProfileFile whole = stated.completed(*this, ProfileKind::node);
    return read_kinds(whole);
  }
  ProfileFile file(stated.document, stated.name, stated.path);
  const std::optional<Node> like = file.root().find("like");
  if (!like) return read_kinds(file);
  // One step only, so that the names cannot form a circle.
  ProfileFile other(path_of(ProfileKind::node, *like));
  if (other.root().has("like")) like->fail(fmt::format("{} is like another node type itself", other.name()));
  std::vector<NodeHardware> out = read_kinds(other);
  NodeSpec changed = out.front().spec;
  changed.name = file.name();
  changed.title = file.title();
  read_host_factor(file, changed);
  changed.correction = read_correction(file);
  file.finish();
  for (NodeHardware& kind : out) {
    kind.spec.name = changed.name;
    kind.spec.title = changed.title;
    kind.spec.host_factor = changed.host_factor;
    kind.spec.correction = changed.correction;
  }
  return out;
}

NodeHardware Catalog::node(const FileReference& reference) const {
  std::vector<NodeHardware> kinds = node_kinds(reference);
  if (kinds.size() == 1) return std::move(kinds.front());
  reference.fail(fmt::format("a node of type {} holds several kinds of GPU, and nodes of one kind are expected here",
                             kinds.front().spec.name),
                 "choose a node type without `parts`");
}

std::vector<NodeHardware> Catalog::node_kinds(const FileReference& reference) const {
  const std::filesystem::path path = path_of(ProfileKind::node, reference);
  return memory_->nodes.get(path.string(), [&] { return read_node(StatedProfile::of_file(path)); });
}

std::vector<NodeHardware> Catalog::stated_node(const Node& stated) const {
  const std::string asked = stated.is_mapping() ? independent_text(stated) : FileReference(stated).independent();
  std::vector<NodeHardware> out =
      stated.is_mapping()
          ? memory_->nodes.get(asked,
                               [&] { return read_node(StatedProfile::of_mapping(stated, names(ProfileKind::node))); })
          : node_kinds(FileReference(stated));
  for (NodeHardware& kind : out) kind.spec.asked = asked;
  return out;
}

std::vector<PriceSpec> Catalog::prices(const FileReference& provider) const {
  const std::filesystem::path path = path_of(ProfileKind::price, provider);
  return memory_->prices.get(path.string(), [&] {
    ProfileFile file(path);
    return read_price_profile(file);
  });
}

namespace {

// Parts of "aws/spot".
struct PriceChoice {
  std::string list;
  std::string kind;
};

PriceChoice parts_of(const std::string& choice) {
  for (const std::string_view ending : {".yaml", ".yml", ".json"}) {
    if (choice.ends_with(ending)) return {choice, price_kind_names().front()};
  }
  const std::size_t slash = choice.rfind('/');
  if (slash == std::string::npos) return {std::string(kMedian), choice};
  return {choice.substr(0, slash), choice.substr(slash + 1)};
}

[[noreturn]] void fail_unknown_kind(const FileReference& choice, const std::string& kind,
                                    const std::vector<std::string>& lists) {
  const std::string message = fmt::format("unknown price '{}'", excerpt(choice.name()));
  if (std::find(lists.begin(), lists.end(), choice.name()) != lists.end()) {
    choice.fail(message, fmt::format("'{0}' is a list of prices: expected {0}/on-demand or {0}/spot", choice.name()));
  }
  choice.fail(message,
              did_you_mean(kind, price_kind_names(),
                           fmt::format("expected on-demand, spot, one of them after a list of prices ({}, or the path "
                                       "of one) and a slash, or USD per GPU hour such as 2.5",
                                       fmt::join(lists, ", "))));
}

[[noreturn]] void fail_unknown_list(const FileReference& list, const std::vector<std::string>& lists) {
  const std::string close = nearest(list.name(), lists);
  list.fail(fmt::format("unknown price list '{}'", excerpt(list.name())),
            fmt::format("{}there are {}, and paths of YAML files",
                        close.empty() ? "" : fmt::format("did you mean '{}'? ", close), fmt::join(lists, ", ")));
}

}  // namespace

std::optional<PriceSpec> Catalog::price(const FileReference& choice, std::string_view gpu,
                                        std::string_view instance) const {
  const PriceChoice asked = parts_of(choice.name());
  const FileReference list = choice.renamed(asked.list);
  const std::vector<std::string> lists = names(ProfileKind::price);
  if (!list.is_path() && !std::binary_search(lists.begin(), lists.end(), asked.list)) fail_unknown_list(list, lists);
  const std::vector<std::string>& kinds = price_kind_names();
  const auto kind = std::find(kinds.begin(), kinds.end(), asked.kind);
  if (kind == kinds.end()) fail_unknown_kind(choice, asked.kind, lists);

  const std::vector<PriceSpec> offers = prices(list);
  const auto is_same_instance = [&](const PriceSpec& price) {
    return price.gpu == gpu && !instance.empty() && price.instance == instance;
  };
  const bool knows_instance = std::any_of(offers.begin(), offers.end(), is_same_instance);
  for (const PriceSpec& price : offers) {
    if (price.gpu != gpu || price.kind != static_cast<PriceKind>(kind - kinds.begin())) continue;
    if (!knows_instance || is_same_instance(price)) return price;
  }
  return std::nullopt;
}

std::string Catalog::independent_price(const FileReference& choice) {
  const PriceChoice asked = parts_of(choice.name());
  if (asked.list == kMedian) return asked.kind;
  return choice.renamed(asked.list).independent() + "/" + asked.kind;
}

}  // namespace mirfak
