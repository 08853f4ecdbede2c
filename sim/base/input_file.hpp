#pragma once

#include "base/error.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace mirfak {

// A kind of file that is read whole.
struct InputKind {
  std::string_view noun;       // in messages: "a schedule"
  std::size_t most_bytes = 0;  // uncompressed size beyond which reading stops
  bool compressed = false;     // may be compressed by gzip
};

inline constexpr std::size_t kMebibyte = std::size_t{1} << 20;
inline constexpr InputKind kDocumentFile = {"a document", 2 * kMebibyte};
inline constexpr InputKind kTableFile = {"a table", 256 * kMebibyte, true};         // measurements
inline constexpr InputKind kLogFile = {"a log of failures", 64 * kMebibyte, true};  // failures of years
inline constexpr InputKind kSmallTableFile = {"a table", 16 * kMebibyte, true};     // a row for each node, rank or hour
inline constexpr InputKind kScheduleFile = {"a schedule", 64 * kMebibyte};
inline constexpr InputKind kNetworkFile = {"a file of a network or node", 64 * kMebibyte};

// Reads a whole file, pipe or device and notes it as read (base/read_files.hpp). Error(input) at `where`, or at the
// file if `where` is not known: for a folder, a file that cannot be read, and a file that is larger than its kind may
// be.
std::string read_input_file(const std::filesystem::path& path, const InputKind& kind, const Location& where = {},
                            const std::string& hint = {});

}  // namespace mirfak
