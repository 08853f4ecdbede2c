#include "base/staged_file.hpp"

#include "base/error.hpp"
#include "base/read_files.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <system_error>
#include <vector>

namespace mirfak {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStaged = ".partial-";

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

// Returns the target of a staged file, also of another process's staged file; any other path is its own target.
std::string target_of(const fs::path& path) {
  const std::string target = target_of_unfinished(path).string();
  return target.substr(0, target.rfind(kStaged));
}

// Returns the part of a name's `length` bytes that fits in a folder when `more` bytes follow.
std::size_t shortened(std::size_t length, const fs::path& folder, std::size_t more) {
  const std::size_t of_path = PATH_MAX - 1 - std::min<std::size_t>(folder.native().size() + 1, PATH_MAX - 1);
  const std::size_t most = std::min<std::size_t>(NAME_MAX, of_path);
  return std::min(length, most - std::min(most, more));
}

constexpr std::size_t kLongestEnd = kStaged.size() + 24;  // kStaged with two numbers

// Returns the prefix of the names of the target's staged files.
std::string staged_prefix(const fs::path& target) {
  const std::string name = target.filename().string();
  return name.substr(0, shortened(name.size(), folder_of(target), kLongestEnd)) + std::string(kStaged);
}

// Returns a name that no other writer, in this process or another, uses at the same time.
fs::path staging_name(const fs::path& target) {
  static std::atomic<unsigned> count{0};
  fs::path name = target;
  return name.replace_filename(fmt::format("{}{}-{}", staged_prefix(target), ::getpid(), count++));
}

// Follows links, also to a file that does not exist yet: a commit replaces the returned path. Returns a link if the
// links form a circle.
fs::path behind_links(fs::path path) {
  constexpr int kMaxLinks = 40;  // as many as the system follows
  std::error_code failed;
  for (int i = 0; i < kMaxLinks && fs::is_symlink(path, failed); ++i) {
    const fs::path next = fs::read_symlink(path, failed);
    if (failed) break;
    path = next.is_absolute() ? next : folder_of(path) / next;
  }
  return path;
}

void check_folder(const Location& where, const fs::path& folder) {
  std::error_code failed;
  const fs::file_status status = fs::status(folder, failed);
  if (fs::is_directory(status)) return;
  if (fs::exists(status)) {
    fail_input(where, fmt::format("cannot be written: '{}' is no folder", folder.string()), "name a file in a folder");
  }
  if (status.type() == fs::file_type::not_found) {
    fail_input(where, fmt::format("cannot be written: there is no folder '{}'", folder.string()), "create it first");
  }
  fail_input(where,
             fmt::format("cannot be written: the folder '{}' cannot be reached: {}", folder.string(), failed.message()),
             "name a file in another folder");
}

void check_target(const fs::path& target, StagedFile::Replaces replaces) {
  std::error_code failed;
  const Location where{target.string()};
  const fs::path behind = behind_links(target);
  check_folder(where, folder_of(behind));
  const fs::file_status status = fs::status(target, failed);
  if (fs::is_symlink(behind, failed)) {
    fail_input(where, "cannot be written: its symbolic links lead round in a circle", "name another file");
  }
  if (fs::is_directory(status)) fail_input(where, "cannot be written: it is a folder", "name a file");
  if (!fs::exists(status)) return;
  if (!fs::is_regular_file(status)) fail_input(where, "cannot be written: it is not a regular file", "name a file");
  if (::access(target.c_str(), W_OK) != 0) {
    fail_input(where, fmt::format("cannot be replaced: {}", std::strerror(errno)),
               "it is protected: name another file, or allow writing to it");
  }
  if (replaces == StagedFile::Replaces::other_files && was_read(target)) {
    fail_input(where, "this file was read as an input, and is not replaced", "name another file");
  }
}

// Writes all bytes; returns 0, or the errno of the failure.
int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int write_whole(const fs::path& path, std::string_view bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return errno;
  const int failed = write_all(file, bytes);
  const bool closed = ::close(file) == 0;
  return failed != 0 ? failed : closed ? 0 : errno;
}

ErrorKind kind_of(int reason) {
  constexpr std::array kOfMachine = {ENOSPC, EDQUOT, EFBIG, EIO, EMFILE, ENFILE, ENOMEM};
  const bool of_machine = std::find(kOfMachine.begin(), kOfMachine.end(), reason) != kOfMachine.end();
  return of_machine ? ErrorKind::internal : ErrorKind::input;
}

}  // namespace

