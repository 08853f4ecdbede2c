#include "base/compressed_file.hpp"

#include "base/cancellation.hpp"
#include "base/read_files.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <system_error>
#include <utility>

namespace mirfak {

namespace {

constexpr unsigned kBlock = 1U << 18;

std::string reason_of(gzFile file) {
  const int system_error = errno;
  int status = Z_OK;
  const char* says = gzerror(file, &status);
  if (status == Z_ERRNO) return std::generic_category().message(system_error);
  return status == Z_BUF_ERROR ? "it is cut off" : says;
}

}  // namespace

struct CompressedFile::Opened {
  std::string name;
  std::string expected;
  gzFile file = nullptr;
  int line = 1;  // line of the uncompressed text
};

CompressedFile::CompressedFile(const std::filesystem::path& path, std::string expected)
    : opened_(std::make_unique<Opened>()) {
  note_read_file(path);
  opened_->name = path.string();
  opened_->expected = std::move(expected);
  opened_->file = gzopen(path.c_str(), "rb");
  if (opened_->file == nullptr) {
    const UnreadableFile why = why_unreadable(opened_->name, errno);
    fail_input({opened_->name, 0, 0}, why.message, why.hint);
  }
  gzbuffer(opened_->file, kBlock);
}

CompressedFile::~CompressedFile() { gzclose(opened_->file); }

std::size_t CompressedFile::read(char* to, std::size_t size) {
  check_cancelled();
  const int count = gzread(opened_->file, to, static_cast<unsigned>(std::min<std::size_t>(size, INT_MAX)));
  int status = Z_OK;
  gzerror(opened_->file, &status);
  if (count >= 0) opened_->line += static_cast<int>(std::count(to, to + count, '\n'));
  if (count >= 0 && (status == Z_OK || status == Z_STREAM_END)) return static_cast<std::size_t>(count);
  const int line = opened_->line > 1 ? opened_->line : 0;
  fail_input({opened_->name, line, 0}, "cannot read this file: " + reason_of(opened_->file), opened_->expected);
}

}  // namespace mirfak
