#pragma once

#include <filesystem>

namespace mirfak {

// Where the data that scenarios name is found.
struct DataFolders {
  std::filesystem::path models;    // models/
  std::filesystem::path hardware;  // hw_profiles/
};

// The folders of models and hardware in `data`. Throws Error(input) if one of them is not there.
DataFolders data_folders(const std::filesystem::path& data);

// Where the vocabulary of measured runs and the mappings of published tables are found in `data`.
std::filesystem::path mapping_folder(const std::filesystem::path& data);

}  // namespace mirfak
