#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// A value that a script uses and does not say.
struct ShellMissing {
  std::string name;    // of a variable, or "$(hostname)"
  bool unset = false;  // a variable that nobody sets, so that bash sees nothing; else it has some value
  std::size_t at = 0;  // in front of which byte of the text it would stand
};

// Text of a script that remembers where each of its bytes stands in a file, however often it was copied from variable
// to variable, and which values it lacks.
struct ShellText {
  std::string chars;
  std::vector<std::uint32_t> origin;  // of each byte: a place in ShellSources
  std::vector<ShellMissing> missing;

  std::size_t size() const { return chars.size(); }
  bool empty() const { return chars.empty(); }
  std::vector<ShellMissing> behind;  // of an element of a list: what would stand behind it if it were set

  bool known() const;  // all of it: what is not set counts as nothing
  std::uint32_t at(std::size_t index) const { return index < origin.size() ? origin[index] : 0; }
  void add(char sign, std::uint32_t from);
  void append(const ShellText& other);
  void append(std::string_view text, std::uint32_t from);
  ShellText part(std::size_t begin, std::size_t count = std::string::npos) const;  // with all that is missing
  void lack(const std::string& name, bool unset);
};

ShellText shell_text(std::string_view text, std::uint32_t from);

// The texts that a run of the shell reader sees, one behind another in one numbering of bytes. Number 0 is no place.
class ShellSources {
 public:
  // Error(input) where all texts together are larger than 4 MiB.
  ShellText add(const std::string& name, const std::string& text);
  Location where(std::uint32_t origin) const;

 private:
  struct Source {
    std::string name;
    std::uint32_t begin;
    std::vector<std::uint32_t> lines;  // where each begins
    std::uint32_t end;
  };
  std::vector<Source> sources_;
  std::uint32_t next_ = 1;
};

}  // namespace mirfak
