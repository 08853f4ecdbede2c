#pragma once

#include "base/file_reference.hpp"
#include "strategy/framework.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace mirfak {

// The frameworks of a folder such as hw_profiles/: frameworks/*.yaml (schema: its README.md), and in defaults.yaml the
// one that a scenario has that names none. Reads only the files asked for and those they inherit from, each once in the
// life of a catalog and its copies; usable from many threads. All throw Error(input): an unknown name with the nearest
// one, and every fault of a file at its own file:line:column.
class FrameworkCatalog {
 public:
  explicit FrameworkCatalog(std::filesystem::path folder);

  // What a scenario states: a name, a path, or a mapping of a framework file's keys. Reads it, and returns the text by
  // which `framework` finds it again wherever that is asked: a name, an absolute path, or a line of YAML.
  std::string read_stated(const Node& stated) const;
  const Framework& framework(const FileReference& reference) const;  // valid as long as the catalog or a copy of it
  std::string default_name() const;
  const std::vector<std::string>& names() const;  // sorted

 private:
  struct Memory;  // what was read so far
  using Files = std::vector<std::filesystem::path>;

  std::filesystem::path file_of(const FileReference& reference) const;
  const Framework& read(const std::filesystem::path& file, const Files& heirs) const;
  const Framework& read_mapping(const Node& mapping, const std::string& line) const;

  std::filesystem::path folder_;
  std::shared_ptr<Memory> memory_;
};

}  // namespace mirfak
