#pragma once

#include <string_view>

namespace mirfak {

// Loads a late library of this program (mirfak_late_library in sim/CMakeLists.txt) and returns the address of one of
// its functions, which never becomes invalid. The library is looked for beside the file that this code is in, where it
// is installed, in the build folder, and where the dynamic loader looks. Error(internal) if it is nowhere, or cannot be
// loaded. Thread-safe.
void* late_function(std::string_view library, const char* function);

}  // namespace mirfak
