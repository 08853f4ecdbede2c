#pragma once

#include "base/unfinished_file.hpp"

#include <deque>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mirfak {

// A file under construction: written beside its target under another name, which commit() changes to the target's in
// one step. Destroyed before that, or where a signal ends the program, it is removed.
class StagedFile {
 public:
  enum class Replaces {
    other_files,  // no file that was read (ReadFiles)
    what_it_read  // the target may be what the new text was made from: a profile that is updated
  };

  // Error(input) where the target's folder does not exist, or the target is there and is not a regular file, is
  // protected against writing, or was read.
  explicit StagedFile(std::filesystem::path target, Replaces replaces = Replaces::other_files);
  ~StagedFile();
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;

  // The whole content, as often as wanted. Errors as of fail_to_write().
  void write(std::string_view text) const;

  const std::filesystem::path& target() const { return file_->target(); }
  const std::filesystem::path& path() const { return file_->path(); }  // what to write to

  // The file is complete and closed. The disk has it before it takes its name, so that the target is never a name
  // without its content, whatever happens to the machine; a device that fails late says so here. Errors as of
  // fail_to_write().
  void commit();
  void discard();  // removes it now; errors as of fail_to_remove()

 private:
  friend void commit_all(std::span<StagedFile* const> files);
  void sync() const;

  std::optional<UnfinishedFile> file_;
  bool settled_ = false;  // committed or discarded
};

// Commits files that belong together: the first takes its name when the last is on the disk, and no signal comes
// between.
void commit_all(std::span<StagedFile* const> files);
void commit_all(std::deque<StagedFile>& files);

// True if a file of this name, beside the target, is one under construction for it, left by whatever process.
bool is_staged_for(const std::filesystem::path& target, std::string_view name);

// A file of this text, complete or not there. Errors as above.
void write_text_file(const std::filesystem::path& target, std::string_view text);

// Fails as writing the file would: a file of a page is made beside the target, and removed. What is found so, before
// any work, is a folder that is not there, permissions, a file system that is read-only or full.
void check_writable(const std::filesystem::path& target);

// The error of a file (or of one staged for it) that cannot be written, named by `reason`, an errno. Error(internal)
// where the disk is full, the size of files limited, or the device fails; Error(input) where the user may not write
// there.
[[noreturn]] void fail_to_write(const std::filesystem::path& path, int reason);

// The same for a file of the program's own that is in the way and cannot be removed.
[[noreturn]] void fail_to_remove(const std::filesystem::path& path, int reason);

// Whether two paths are one file, also by links and detours, and also before it exists: where a commit would put it.
bool is_same_file(const std::filesystem::path& one, const std::filesystem::path& other);

}  // namespace mirfak
