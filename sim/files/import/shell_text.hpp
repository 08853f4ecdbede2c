#pragma once

#include "base/error.hpp"
#include "import/argument_words.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// A value that a script uses and does not define.
struct ShellMissing {
  std::string name;    // name of a variable, or "$(hostname)"
  bool unset = false;  // the variable is never set, so that bash sees nothing; false: it has some value
  std::size_t at = 0;  // byte of the text before which the value would stand
};

// Text of a script. Each byte keeps its place in a file, however often the text was copied from variable to variable,
// and the text lists the values that it lacks.
struct ShellText {
  std::string chars;
  std::vector<std::uint32_t> origin;  // place in ShellSources, for each byte
  std::vector<ShellMissing> missing;

  std::size_t size() const { return chars.size(); }
  bool empty() const { return chars.empty(); }
  std::vector<ShellMissing> behind;  // for an element of a list: values that would follow it if they were set

  bool known() const;  // true if the whole text is known; unset variables count as empty
  std::uint32_t at(std::size_t index) const { return index < origin.size() ? origin[index] : 0; }
  void add(char sign, std::uint32_t from);
  void append(const ShellText& other);
  void append(std::string_view text, std::uint32_t from);
  ShellText part(std::size_t begin, std::size_t count = std::string::npos) const;  // missing values included
  void lack(const std::string& name, bool unset);
};

ShellText shell_text(std::string_view text, std::uint32_t from);

// The texts that a run of the shell reader sees, with one continuous numbering of bytes. Number 0 is no place.
class ShellSources {
 public:
  // Error(input) if all texts together are larger than 4 MiB.
  ShellText add(const std::string& name, const std::string& text);
  Location where(std::uint32_t origin) const;
  std::vector<WrittenPart> parts(const ShellText& text) const;  // places of all bytes

 private:
  struct Source {
    std::string name;
    std::uint32_t begin;
    std::vector<std::uint32_t> lines;  // number of the first byte of each line
    std::uint32_t end;
  };
  std::vector<Source> sources_;
  std::uint32_t next_ = 1;
};

}  // namespace mirfak
