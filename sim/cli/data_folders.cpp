#include "cli/data_folders.hpp"

#include "base/error.hpp"

#include <cstdlib>
#include <system_error>

namespace mirfak {

namespace fs = std::filesystem;

namespace {

// Null unless the environment names a folder.
const char* folder_of_environment() {
  const char* chosen = std::getenv("MIRFAK_DATA");
  return chosen != nullptr && *chosen != '\0' ? chosen : nullptr;
}

}  // namespace

fs::path default_data_folder() {
  if (const char* chosen = folder_of_environment()) return chosen;
  std::error_code unknown;
  const fs::path program = fs::read_symlink("/proc/self/exe", unknown);
  const fs::path installed = program.parent_path().parent_path() / "share" / "mirfak";
  return !unknown && fs::is_directory(installed, unknown) ? installed : fs::path(MIRFAK_DEFAULT_DATA);
}

boost::program_options::typed_value<std::string>* data_folder_option(std::string& data) {
  return boost::program_options::value(&data)
      ->default_value(default_data_folder().string(), folder_of_environment() ? "$MIRFAK_DATA" : "built-in")
      ->value_name("FOLDER");
}

DataFolders data_folders(const fs::path& data) {
  DataFolders folders{data / "models", data / "hw_profiles"};
  for (const fs::path& folder : {folders.models, folders.hardware}) {
    std::error_code unknown;
    if (fs::is_directory(folder, unknown)) continue;
    fail_input({folder.string(), 0, 0}, "there is no such folder; models and hardware are read from it",
               "name the folder that holds models/ and hw_profiles/ with --data or in the environment as MIRFAK_DATA");
  }
  return folders;
}

fs::path mapping_folder(const fs::path& data) { return data / "validate" / "published"; }

}  // namespace mirfak
