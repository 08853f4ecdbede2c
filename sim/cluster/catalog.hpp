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

  // `choice` is "on-demand" or "spot" (the median over providers) or "<provider>/on-demand", "<provider>/spot".
  // nullopt when nobody offers this GPU so; an unknown provider or kind is an error. Of several instances the
  // one first listed.
  std::optional<PriceSpec> price(const FileReference& choice, std::string_view gpu) const;
  std::vector<PriceSpec> prices(const FileReference& provider) const;  // all of one provider, in its order

  std::vector<std::string> names(ProfileKind kind) const;  // sorted; of ProfileKind::price: the providers
  const std::filesystem::path& folder() const { return folder_; }

 private:
  struct Memory;  // what was read so far

  std::filesystem::path file_of(ProfileKind kind, const FileReference& reference) const;

  std::filesystem::path folder_;
  std::shared_ptr<Memory> memory_;
};

}  // namespace mirfak
