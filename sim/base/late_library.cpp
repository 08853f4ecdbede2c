// A program loads all libraries that it is linked with before its first instruction, those of a solver and of a file
// format included, with all that these libraries need in turn: 12 ms of processor time, more than most commands take.
// The code that calls such a library is a library itself (a module of CMake), loaded when it is first called.

#include "base/late_library.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <string>
#include <system_error>

#include <dlfcn.h>
#include <link.h>

namespace mirfak {

namespace {

namespace fs = std::filesystem;

// Returns the folder of the program, or of the shared library, that this code is in; empty if it is not known.
fs::path own_folder() {
  Dl_info info{};
  void* extra = nullptr;
  if (dladdr1(reinterpret_cast<const void*>(&late_function), &info, &extra, RTLD_DL_LINKMAP) == 0) return {};
  const std::string name = static_cast<const link_map*>(extra)->l_name;
  if (!name.empty()) return fs::path(name).parent_path();  // the program itself has no name there
  std::error_code unknown;
  return fs::read_symlink("/proc/self/exe", unknown).parent_path();
}

// Returns the library's file in the first folder that has it, or its bare name, for the dynamic loader to find.
std::string file_of(const std::string& name) {
  const fs::path own = own_folder();
  const std::array folders = {own, own.parent_path() / MIRFAK_LATE_INSTALLED, fs::path(MIRFAK_LATE_BUILT)};
  for (const fs::path& folder : folders) {
    std::error_code unknown;
    if (folder.is_absolute() && fs::is_regular_file(folder / name, unknown)) return (folder / name).string();
  }
  return name;
}

}  // namespace

void* late_function(std::string_view library, const char* function) {
  const std::string name = fmt::format("mirfak-{}.so", library);
  void* const loaded = dlopen(file_of(name).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) fail_internal(fmt::format("cannot load {}: {}", name, dlerror()));
  void* const found = dlsym(loaded, function);
  if (found == nullptr) fail_internal(fmt::format("{} is of another version of mirfak: {}", name, dlerror()));
  return found;
}

}  // namespace mirfak
