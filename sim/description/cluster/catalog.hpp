#pragma once

#include "base/file_reference.hpp"
#include "cluster/hardware.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

class ProfileFile;
struct StatedProfile;

enum class ProfileKind { gpu, link, node, price };

// Hardware data of a folder such as hw_profiles/ (schema: README.md there), asked for by name or path. A catalog reads
// only the files asked for, each once in the lifetime of the catalog and its copies; many threads can use it at once.
// All functions throw Error(input): for an unknown name with the nearest valid name, and for every fault of a profile
// at its file:line:column.
class Catalog {
 public:
  explicit Catalog(std::filesystem::path folder);  // the folder must hold gpus/, links/, nodes/ and prices/

  GpuSpec gpu(const FileReference& reference) const;
  LinkSpec link(const FileReference& reference) const;
  LinkSpec link(const FileReference& reference, LinkEnd to) const;  // Error unless the link joins a GPU to `to`
  // Returns a node type whose GPUs are of one kind; Error for one with several.
  NodeHardware node(const FileReference& reference) const;
  // Returns a node type with each kind of its GPUs, in their order.
  std::vector<NodeHardware> node_kinds(const FileReference& reference) const;
  // Returns the node type that a scenario states: a name, the path of a file, or a mapping with the keys of such a
  // file, `like` another type (hw_profiles/README.md), with each kind of its GPUs. Sets NodeSpec::asked.
  std::vector<NodeHardware> stated_node(const Node& stated) const;

  // Returns the price of a GPU. `choice` is "on-demand" or "spot" (the median over providers), a list, a slash and one
  // of these words ("aws/spot", "./ours.yaml/spot"), or the path of a list, which means its on-demand prices. nullopt
  // if nobody offers this GPU that way; an unknown list or kind is an error that names the known ones. If the list
  // knows `instance`, only offers of this instance count, otherwise all offers of the GPU; among several offers the
  // first one listed is taken.
  std::optional<PriceSpec> price(const FileReference& choice, std::string_view gpu,
                                 std::string_view instance = {}) const;
  // Returns `choice` in a form that has the same meaning in any file: "spot", "aws/spot", "/srv/ours.yaml/on-demand".
  static std::string independent_price(const FileReference& choice);
  std::vector<PriceSpec> prices(const FileReference& provider) const;  // all prices of one provider, in its order

  // Returns the file of a profile, by name or path.
  std::filesystem::path path_of(ProfileKind kind, const FileReference& reference) const;
  std::vector<std::string> names(ProfileKind kind) const;  // sorted; for ProfileKind::price: the providers
  const std::filesystem::path& folder() const { return folder_; }

 private:
  struct Memory;  // profiles read so far

  GpuSpec read_gpu(const StatedProfile& stated) const;
  std::vector<NodeHardware> read_node(const StatedProfile& stated) const;
  std::vector<NodeHardware> read_kinds(ProfileFile& file) const;

  std::filesystem::path folder_;
  std::shared_ptr<Memory> memory_;
};

}  // namespace mirfak
