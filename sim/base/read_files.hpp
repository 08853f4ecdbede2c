#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace mirfak {

// The files that a piece of work reads, so that none of its outputs replaces one of them: a scenario names models,
// schedules, profiles and prices that no command line shows. While a ReadFiles exists, every file that any thread reads
// is noted in it, and no output (StagedFile) replaces such a file. Several ReadFiles may exist. Thread-safe.
class ReadFiles {
 public:
  class List;
  using ListPointer = std::shared_ptr<const List>;

  explicit ReadFiles(const ListPointer& known = nullptr);  // known: files of earlier work
  ~ReadFiles();
  ReadFiles(const ReadFiles&) = delete;
  ReadFiles& operator=(const ReadFiles&) = delete;

  // Returns the files noted so far and those noted later: for a result, whose output files are written later.
  ListPointer list() const;
  // Returns the list of the youngest ReadFiles that this thread made; nullptr: none exists.
  static ListPointer of_this_thread();

 private:
  std::shared_ptr<List> list_;
  std::shared_ptr<List> outer_;  // the list of the thread before this one
};

// A message that a file cannot be opened to be read, made from an errno, and a hint for the user.
struct UnreadableFile {
  std::string message;
  std::string hint;
};
UnreadableFile why_unreadable(const std::filesystem::path& path, int reason);

// Called by code that opens a file of the user's, before it uses the content. Error(input) if the file must not be read
// (named_files.hpp).
void note_read_file(const std::filesystem::path& path);
// Called by code that uses a remembered result of files that were read before.
void note_read_files(const ReadFiles::ListPointer& files);
// True if this file was noted, under whatever path.
bool was_read(const std::filesystem::path& path);

// Notes the folders of models and hardware (origin() in base/origin.hpp hashes them). Code that reads from such folders
// calls note_data_folders(); the last call while a NotedDataFolders exists counts, no call counts without one. One
// NotedDataFolders at a time, made by the program around a command.
class NotedDataFolders {
 public:
  NotedDataFolders();
  ~NotedDataFolders();
  NotedDataFolders(const NotedDataFolders&) = delete;
  NotedDataFolders& operator=(const NotedDataFolders&) = delete;
};
void note_data_folders(std::vector<std::filesystem::path> folders);
std::vector<std::filesystem::path> noted_data_folders();

}  // namespace mirfak
