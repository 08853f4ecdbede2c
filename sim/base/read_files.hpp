#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace mirfak {

// The files that a piece of work reads, so that no output of it replaces one of them: a scenario names models,
// schedules, profiles and prices that no command line shows. While a ReadFiles exists, every file that any thread reads
// is noted in it, and no output (StagedFile) replaces it. Several may exist. Thread-safe.
class ReadFiles {
 public:
  class List;
  using ListPointer = std::shared_ptr<const List>;

  explicit ReadFiles(const ListPointer& known = nullptr);  // known: files of work that was done before
  ~ReadFiles();
  ReadFiles(const ReadFiles&) = delete;
  ReadFiles& operator=(const ReadFiles&) = delete;

  // The files noted so far and those to come: for a result, whose files are written later.
  ListPointer list() const;
  // That of the youngest ReadFiles that this thread made; nullptr: none exists.
  static ListPointer of_this_thread();

 private:
  std::shared_ptr<List> list_;
  std::shared_ptr<List> outer_;  // of the thread
};

// Says why a file cannot be opened to be read, for an errno, and what to do about it.
struct UnreadableFile {
  std::string message;
  std::string hint;
};
UnreadableFile why_unreadable(const std::filesystem::path& path, int reason);

// Called by whatever opens a file of the user's, before it uses what is in it. Error(input) where it must not be read
// (named_files.hpp).
void note_read_file(const std::filesystem::path& path);
// Called by whatever uses what was read from files before, and is remembered.
void note_read_files(const ReadFiles::ListPointer& files);
// Whether this file, by whatever path, was noted.
bool was_read(const std::filesystem::path& path);

// The folders of models and hardware, noted by whatever reads from them (base/origin.hpp says what is there): those
// noted last while a NotedDataFolders exists, none before. One at a time, by the program around a command.
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
