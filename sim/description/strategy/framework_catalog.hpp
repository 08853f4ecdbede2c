#pragma once

#include "base/file_reference.hpp"
#include "strategy/framework.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace mirfak {

// Frameworks of a folder such as hw_profiles/: files frameworks/*.yaml (schema: README.md there), and defaults.yaml,
// which names the framework of scenarios that state none. A catalog reads only the files asked for and the files that
// these inherit from, each once in the lifetime of the catalog and its copies; many threads can use it at once. All
// functions throw Error(input): for an unknown name with the nearest known name, and for every fault of a file at its
// file:line:column.
class FrameworkCatalog {
 public:
  explicit FrameworkCatalog(std::filesystem::path folder);

  // Reads the framework that a scenario states: a name, a path, or a mapping with the keys of a framework file. Returns
  // the text by which `framework` finds the framework again from anywhere: a name, an absolute path, or a line of YAML.
  std::string read_stated(const Node& stated) const;
  // Valid as long as the catalog or a copy of it lives.
  const Framework& framework(const FileReference& reference) const;
  std::string default_name() const;
  const std::vector<std::string>& names() const;  // sorted

 private:
  struct Memory;  // files read so far
  using Files = std::vector<std::filesystem::path>;

  std::filesystem::path file_of(const FileReference& reference) const;
  const Framework& read(const std::filesystem::path& file, const Files& heirs) const;
  const Framework& read_mapping(const Node& mapping, const std::string& line) const;

  std::filesystem::path folder_;
  std::shared_ptr<Memory> memory_;
};

}  // namespace mirfak
