#pragma once

#include "base/document.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mirfak {

// How one file asks for another: by a name among those that mirfak comes with, or by a path (anything with a '/' or
// ending in .yaml, .yml or .json; relative to the file in which it is written). Errors stand at the place of the
// asking.
class FileReference {
 public:
  FileReference(const char* name) : name_(name) {}
  FileReference(std::string name) : name_(std::move(name)) {}
  FileReference(const Node& text) : name_(text.as_string()), node_(text) {}  // a string in the user's file

  const std::string& name() const { return name_; }
  bool is_path() const;
  std::filesystem::path path() const;             // is_path(): relative to the working directory, or absolute
  std::string independent() const;                // the name, or an absolute path: the same wherever it is written
  FileReference renamed(std::string name) const;  // another name, asked for at the same place
  [[noreturn]] void fail(std::string message, std::string hint = {}) const;  // Error(input)
  // Error(input): there is no such name. The hint is the nearest of `known`, or all of them.
  [[noreturn]] void fail_unknown(std::string_view noun, const std::vector<std::string>& known) const;
  std::filesystem::path existing_path() const;  // is_path(): Error(input) where no such file is

 private:
  std::string name_;
  std::optional<Node> node_;
};

// A path that leads to the same file from every working directory: absolute, and without detours where that leaves the
// file the same ("link/../a" need not be "a").
std::string independent_path(const std::filesystem::path& path);

// The path of a file that is no YAML, absolute: beside the file that states it; of an override relative to the working
// directory. Error(input) where it is empty.
std::string stated_path(const Node& stated);

}  // namespace mirfak
