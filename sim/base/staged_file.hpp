#pragma once

#include "base/unfinished_file.hpp"

#include <deque>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mirfak {

// A file under construction: it is written next to its target under another name, and commit() renames it to the
// target's name in one step. The file is removed if it is destroyed before that, or if a signal ends the program.
class StagedFile {
 public:
  enum class Replaces {
    other_files,  // no file that was read (ReadFiles)
    what_it_read  // also the file that the new text was made from: a profile that is updated
  };

  // Error(input) if the target's folder does not exist, or if the target exists and is not a regular file, is protected
  // against writing, or was read.
  explicit StagedFile(std::filesystem::path target, Replaces replaces = Replaces::other_files);
  ~StagedFile();
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;

  // Writes the whole content; may be called again. Errors as of fail_to_write().
  void write(std::string_view text) const;

  const std::filesystem::path& target() const { return file_->target(); }
  const std::filesystem::path& path() const { return file_->path(); }  // the file to write to

  // Called when the file is complete and closed. The content is written to the disk before the file takes its target's
  // name, so that the target is never a name without its content, whatever happens to the machine; a device that fails
  // late fails here. Errors as of fail_to_write().
  void commit();
  void discard();  // removes the file now; errors as of fail_to_remove()

 private:
  friend void commit_all(std::span<StagedFile* const> files);
  void sync() const;

  std::optional<UnfinishedFile> file_;
  bool settled_ = false;  // committed or discarded
};

// Commits files that belong together: the first file takes its name after the last is on the disk, and no signal
// interrupts the renaming.
void commit_all(std::span<StagedFile* const> files);
void commit_all(std::deque<StagedFile>& files);

// True if a file of this name, in the target's folder, is under construction for the target, left by whatever process.
bool is_staged_for(const std::filesystem::path& target, std::string_view name);

// Writes a file with this text, which either becomes complete or does not appear. Errors as above.
void write_text_file(const std::filesystem::path& target, std::string_view text);

// Fails as writing the file would: a file of one page is made next to the target and removed. This check, before any
// work, finds a missing folder, missing permissions, and a file system that is read-only or full.
void check_writable(const std::filesystem::path& target);

// Throws the error of a file (or of its staged file) that cannot be written, for `reason`, an errno. Error(internal) if
// the disk is full, the size of files is limited, or the device fails; Error(input) if the user may not write there.
[[noreturn]] void fail_to_write(const std::filesystem::path& path, int reason);

// Throws the error of a file of the program's own that is in the way and cannot be removed, for `reason`, an errno.
[[noreturn]] void fail_to_remove(const std::filesystem::path& path, int reason);

// True if two paths are one file, also through links and detours, and also before the file exists: by the path that a
// commit would replace.
bool is_same_file(const std::filesystem::path& one, const std::filesystem::path& other);

}  // namespace mirfak
