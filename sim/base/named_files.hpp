#pragma once

#include "base/document.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// While one lives, this thread reads no file that a document of another names: for who reads scenarios that come over
// a network. `document`: the name of such documents, at whose places files are refused before anyone looks whether they
// are there; `folders`: where all that is read lies, whoever asks for it, and by whatever links. Scopes do not nest.
class NoNamedFiles {
 public:
  NoNamedFiles(std::string document, const std::vector<std::filesystem::path>& folders);
  ~NoNamedFiles();
  NoNamedFiles(const NoNamedFiles&) = delete;
  NoNamedFiles& operator=(const NoNamedFiles&) = delete;
};

// Called by whoever takes `name`, which stands at a place, for the path of a file. Error(input) where the document
// there may name none.
void refuse_named_file(const Location& asked_at, std::string_view name);
void refuse_named_file(const Node& name);

// Called with every file that is opened to be read. Error(input) where it lies in none of the folders.
void refuse_file_outside(const std::filesystem::path& path);

}  // namespace mirfak
