#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>

namespace mirfak {

// An append-only file: a header and then records, each with its length and its CRC-32. If a writer is killed at any
// moment, all records that it had appended before are read back, and a half-written record is cut off.
class Journal {
 public:
  // Opens or creates the file and locks it: Error(input) if another process has locked it, or if it holds anything
  // other than a journal. The header of an existing journal is compared with `header`: if they differ, `differs` is
  // called with the existing header, and must throw. Then `each` is called with every complete record.
  Journal(const std::filesystem::path& path, std::string_view header,
          const std::function<void(std::string_view)>& differs, const std::function<void(std::string_view)>& each);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Appends a record; thread-safe. About once a second it waits until all records so far are on the disk.
  // Error(internal): the disk is full.
  void append(std::string_view record);
  void sync();
  std::error_code remove();  // removes the file, at the end

 private:
  void begin(std::string_view header);
  void write_record(std::string_view record);
  [[noreturn]] void fail() const;

  std::filesystem::path path_;
  int file_ = -1;
  std::mutex mutex_;
  std::int64_t synced_at_ms_ = 0;
};

// Throws Error(input): a process has locked the journal at `path`.
[[noreturn]] void fail_running(const std::filesystem::path& path);
// True if a process has locked the journal at `path` now.
bool is_being_written(const std::filesystem::path& path);

// Calls `each` with every complete record after the header.
void for_each_record(const std::filesystem::path& path, const std::function<void(std::string_view)>& each);

}  // namespace mirfak
