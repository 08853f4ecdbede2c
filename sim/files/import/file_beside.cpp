#include "import/file_beside.hpp"

#include "base/named_files.hpp"
#include "base/read_files.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace mirfak {

namespace {

namespace fs = std::filesystem;

// Returns the number of last parts that two paths have in common.
std::size_t common_end(const fs::path& left, const fs::path& right) {
  const std::vector<fs::path> a(left.begin(), left.end());
  const std::vector<fs::path> b(right.begin(), right.end());
  std::size_t out = 0;
  while (out < std::min(a.size(), b.size()) && a[a.size() - 1 - out] == b[b.size() - 1 - out]) ++out;
  return out;
}

std::optional<ShellFile> read_beside(const fs::path& path) {
  constexpr std::uintmax_t most = 2U << 20;
  std::error_code ignored;
  if (!may_read_file(path) || !fs::is_regular_file(path, ignored)) return std::nullopt;
  if (fs::file_size(path, ignored) > most) {
    fail_input({path.string(), 1, 1}, "a file of settings of more than 2 MiB",
               "check that it is the file that is meant");
  }
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  note_read_file(path);
  return ShellFile{path.string(), text.str()};
}

}  // namespace

std::optional<ShellFile> file_beside(std::span<const ImportFile> files, const std::string& name,
                                     const std::string& from) {
  const fs::path wanted = fs::path(name).lexically_normal();
  if (wanted.filename().empty()) return std::nullopt;
  const ImportFile* given = nullptr;
  for (const ImportFile& file : files) {
    const std::size_t common = common_end(file.name, wanted);
    if (common > (given == nullptr ? 0 : common_end(given->name, wanted))) given = &file;
  }
  if (given != nullptr) return ShellFile{given->name, given->text};
  const fs::path naming = from;
  if (wanted.is_absolute()) {
    if (auto found = read_beside(wanted)) return found;
  } else {
    const fs::path folder = naming.parent_path();
    std::vector<fs::path> folders = {folder, ""};
    std::error_code ignored;
    fs::path above = fs::absolute(folder.empty() ? fs::path(".") : folder, ignored).lexically_normal();
    if (!above.has_filename()) above = above.parent_path();
    constexpr int most = 4;
    for (int i = 0; i < most && above.has_relative_path(); ++i) folders.push_back(above = above.parent_path());
    for (const fs::path& start : folders) {
      if (auto found = read_beside(start / wanted)) return found;
    }
  }
  std::optional<ShellFile> other = read_beside(naming.parent_path() / wanted.filename());
  if (other) other->elsewhere = wanted.has_parent_path();
  return other;
}

}  // namespace mirfak
