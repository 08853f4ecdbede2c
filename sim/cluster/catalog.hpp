#pragma once

#include "base/document.hpp"
#include "cluster/hardware.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

enum class ProfileKind { gpu, link, node, price };

// Who asks for a profile: a name of the catalog, or a path to a file of the same schema (anything with a '/' or ending
// in .yaml, .yml or .json; relative to the file in which it is written). Errors stand at the place of the asking.
class ProfileReference {
 public:
  ProfileReference(const char* name) : name_(name) {}
  ProfileReference(std::string name) : name_(std::move(name)) {}
  ProfileReference(const Node& text) : name_(text.as_string()), node_(text) {}  // a string in the user's file

  const std::string& name() const { return name_; }
  bool is_path() const;
  std::filesystem::path path() const;                // is_path(): relative to the working directory, or absolute
  ProfileReference renamed(std::string name) const;  // another name, asked for at the same place
  [[noreturn]] void fail(std::string message, std::string hint = {}) const;  // Error(input)

 private:
  std::string name_;
  std::optional<Node> node_;
};

// The hardware data of a folder such as hw_profiles/ (schema: its README.md). Reads only the files asked for, each once
// in the life of a catalog and its copies; usable from many threads. All throw Error(input): an unknown name with the
// nearest valid one, and every fault of a profile at its own file:line:column.
class Catalog {
 public:
  explicit Catalog(std::filesystem::path folder);  // must hold gpus/, links/, nodes/ and prices/

  GpuSpec gpu(const ProfileReference& reference) const;
  LinkSpec link(const ProfileReference& reference) const;
  NodeHardware node(const ProfileReference& reference) const;

  // `choice` is "on-demand" or "spot" (the median over providers) or "<provider>/on-demand", "<provider>/spot".
  // nullopt when nobody offers this GPU so; an unknown provider or kind is an error. Of several instances the
  // one first listed.
  std::optional<PriceSpec> price(const ProfileReference& choice, std::string_view gpu) const;
  std::vector<PriceSpec> prices(const ProfileReference& provider) const;  // all of one provider, in its order

  std::vector<std::string> names(ProfileKind kind) const;  // sorted; of ProfileKind::price: the providers
  const std::filesystem::path& folder() const { return folder_; }

 private:
  struct Memory;  // what was read so far

  std::filesystem::path file_of(ProfileKind kind, const ProfileReference& reference) const;

  std::filesystem::path folder_;
  std::shared_ptr<Memory> memory_;
};

}  // namespace mirfak
