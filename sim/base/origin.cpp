#include "base/origin.hpp"

#include "base/fnv_hash.hpp"
#include "base/read_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>

namespace mirfak {

namespace {

// Returns `hash` with a text and its length, so that texts one after the other cannot run together.
std::uint64_t hashed(std::uint64_t hash, std::string_view text) {
  return (fnv_hash(hash, text) ^ text.size()) * kFnvPrime;
}

}  // namespace

std::string_view program_version() { return MIRFAK_VERSION; }

std::string text_hash(std::string_view text) { return fmt::format("{:016x}", hashed(kFnvStart, text)); }

std::string data_hash(const std::vector<std::filesystem::path>& folders) {
  std::uint64_t hash = kFnvStart;
  for (const std::filesystem::path& folder : folders) {
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

Origin origin() {
  const std::vector<std::filesystem::path> folders = noted_data_folders();
  return {program_version(), folders.empty() ? std::string() : data_hash(folders)};
}

std::string origin_text() {
  const Origin made_with = origin();
  const std::string data = made_with.data_hash.empty() ? "" : ", data " + made_with.data_hash;
  return fmt::format("mirfak {}{}", made_with.program_version, data);
}

std::string origin_comment() { return "# " + origin_text() + "\n"; }

}  // namespace mirfak
