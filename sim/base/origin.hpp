#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// "0.1.0"
std::string_view program_version();

// A hash of every YAML file in these folders, with its name: 16 hexadecimal digits, the same wherever the folders lie.
std::string data_hash(const std::vector<std::filesystem::path>& folders);

// What an output was made with, so that outputs of different versions or data are not taken for comparable. Every JSON
// and every file that has room for it says so.
struct Origin {
  std::string_view program_version;
  std::string data_hash;  // of the folders of models and hardware; empty: the command reads none of them
};
Origin origin();
std::string origin_text();     // "mirfak 0.1.0, data 0123456789abcdef"
std::string origin_comment();  // that as the first line of a file in which # begins a comment

}  // namespace mirfak
