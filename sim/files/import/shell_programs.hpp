#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace mirfak {

// Facts about programs by their names: hw_profiles/launch/commands.yaml.
struct ShellPrograms {
  std::set<std::string> tools;    // programs that start no other program
  std::set<std::string> asking;   // tools whose status is an answer: grep, test
  std::set<std::string> runners;  // programs that start the command after their own options
  std::set<std::string> remote;   // programs that pass a text to a shell on another machine: ssh
};
ShellPrograms read_shell_programs(const std::filesystem::path& hardware);

}  // namespace mirfak
