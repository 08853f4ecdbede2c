#pragma once

#include "base/error.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Expands Slurm's lists of names with ranges: "n[1-2,05-10],m3", "rack[0-1]n[0-3]" (every combination). Numbers keep
// the leading zeros of the first number of their range. One object reads all lists of a file, because the total size of
// these lists is bounded.
class HostLists {
 public:
  // Returns the names in a list. Error(input) at `where` for wrong brackets or ranges, for a name of more than 255
  // characters, and for more than 2^20 names or 2^25 characters in all lists together.
  std::vector<std::string> expand(std::string_view text, const Location& where);

 private:
  std::size_t names_ = 0;
  std::size_t characters_ = 0;
};

}  // namespace mirfak
