#pragma once

#include <fmt/format.h>

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

// The bytes of an input as a file, for loaders that take a path. One for all inputs of the process, in the
// folder of temporary files; removed at the end.
class InputFile {
 public:
  explicit InputFile(const char* ending)
      : path_(std::filesystem::temp_directory_path() / fmt::format("mirfak-fuzz-{}{}", ::getpid(), ending)) {}
  ~InputFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::filesystem::path& of(const std::uint8_t* bytes, std::size_t size) const {
    std::FILE* file = std::fopen(path_.c_str(), "wb");
    if (file == nullptr || std::fwrite(bytes, 1, size, file) != size || std::fclose(file) != 0) std::abort();
    return path_;
  }

 private:
  std::filesystem::path path_;
};
