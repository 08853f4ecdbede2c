#pragma once

#include <filesystem>

namespace mirfak {

// Where the data that scenarios name is found.
struct DataFolders {
  std::filesystem::path models;    // models/
  std::filesystem::path hardware;  // hw_profiles/
};

}  // namespace mirfak
