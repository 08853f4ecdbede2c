#pragma once

#include "scenario/scenario.hpp"

#include <string>

namespace mirfak {

// A hash of every file in the folders of models and hardware, with its name: 16 hexadecimal digits.
std::string data_hash(const DataFolders& folders);

}  // namespace mirfak
