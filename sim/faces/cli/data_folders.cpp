#include "cli/data_folders.hpp"

#include <cstdlib>
#include <system_error>

namespace mirfak {

namespace fs = std::filesystem;

namespace {

// Returns the folder that the environment names; null if it names none.
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

}  // namespace mirfak
