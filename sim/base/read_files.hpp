#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace mirfak {

// The files that were read while a ReadFiles exists, so that no output replaces one of them: a scenario names models,
// schedules, profiles and prices that no command line shows. One at a time, by the program around a command; without
// one, nothing is noted. Thread-safe.
class ReadFiles {
 public:
  ReadFiles();
  ~ReadFiles();
  ReadFiles(const ReadFiles&) = delete;
  ReadFiles& operator=(const ReadFiles&) = delete;
};

// Why a file cannot be opened to be read, for an errno, and what to do about it.
struct UnreadableFile {
  std::string message;
  std::string hint;
};
UnreadableFile why_unreadable(const std::filesystem::path& path, int reason);

// Called by whatever opens a file of the user's, before it uses what is in it. Error(input) where it must not be read
// (named_files.hpp).
void note_read_file(const std::filesystem::path& path);
// Whether this file, by whatever path, was noted.
bool was_read(const std::filesystem::path& path);

// The same of the folders of models and hardware, by whatever reads from them (base/origin.hpp says what is there); the
// folders noted last, none where nothing was noted.
void note_data_folders(std::vector<std::filesystem::path> folders);
std::vector<std::filesystem::path> noted_data_folders();

}  // namespace mirfak
