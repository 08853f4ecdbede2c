#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>

namespace mirfak {

// A file that only grows: a header and then records, each with its length and its CRC-32. Whatever moment a writer is
// killed at, what it had appended before is read back, and a record that it left half-written is cut off.
class Journal {
 public:
  // Opens or makes the file and takes it for itself: Error(input) if another process has it, or if it holds something
  // else than a journal. Where it holds one, its header is compared with `header`: `differs` is called with the one
  // found if they are not equal, and must throw. Then `each` is called with every whole record.
  Journal(const std::filesystem::path& path, std::string_view header,
          const std::function<void(std::string_view)>& differs, const std::function<void(std::string_view)>& each);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // From any thread. About once a second it waits until all so far is on the disk. Error(internal): the disk is full.
  void append(std::string_view record);
  void sync();
  std::error_code remove();  // the file, at the end

 private:
  void begin(std::string_view header);
  void write_record(std::string_view record);
  [[noreturn]] void fail() const;

  std::filesystem::path path_;
  int file_ = -1;
  std::mutex mutex_;
  std::int64_t synced_at_ms_ = 0;
};

// Error(input): a process has the journal at `path` for itself.
[[noreturn]] void fail_running(const std::filesystem::path& path);
// Whether a process has the journal at `path` for itself now.
bool is_being_written(const std::filesystem::path& path);

// Calls `each` with every whole record behind the header.
void for_each_record(const std::filesystem::path& path, const std::function<void(std::string_view)>& each);

}  // namespace mirfak
