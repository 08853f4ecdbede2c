#include "sweep/data_hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

namespace mirfak {

namespace {

constexpr std::uint64_t kOffset = 0xcbf29ce484222325;
constexpr std::uint64_t kPrime = 0x100000001b3;

// FNV-1a
std::uint64_t hashed(std::uint64_t hash, std::string_view bytes) {
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * kPrime;
  return (hash ^ bytes.size()) * kPrime;
}

}  // namespace

std::string data_hash(const DataFolders& folders) {
  std::uint64_t hash = kOffset;
  for (const std::filesystem::path& folder : {folders.models, folders.hardware}) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".yaml" && entry.is_regular_file()) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const std::filesystem::path& file : files) {
      std::ifstream in(file, std::ios::binary);
      hash = hashed(hash, file.lexically_relative(folder).generic_string());
      hash = hashed(hash, std::string(std::istreambuf_iterator<char>(in), {}));
    }
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace mirfak
