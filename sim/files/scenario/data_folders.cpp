#include "scenario/data_folders.hpp"

#include "base/error.hpp"
#include "base/read_files.hpp"

#include <system_error>

namespace mirfak {

namespace fs = std::filesystem;

DataFolders data_folders(const fs::path& data) {
  DataFolders folders{data / "models", data / "hw_profiles"};
  for (const fs::path& folder : {folders.models, folders.hardware}) {
    std::error_code unknown;
    if (fs::is_directory(folder, unknown)) continue;
    fail_input({folder.string(), 0, 0}, "there is no such folder; models and hardware are read from it",
               "name the folder that holds models/ and hw_profiles/ with --data or in the environment as MIRFAK_DATA");
  }
  note_data_folders({folders.models, folders.hardware});
  return folders;
}

fs::path mapping_folder(const fs::path& data) { return data / "validate" / "published"; }

}  // namespace mirfak
