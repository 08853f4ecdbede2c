#pragma once

#include "base/error.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Slurm's lists of names with ranges: "n[1-2,05-10],m3", "rack[0-1]n[0-3]" (every combination). Numbers keep the zeros
// that the first of a range is written with. One reader for a file: what all its lists hold together is bounded.
class HostLists {
 public:
  // Error(input) at `where` for brackets or ranges that are wrong, for a name of more than 255 characters, and for more
  // than 2^20 names or 2^25 characters in all.
  std::vector<std::string> expand(std::string_view text, const Location& where);

 private:
  std::size_t names_ = 0;
  std::size_t characters_ = 0;
};

}  // namespace mirfak
