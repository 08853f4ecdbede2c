#pragma once

#include "import/import_formats.hpp"
#include "import/shell_script.hpp"

#include <optional>
#include <span>
#include <string>

namespace mirfak {

// Returns the file that another one, `from`, names: the given file whose path has the longest common end with `name`,
// else the file of this path, relative to the folder of `from`, to mirfak's working folder, or to one of the four
// folders above `from`; else a file of this name next to `from`. nullopt: none, or this thread may not read it
// (named_files.hpp). Error(input) if it has more than 2 MiB.
std::optional<ShellFile> file_beside(std::span<const ImportFile> files, const std::string& name,
                                     const std::string& from);

}  // namespace mirfak