void fail_to_write(const fs::path& path, int reason) {
  const std::string target = target_of(path);
  const std::string folder = folder_of(target).string();
  std::string what = std::strerror(reason);
  std::string hint;
  if (reason == ENOENT) {
    what = fmt::format("there is no folder '{}'", folder);
    hint = "create it first";
  } else if (reason == EACCES || reason == EPERM) {
    what = fmt::format("no permission to write in the folder '{}'", folder);
    hint = "choose a folder that you may write to";
  } else if (reason == EROFS) {
    what = fmt::format("the folder '{}' is on a read-only file system", folder);
    hint = "choose another folder";
  } else if (reason == ENOSPC || reason == EDQUOT) {
    what = fmt::format("no space left in the folder '{}'", folder);
    hint = "make room, or choose another folder";
  } else if (reason == EFBIG) {
    what = "it grows beyond the limit on the size of files";
    hint = "raise that limit (ulimit -f), or have less written";
  } else if (reason == ENAMETOOLONG) {
    what = "its name, or its path, is longer than the system takes";
    hint = "choose a shorter one";
  }
  throw Error(kind_of(reason), {target, 0, 0}, "cannot be written: " + what, hint);
}

void fail_to_remove(const fs::path& path, int reason) {
  throw Error(kind_of(reason), {path.string(), 0, 0}, fmt::format("cannot be removed: {}", std::strerror(reason)),
              "nothing needs it: delete it");
}

StagedFile::StagedFile(fs::path target, Replaces replaces) {
  check_target(target, replaces);
  fs::path behind = behind_links(std::move(target));
  if (behind.filename().native().size() > NAME_MAX || behind.native().size() >= PATH_MAX) {
    fail_to_write(behind, ENAMETOOLONG);
  }
  fs::path path = staging_name(behind);
  file_.emplace(std::move(path), std::move(behind));
}

StagedFile::~StagedFile() {
  if (settled_) return;
  std::error_code failed;
  fs::remove(path(), failed);
}

void StagedFile::write(std::string_view text) const {
  if (const int failed = write_whole(path(), text); failed != 0) fail_to_write(target(), failed);
}

void StagedFile::sync() const {
  const int file = ::open(path().c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = file >= 0 && ::fsync(file) == 0;
  const int reason = errno;
  if (file >= 0) ::close(file);
  if (!synced) fail_to_write(target(), reason);
}

void StagedFile::commit() {
  StagedFile* const only = this;
  commit_all({&only, 1});
}

void commit_all(std::deque<StagedFile>& files) {
  std::vector<StagedFile*> all;
  for (StagedFile& file : files) all.push_back(&file);
  commit_all(all);
}

void StagedFile::discard() {
  settled_ = true;
  if (::unlink(path().c_str()) != 0 && errno != ENOENT) fail_to_remove(path(), errno);
}

void commit_all(std::span<StagedFile* const> files) {
  for (const StagedFile* file : files) file->sync();
  std::size_t done = 0;
  int reason = 0;
  {
    const SignalPause pause;
    for (; done < files.size() && reason == 0; ++done) {
      files[done]->settled_ = ::rename(files[done]->path().c_str(), files[done]->target().c_str()) == 0;
      if (!files[done]->settled_) reason = errno;
    }
  }
  if (reason != 0) fail_to_write(files[done - 1]->target(), reason);
}

bool is_staged_for(const fs::path& target, std::string_view name) { return name.starts_with(staged_prefix(target)); }

void write_text_file(const fs::path& target, std::string_view text) {
  StagedFile file(target);
  file.write(text);
  file.commit();
}

void check_writable(const fs::path& target) {
  constexpr std::size_t kPage = 4096;  // an empty file fits on a full disk
  StagedFile file(target, StagedFile::Replaces::what_it_read);
  file.write(std::string(kPage, '\0'));
  file.discard();
}

bool is_same_file(const fs::path& one, const fs::path& other) {
  std::error_code failed;
  const fs::path first = behind_links(one);
  const fs::path second = behind_links(other);
  if (fs::exists(first, failed) && fs::exists(second, failed)) return fs::equivalent(first, second, failed);
  const fs::path folder = fs::weakly_canonical(folder_of(first), failed);
  return first.filename() == second.filename() && folder == fs::weakly_canonical(folder_of(second), failed);
}

}  // namespace mirfak
