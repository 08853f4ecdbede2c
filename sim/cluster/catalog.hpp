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

enum class ProfileKind { gpu, link, node, price };

// The hardware data of a folder such as hw_profiles/ (schema: its README.md), asked for by name or path. Reads only the
// files asked for, each once in the life of a catalog and its copies; usable from many threads. All throw Error(input):
// an unknown name with the nearest valid one, and every fault of a profile at its own file:line:column.
class Catalog {
 public:
  explicit Catalog(std::filesystem::path folder);  // must hold gpus/, links/, nodes/ and prices/

  GpuSpec gpu(const FileReference& reference) const;
  LinkSpec link(const FileReference& reference) const;
  LinkSpec link(const FileReference& reference, LinkEnd to) const;  // an error unless it goes there
  NodeHardware node(const FileReference& reference) const;

  // `choice` is "on-demand" or "spot" (the median over providers), one of them after a list and a slash ("aws/spot",
  // "./ours.yaml/spot"), or the path of a list, which means its on-demand prices. nullopt when nobody offers this GPU
  // so; an unknown list or kind is an error that names those there are. Where the list knows `instance`, only its
  // offers count, else all of the GPU; of several the one first listed.
  std::optional<PriceSpec> price(const FileReference& choice, std::string_view gpu,
                                 std::string_view instance = {}) const;
  // `choice` in a form that means the same in any file: "spot", "aws/spot", "/srv/ours.yaml/on-demand".
  static std::string independent_price(const FileReference& choice);
  std::vector<PriceSpec> prices(const FileReference& provider) const;  // all of one provider, in its order

  // The file of a profile, by name or path.
  std::filesystem::path path_of(ProfileKind kind, const FileReference& reference) const;
  std::vector<std::string> names(ProfileKind kind) const;  // sorted; of ProfileKind::price: the providers
  const std::filesystem::path& folder() const { return folder_; }

 private:
  struct Memory;  // what was read so far

  NodeHardware read_node(ProfileFile& file) const;

  std::filesystem::path folder_;
  std::shared_ptr<Memory> memory_;
};

}  // namespace mirfak
