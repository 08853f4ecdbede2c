#pragma once

#include "base/document.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mirfak {

// A reference in one file to another: a name from mirfak's own catalogue, or a path (any text with a '/' or ending in
// .yaml, .yml or .json; relative to the file that contains the reference). Errors stand at the place of the reference.
class FileReference {
 public:
  FileReference(const char* name) : name_(name) {}
  FileReference(std::string name) : name_(std::move(name)) {}
  FileReference(const Node& text) : name_(text.as_string()), node_(text) {}  // a string in the user's file

  const std::string& name() const { return name_; }
  bool is_path() const;
  std::filesystem::path path() const;             // is_path(): relative to the working directory, or absolute
  std::string independent() const;                // the name, or an absolute path: valid wherever it is written
  FileReference renamed(std::string name) const;  // another name, referred to from the same place
  [[noreturn]] void fail(std::string message, std::string hint = {}) const;  // Error(input)
  // Throws Error(input): the name is unknown. The hint is the nearest of `known`, or all of them.
  [[noreturn]] void fail_unknown(std::string_view noun, const std::vector<std::string>& known) const;
  std::filesystem::path existing_path() const;  // is_path(): Error(input) if the file does not exist

 private:
  std::string name_;
  std::optional<Node> node_;
};

// Returns a path that leads to the same file from every working directory: absolute, and without detours where the
// shorter path leads to the same file ("link/../a" need not be "a").
std::string independent_path(const std::filesystem::path& path);

// Returns the absolute path of a stated file that is not YAML. The stated path is relative to the folder of the file
// that states it, or, in an override, to the working directory. Error(input) if it is empty.
std::string stated_path(const Node& stated);

}  // namespace mirfak
