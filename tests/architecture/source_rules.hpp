#pragma once

#include <string>
#include <vector>

namespace mirfak::architecture {

// The rules of the tree that no compiler checks. Each function returns one line per violation, "path:line: what is
// wrong", or "path: what is wrong" where no line is to blame; an empty result means that the rule holds.

struct SourceFile {
  std::string path;  // relative to the top of the tree, with '/'
  std::string text;
};

// A layer of sim/: a folder of rooms, or, as the lowest, one room. A room may include itself and those before it, in
// its layer or in one below.
struct Layer {
  std::string name;
  std::vector<std::string> rooms;
};
const std::vector<Layer>& layers();

// For a file of sim/: it is in a room, a quoted include is "room/file" of its own room or of one before it, and a
// library that belongs to one room is included only there.
std::vector<std::string> include_violations(const SourceFile& file);

std::vector<std::string> length_violations(const SourceFile& file, int longest);

// Words that mark unfinished work, as words of their own.
std::vector<std::string> unfinished_violations(const SourceFile& file);

// A comment begins with its noun or verb, not with "What", "Of", "Whether" or the like; lines that continue it begin as
// they like. For C++, CUDA, JavaScript, Python (docstrings, too), shell, CMake and YAML; other files have no
// violations.
std::vector<std::string> comment_violations(const SourceFile& file);

// `entries` are names of files and folders at the top of the tree.
std::vector<std::string> top_level_violations(const std::vector<std::string>& entries);

// `paths` are all files under sim/: each room has a README.md, and each folder is a room.
std::vector<std::string> room_violations(const std::vector<std::string>& paths);

}  // namespace mirfak::architecture
