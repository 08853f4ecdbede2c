#include "base/read_files.hpp"

#include "base/named_files.hpp"
#include "base/text.hpp"
#include "base/visible_text.hpp"

#include <fmt/format.h>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

std::mutex mutex;
std::set<ReadFiles::List*> noting;
thread_local std::shared_ptr<ReadFiles::List> of_thread;
bool notes_data = false;
std::vector<std::filesystem::path> data;

// Suggests the file in the same folder with the nearest name, or something else to do.
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

class ReadFiles::List {
 public:
  // A file as it was read. Another file may get its identity after its removal, but not its time of change as well.
  struct NotedFile {
    std::pair<dev_t, ino_t> identity;  // independent of the file's name
    off_t size = 0;
    std::pair<time_t, long> changed;

    friend bool operator==(const NotedFile&, const NotedFile&) = default;
  };
  static std::optional<NotedFile> file_at(const std::filesystem::path& path) {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) return std::nullopt;
    return NotedFile{{found.st_dev, found.st_ino}, found.st_size, {found.st_mtim.tv_sec, found.st_mtim.tv_nsec}};
  }

  void add(const std::string& path, const NotedFile& file) { files_.insert_or_assign(path, file); }
  // Lists that threads make at the same time may note each other: what would lead back to this one is copied.
  void add(const ListPointer& others) {
    if (others.get() == this) return;
    if (!others->leads_to(this)) {
      others_.insert(others);
      return;
    }
    files_.insert(others->files_.begin(), others->files_.end());
    for (const ListPointer& list : others->others_) add(list);
  }

  // True if the list has this file, unchanged under any path, or if the file now lies at a noted path.
  bool holds(const NotedFile& file) const {
    const auto is_it = [&](const auto& noted) {
      if (noted.second == file) return true;
      const std::optional<NotedFile> now = file_at(noted.first);
      return now && now->identity == file.identity;
    };
    return std::any_of(files_.begin(), files_.end(), is_it) ||
           std::any_of(others_.begin(), others_.end(), [&](const ListPointer& list) { return list->holds(file); });
  }

 private:
  bool leads_to(const List* list) const {
    return std::any_of(others_.begin(), others_.end(),
                       [&](const ListPointer& one) { return one.get() == list || one->leads_to(list); });
  }

  std::map<std::string, NotedFile> files_;  // by absolute path
  std::set<ListPointer> others_;
};

UnreadableFile why_unreadable(const std::filesystem::path& path, int reason) {
  if (reason == ENOENT || reason == ENOTDIR) return {"there is no such file", hint_for_missing(path)};
  if (reason == EACCES || reason == EPERM) {
    return {"no permission to read this file", "allow reading it, or name another file"};
  }
  if (reason == ELOOP) return {"its symbolic links lead round in a circle", "name another file"};
  return {fmt::format("cannot be read: {}", std::strerror(reason)), "name another file"};
}

ReadFiles::ReadFiles(const ListPointer& known) : list_(std::make_shared<List>()), outer_(of_thread) {
  if (known) list_->add(known);
  of_thread = list_;
  const std::lock_guard lock(mutex);
  noting.insert(list_.get());
}

ReadFiles::~ReadFiles() {
  of_thread = outer_;
  const std::lock_guard lock(mutex);
  noting.erase(list_.get());
}

ReadFiles::ListPointer ReadFiles::list() const { return list_; }

ReadFiles::ListPointer ReadFiles::of_this_thread() { return of_thread; }

void note_read_file(const std::filesystem::path& path) {
  refuse_file_outside(path);
  const std::lock_guard lock(mutex);
  if (noting.empty()) return;
  const auto file = ReadFiles::List::file_at(path);
  if (!file) return;
  std::error_code failed;
  const std::string whole = std::filesystem::absolute(path, failed).string();
  for (ReadFiles::List* const list : noting) list->add(whole, *file);
}

void note_read_files(const ReadFiles::ListPointer& files) {
  const std::lock_guard lock(mutex);
  for (ReadFiles::List* const list : noting) list->add(files);
}

bool was_read(const std::filesystem::path& path) {
  const auto file = ReadFiles::List::file_at(path);
  if (!file) return false;
  const std::lock_guard lock(mutex);
  return std::any_of(noting.begin(), noting.end(), [&](const ReadFiles::List* list) { return list->holds(*file); });
}

NotedDataFolders::NotedDataFolders() {
  const std::lock_guard lock(mutex);
  notes_data = true;
}

NotedDataFolders::~NotedDataFolders() {
  const std::lock_guard lock(mutex);
  notes_data = false;
  data.clear();
}

void note_data_folders(std::vector<std::filesystem::path> folders) {
  const std::lock_guard lock(mutex);
  if (notes_data) data = std::move(folders);
}

std::vector<std::filesystem::path> noted_data_folders() {
  const std::lock_guard lock(mutex);
  return data;
}

}  // namespace mirfak
