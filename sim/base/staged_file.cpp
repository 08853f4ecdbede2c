#include "base/staged_file.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

namespace mirfak {

namespace {

namespace fs = std::filesystem;

// A name that no other writer, in this process or another, uses at the same time.
fs::path staging_name(const fs::path& target) {
  static std::atomic<unsigned> count{0};
  fs::path name = target;
  name += fmt::format(".partial-{}-{}", ::getpid(), count++);
  return name;
}

void check_target(const fs::path& target) {
  std::error_code failed;
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  const Location where{target.string()};
  if (!fs::is_directory(folder, failed)) {
    fail_input(where, fmt::format("cannot be written: there is no folder '{}'", folder.string()), "create it first");
  }
  const fs::file_status status = fs::status(target, failed);
  if (fs::is_directory(status)) fail_input(where, "cannot be written: it is a folder", "name a file");
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    fail_input(where, "cannot be written: it is not a regular file", "name a file");
  }
}

}  // namespace

StagedFile::StagedFile(std::filesystem::path target) : target_(std::move(target)) {
  check_target(target_);
  std::error_code failed;
  if (fs::is_symlink(target_, failed)) target_ = fs::weakly_canonical(target_);
  path_ = staging_name(target_);
}

StagedFile::~StagedFile() {
  std::error_code failed;
  fs::remove(path_, failed);
}

void StagedFile::write(std::string_view text) const {
  std::ofstream out(path_, std::ios::binary);
  out << text;
  out.close();
  if (!out) fail_internal(fmt::format("cannot write '{}': is the disk full?", target_.string()));
}

void StagedFile::sync() const {
  const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = file >= 0 && ::fsync(file) == 0;
  const int reason = errno;
  if (file >= 0) ::close(file);
  if (!synced) fail_internal(fmt::format("{}: cannot be written: {}", target_.string(), std::strerror(reason)));
}

void StagedFile::commit() {
  std::error_code failed;
  fs::rename(path_, target_, failed);
  if (failed) fail_internal(fmt::format("{}: cannot be written: {}", target_.string(), failed.message()));
}

void write_text_file(const fs::path& target, std::string_view text) {
  StagedFile file(target);
  file.write(text);
  file.commit();
}

}  // namespace mirfak
