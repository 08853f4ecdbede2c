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
#include <cstring>
#include <system_error>

namespace mirfak {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStaged = ".partial-";

// A name that no other writer, in this process or another, uses at the same time.
fs::path staging_name(const fs::path& target) {
  static std::atomic<unsigned> count{0};
  fs::path name = target;
  name += fmt::format("{}{}-{}", kStaged, ::getpid(), count++);
  return name;
}

// What a staged file is for; any other path is for itself.
std::string target_of(const fs::path& path) {
  const std::string text = path.string();
  return text.substr(0, text.rfind(kStaged));
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

// Where a link leads, also to a file that is not there yet: that name is what a commit replaces.
fs::path behind_links(fs::path path) {
  constexpr int kMaxLinks = 40;  // as the system's
  std::error_code failed;
  for (int i = 0; i < kMaxLinks && fs::is_symlink(path, failed); ++i) {
    const fs::path next = fs::read_symlink(path, failed);
    if (failed) break;
    path = next.is_absolute() ? next : folder_of(path) / next;
  }
  return path;
}

void check_target(const fs::path& target, StagedFile::Replaces replaces) {
  std::error_code failed;
  const Location where{target.string()};
  const fs::path folder = folder_of(behind_links(target));
  if (!fs::is_directory(folder, failed)) {
    fail_input(where, fmt::format("cannot be written: there is no folder '{}'", folder.string()), "create it first");
  }
  const fs::file_status status = fs::status(target, failed);
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

// All of the bytes; 0, or the errno of what failed.
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
  }
  throw Error(kind_of(reason), {target, 0, 0}, "cannot be written: " + what, hint);
}

void fail_to_remove(const fs::path& path, int reason) {
  throw Error(kind_of(reason), {path.string(), 0, 0}, fmt::format("cannot be removed: {}", std::strerror(reason)),
              "nothing needs it: delete it");
}

StagedFile::StagedFile(fs::path target, Replaces replaces) : target_(std::move(target)) {
  check_target(target_, replaces);
  target_ = behind_links(std::move(target_));
  path_ = staging_name(target_);
}

StagedFile::~StagedFile() {
  if (settled_) return;
  std::error_code failed;
  fs::remove(path_, failed);
}

void StagedFile::write(std::string_view text) const {
  if (const int failed = write_whole(path_, text); failed != 0) fail_to_write(target_, failed);
}

void StagedFile::sync() const {
  const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = file >= 0 && ::fsync(file) == 0;
  const int reason = errno;
  if (file >= 0) ::close(file);
  if (!synced) fail_to_write(target_, reason);
}

void StagedFile::commit() {
  sync();
  if (::rename(path_.c_str(), target_.c_str()) != 0) fail_to_write(target_, errno);
  settled_ = true;
}

void StagedFile::discard() {
  settled_ = true;
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT) fail_to_remove(path_, errno);
}

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
