#include "base/input_file.hpp"

#include "base/cancellation.hpp"
#include "base/compressed_file.hpp"
#include "base/read_files.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <optional>
#include <system_error>

namespace mirfak {

namespace {

// A file that is read byte by byte, without decompression.
class PlainFile {
 public:
  explicit PlainFile(const std::filesystem::path& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~PlainFile() {
    if (file_ >= 0) ::close(file_);
  }
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;

  bool good() const { return file_ >= 0; }
  std::optional<std::size_t> read(char* to, std::size_t size) const {
    for (;;) {
      const ssize_t got = ::read(file_, to, size);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) return std::nullopt;
    }
  }

 private:
  int file_;
};

// Reads pieces from `read` until its end, or until the text is longer than `most` bytes.
template <typename Read>
std::string read_up_to(std::size_t most, const Read& read) {
  std::string text;
  std::array<char, std::size_t{1} << 16> block;  // a small file costs no more memory than its text
  for (std::size_t got = 1; got > 0 && text.size() <= most;) {
    check_cancelled();
    got = read(block.data(), block.size());
    text.append(block.data(), got);
  }
  return text;
}

}  // namespace

std::string read_input_file(const std::filesystem::path& path, const InputKind& kind, const Location& where,
                            const std::string& hint) {
  const Location at = where.known() ? where : Location{path.string(), 0, 0};
  // Errors at the place that names the file also state the file's path.
  const std::string named = where.known() ? path.string() + ": " : "";
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) fail_input(at, named + "this is a folder, expected a file");
  const auto refuse = [&](int reason) {
    const UnreadableFile why = why_unreadable(path, reason);
    fail_input(at, named + why.message, hint.empty() ? why.hint : hint);
  };
  std::string text;
  if (kind.compressed) {
    CompressedFile file(path, fmt::format("expected {}, plain or compressed by gzip", kind.noun));
    text = read_up_to(kind.most_bytes, [&](char* to, std::size_t size) { return file.read(to, size); });
  } else {
    const PlainFile file(path);
    if (!file.good()) refuse(errno);
    note_read_file(path);
    text = read_up_to(kind.most_bytes, [&](char* to, std::size_t size) {
      const std::optional<std::size_t> got = file.read(to, size);
      if (!got) refuse(errno);
      return got.value_or(0);
    });
  }
  if (text.size() > kind.most_bytes) {
    fail_input(at, fmt::format("{}{} is larger than {} MiB", named, kind.noun, kind.most_bytes / kMebibyte),
               "check that it is the file that is meant");
  }
  return text;
}

}  // namespace mirfak
