#pragma once

#include <filesystem>
#include <string_view>

namespace mirfak {

// A file under construction: written beside its target under another name, which commit() changes to the target's in
// one step. Destroyed before that, it is removed.
class StagedFile {
 public:
  // Error(input) where the target's folder does not exist or the target is there and not a regular file.
  explicit StagedFile(std::filesystem::path target);
  ~StagedFile();
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;

  // The whole content, as often as wanted; Error(internal).
  void write(std::string_view text) const;

  // Has the disk hold what was written so far, so that the target is never a name without its content.
  void sync() const;

  const std::filesystem::path& target() const { return target_; }
  const std::filesystem::path& path() const { return path_; }  // what to write to

  void commit();  // the file is complete and closed; Error(internal)

 private:
  std::filesystem::path target_;
  std::filesystem::path path_;
};

// A file of this text, complete or not there. Errors as above.
void write_text_file(const std::filesystem::path& target, std::string_view text);

}  // namespace mirfak
