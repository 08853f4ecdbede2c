#pragma once

#include "base/document.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// While a NoNamedFiles lives, this thread reads no file that a document of another user names: for programs that read
// scenarios from a network. `document`: the name of these documents. A file that one of them names is refused, at the
// place of its name, before the program checks that the file exists. `folders`: every file that is read must lie in one
// of them, whoever asks for the file, and after links are followed. Scopes do not nest.
class NoNamedFiles {
 public:
  NoNamedFiles(std::string document, const std::vector<std::filesystem::path>& folders);
  ~NoNamedFiles();
  NoNamedFiles(const NoNamedFiles&) = delete;
  NoNamedFiles& operator=(const NoNamedFiles&) = delete;
};

// Called by code that takes `name`, which stands at a place in a document, for the path of a file. Error(input) if that
// document may not name files.
void refuse_named_file(const Location& asked_at, std::string_view name);
void refuse_named_file(const Node& name);

// True if this thread may read `path`; code that looks for a file nobody has to have asks before it looks.
bool may_read_file(const std::filesystem::path& path);

// Called with every file that is opened to be read. Error(input) if the file lies in none of the folders of
// NoNamedFiles.
void refuse_file_outside(const std::filesystem::path& path);

}  // namespace mirfak
