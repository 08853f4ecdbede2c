#pragma once

#include "base/error.hpp"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

namespace mirfak {

// A file that may be compressed by gzip (recognised by its first bytes, not by its name). Its uncompressed content is
// read piece by piece. The file is noted as read (base/read_files.hpp).
class CompressedFile {
 public:
  // `expected` goes into errors: "expected JSON, plain or compressed by gzip". Error(input) if the file cannot be
  // opened.
  CompressedFile(const std::filesystem::path& path, std::string expected);
  ~CompressedFile();
  CompressedFile(CompressedFile&&) = delete;

  // Fills `to` with up to `size` bytes and returns their number; 0 at the end. Error(input) if the file is cut off or
  // damaged, at the line that was being read.
  std::size_t read(char* to, std::size_t size);

 private:
  struct Opened;
  std::unique_ptr<Opened> opened_;
};

}  // namespace mirfak
