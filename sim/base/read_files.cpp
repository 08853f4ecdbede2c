#include "base/read_files.hpp"

#include "base/error.hpp"
#include "base/named_files.hpp"
#include "base/text.hpp"
#include "base/visible_text.hpp"

#include <fmt/format.h>

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

using Identity = std::pair<dev_t, ino_t>;  // of a file, whatever it is called

std::mutex mutex;
std::optional<std::set<Identity>> noted;  // nullopt: nobody asks
std::vector<std::filesystem::path> data;

std::optional<Identity> identity_of(const std::filesystem::path& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  return Identity{found.st_dev, found.st_ino};
}

// The file beside it whose name is nearest, or what else to do.
std::string hint_for_missing(const std::filesystem::path& path) {
  constexpr std::size_t most = 1000;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  std::error_code failed;
  if (!std::filesystem::is_directory(folder, failed)) return fmt::format("there is no folder '{}'", folder.string());
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end && names.size() < most;) {
    names.push_back(visible_name(at->path().filename().string()));
    at.increment(failed);
  }
  return did_you_mean(path.filename().string(), names, "check its name and its folder");
}

}  // namespace

UnreadableFile why_unreadable(const std::filesystem::path& path, int reason) {
  if (reason == ENOENT || reason == ENOTDIR) return {"there is no such file", hint_for_missing(path)};
  if (reason == EACCES || reason == EPERM) {
    return {"no permission to read this file", "allow reading it, or name another file"};
  }
  if (reason == ELOOP) return {"its symbolic links lead round in a circle", "name another file"};
  return {fmt::format("cannot be read: {}", std::strerror(reason)), "name another file"};
}

ReadFiles::ReadFiles() {
  const std::lock_guard lock(mutex);
  noted.emplace();
}

ReadFiles::~ReadFiles() {
  const std::lock_guard lock(mutex);
  noted.reset();
  data.clear();
}

void note_read_file(const std::filesystem::path& path) {
  refuse_file_outside(path);
  const std::lock_guard lock(mutex);
  if (!noted) return;
  if (const auto identity = identity_of(path)) noted->insert(*identity);
}

bool was_read(const std::filesystem::path& path) {
  const std::lock_guard lock(mutex);
  if (!noted) return false;
  const auto identity = identity_of(path);
  return identity && noted->contains(*identity);
}

void note_data_folders(std::vector<std::filesystem::path> folders) {
  const std::lock_guard lock(mutex);
  if (noted) data = std::move(folders);
}

std::vector<std::filesystem::path> noted_data_folders() {
  const std::lock_guard lock(mutex);
  return data;
}

}  // namespace mirfak
