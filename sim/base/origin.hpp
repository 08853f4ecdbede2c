#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// "0.1.0"
std::string_view program_version();

// Returns a hash of every YAML file in these folders, with its name: 16 hexadecimal digits, the same wherever the
// folders lie.
std::string data_hash(const std::vector<std::filesystem::path>& folders);

// Returns a hash of a text: 16 hexadecimal digits, the same on every machine.
std::string text_hash(std::string_view text);

// The version and the data with which an output was made, so that outputs of different versions or data are not taken
// for comparable. All JSON output, and every file that has room for it, states its origin.
struct Origin {
  std::string_view program_version;
  std::string data_hash;  // hash of the folders of models and hardware; empty: the command reads none of them
};
Origin origin();
std::string origin_text();     // "mirfak 0.1.0, data 0123456789abcdef"
std::string origin_comment();  // origin_text() as the first line of a file in which # begins a comment

}  // namespace mirfak
