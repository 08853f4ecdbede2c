#pragma once

#include "base/error.hpp"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

namespace mirfak {

// A file that may be compressed by gzip (its first bytes say so, not its name), read piece by piece as what it holds
// uncompressed. The file is noted as read (base/read_files.hpp).
class CompressedFile {
 public:
  // `expected` goes into errors: "expected JSON, plain or compressed by gzip". Error(input) if it cannot be opened.
  CompressedFile(const std::filesystem::path& path, std::string expected);
  ~CompressedFile();
  CompressedFile(CompressedFile&&) = delete;

  // Fills `to` with up to `size` bytes and returns how many; 0 at the end. Error(input) where the file is cut off or
  // damaged, at the line that was being read.
  std::size_t read(char* to, std::size_t size);

 private:
  struct Opened;
  std::unique_ptr<Opened> opened_;
};

}  // namespace mirfak
