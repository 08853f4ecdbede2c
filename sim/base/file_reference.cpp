#include "base/file_reference.hpp"

#include "base/named_files.hpp"
#include "base/suggestion.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mirfak {

bool FileReference::is_path() const {
  const std::string_view name = name_;
  return name.find('/') != name.npos || name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
}

std::filesystem::path FileReference::path() const {
  if (!node_) return name_;
  refuse_named_file(*node_);
  // An override has no file of its own: its paths are relative to the working directory.
  const std::filesystem::path file = node_->where().file;
  std::error_code ignored;
  return std::filesystem::is_regular_file(file, ignored) ? file.parent_path() / name_ : std::filesystem::path(name_);
}

std::string FileReference::independent() const { return is_path() ? independent_path(path()) : name_; }

FileReference FileReference::renamed(std::string name) const {
  FileReference other = *this;
  other.name_ = std::move(name);
  return other;
}

void FileReference::fail(std::string message, std::string hint) const {
  if (node_) node_->fail(std::move(message), std::move(hint));
  fail_input({}, std::move(message), std::move(hint));
}

void FileReference::fail_unknown(std::string_view noun, const std::vector<std::string>& known) const {
  const std::string message = fmt::format("unknown {} '{}'", noun, excerpt(name_));
  if (known.empty()) fail(message, "expected the path of a YAML file");
  const std::string hint = suggestion(name_, known);
  fail(message, hint.ends_with('?') ? hint : hint + ", or the path of a YAML file");
}

std::filesystem::path FileReference::existing_path() const {
  std::error_code ignored;
  std::filesystem::path file = path();
  if (!std::filesystem::is_regular_file(file, ignored)) {
    fail(fmt::format("there is no file '{}'", excerpt(file.string())));
  }
  return file;
}

std::string independent_path(const std::filesystem::path& path) {
  const std::filesystem::path whole = std::filesystem::absolute(path);
  const std::filesystem::path plain = whole.lexically_normal();
  std::error_code ignored;
  const bool other = std::filesystem::exists(whole, ignored) && !std::filesystem::equivalent(whole, plain, ignored);
  return (other ? whole : plain).string();
}

std::string stated_path(const Node& stated) {
  const std::string name = stated.as_string();
  if (name.empty()) stated.fail("expected the path of a file");
  refuse_named_file(stated);
  const std::filesystem::path file = stated.where().file;
  std::error_code ignored;
  return independent_path(std::filesystem::is_regular_file(file, ignored) ? file.parent_path() / name
                                                                          : std::filesystem::path(name));
}

}  // namespace mirfak
