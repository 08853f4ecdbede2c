#include "sweep/journal.hpp"

#include "base/error.hpp"
#include "base/staged_file.hpp"

#include <boost/crc.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mirfak {

namespace {

constexpr std::int64_t kSyncEveryMs = 1000;
constexpr std::uint64_t kMaxRecordBytes = std::uint64_t{1} << 32;  // a larger length is noise

struct RecordHead {
  std::uint64_t bytes = 0;
  std::uint32_t checksum = 0;
  std::uint32_t mark = 0x6d697266;  // "mirf"; zeros that a disk left behind are no record
};

std::uint32_t checksum_of(std::string_view bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Returns the next record; nullopt at the end, or at an incomplete record.
std::optional<std::string> read_record(std::istream& in) {
  RecordHead head;
  in.read(reinterpret_cast<char*>(&head), sizeof(head));
  if (!in || head.mark != RecordHead{}.mark || head.bytes > kMaxRecordBytes) return std::nullopt;
  const std::istream::pos_type here = in.tellg();
  in.seekg(0, std::ios::end);
  const auto left = static_cast<std::uint64_t>(in.tellg() - here);
  in.seekg(here);
  if (head.bytes > left) return std::nullopt;
  std::string record(head.bytes, '\0');
  in.read(record.data(), static_cast<std::streamsize>(record.size()));
  if (!in || checksum_of(record) != head.checksum) return std::nullopt;
  return record;
}

std::string bytes_of_record(std::string_view record) {
  const RecordHead head{record.size(), checksum_of(record)};
  std::string bytes(sizeof(head), '\0');
  std::memcpy(bytes.data(), &head, sizeof(head));
  return bytes += record;
}

// True for a journal whose writer was stopped within the header: the file is empty, ends within the header, or has its
// length on the disk, but only zeros.
bool is_unfinished_header(const std::filesystem::path& path, std::string_view header) {
  std::ifstream in(path, std::ios::binary);
  std::string begin(sizeof(RecordHead), '\0');
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(in.gcount()));
  if (begin.size() < sizeof(RecordHead)) return bytes_of_record(header).starts_with(begin);
  RecordHead head;
  std::memcpy(&head, begin.data(), sizeof(head));
  if (head.mark == RecordHead{}.mark) return std::filesystem::file_size(path) - sizeof(head) <= head.bytes;
  const auto is_zero = [](char byte) { return byte == '\0'; };
  return std::all_of(begin.begin(), begin.end(), is_zero) &&
         std::all_of(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>(), is_zero);
}

// True if the open file still has this name: the process that had locked it removes it at its end.
bool is_file_at(const std::filesystem::path& path, int file) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(file, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

}  // namespace

void fail_running(const std::filesystem::path& path) {
  fail_input({path.string(), 0, 0}, "this sweep is running now: another process writes its finished points here",
             "wait until it ends, or choose another --out");
}

bool is_being_written(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool locked = ::flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(file);
  return locked;
}

Journal::Journal(const std::filesystem::path& path, std::string_view header,
                 const std::function<void(std::string_view)>& differs,
                 const std::function<void(std::string_view)>& each)
    : path_(path) {
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) fail_to_write(path, errno);
  try {
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0 || !is_file_at(path, file_)) fail_running(path);
    std::uint64_t whole = 0;
    std::ifstream in(path, std::ios::binary);
    if (const std::optional<std::string> found = read_record(in)) {
      if (*found != header) differs(*found);
      whole = static_cast<std::uint64_t>(in.tellg());
      while (const std::optional<std::string> record = read_record(in)) {
        each(*record);
        whole = static_cast<std::uint64_t>(in.tellg());
      }
    } else if (!is_unfinished_header(path, header)) {
      fail_input({path.string(), 0, 0}, "this file would hold the finished points, and is something else",
                 "move it away, or choose another --out");
    }
    if (::ftruncate(file_, static_cast<off_t>(whole)) != 0 || ::lseek(file_, 0, SEEK_END) < 0) fail();
    if (whole == 0) begin(header);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

void for_each_record(const std::filesystem::path& path, const std::function<void(std::string_view)>& each) {
  std::ifstream in(path, std::ios::binary);
  if (!read_record(in)) return;
  while (const std::optional<std::string> record = read_record(in)) each(*record);
}

Journal::~Journal() { ::close(file_); }

void Journal::fail() const { fail_to_write(path_, errno); }

// Writes the header; a file without one is removed, because it would only obstruct the next run.
void Journal::begin(std::string_view header) {
  try {
    write_record(header);
  } catch (...) {
    remove();
    throw;
  }
}

void Journal::write_record(std::string_view record) {
  const std::string bytes = bytes_of_record(record);
  for (std::string_view left = bytes; !left.empty();) {
    const ssize_t written = ::write(file_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail();
    left.remove_prefix(static_cast<std::size_t>(written));
  }
}

void Journal::append(std::string_view record) {
  const std::lock_guard lock(mutex_);
  write_record(record);
  const std::int64_t now = now_ms();
  if (now - synced_at_ms_ < kSyncEveryMs) return;
  if (::fdatasync(file_) != 0) fail();
  synced_at_ms_ = now;
}

void Journal::sync() {
  const std::lock_guard lock(mutex_);
  if (::fdatasync(file_) != 0) fail();
}

std::error_code Journal::remove() {
  std::error_code failed;
  std::filesystem::remove(path_, failed);
  return failed;
}

}  // namespace mirfak
