#pragma once

#include <filesystem>

namespace mirfak {

// The folders with the data that scenarios name.
struct DataFolders {
  std::filesystem::path models;    // models/
  std::filesystem::path hardware;  // hw_profiles/
};

// Returns the folders of models and hardware in `data`. Error(input) if one of them does not exist.
DataFolders data_folders(const std::filesystem::path& data);

// Returns the folder in `data` with the vocabulary of measured runs and the mappings of published tables.
std::filesystem::path mapping_folder(const std::filesystem::path& data);

}  // namespace mirfak
