#include "base/read_files.hpp"

#include "base/named_files.hpp"

#include <sys/stat.h>

#include <mutex>
#include <optional>
#include <set>
#include <utility>

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

}  // namespace

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
