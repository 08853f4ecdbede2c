#pragma once

#include "base/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Slurm's list of names with ranges: "n[1-2,05-10],m3", "rack[0-1]n[0-3]" (every combination). Numbers keep the zeros
// that the first of a range is written with. Error(input) at `where` for brackets or ranges that are wrong and for more
// than 2^20 names.
std::vector<std::string> expand_host_list(std::string_view text, const Location& where);

}  // namespace mirfak
