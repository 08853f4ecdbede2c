#include "base/characters.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>
#include <boost/locale/utf.hpp>

namespace mirfak {

void check_characters(std::string_view text, const std::string& name, const std::string& expected) {
  using Utf8 = boost::locale::utf::utf_traits<char>;
  Location where{name, 1, 1};
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const char* const begin = at;
    const boost::locale::utf::code_point character = Utf8::decode(at, end);
    std::string problem;
    if (character == boost::locale::utf::illegal || character == boost::locale::utf::incomplete) {
      problem = fmt::format("the byte 0x{:02x} is not UTF-8 text", static_cast<unsigned char>(*begin));
    } else if ((character < 0x20 && character != '\t' && character != '\n' && character != '\r') || character == 0x7f) {
      problem = fmt::format("the control character 0x{:02x} does not belong in this file", character);
    }
    if (!problem.empty()) {
      throw Error(ErrorKind::input, where, std::move(problem), expected, nth_line(text, where.line));
    }
    where.column = character == '\n' ? 1 : where.column + static_cast<int>(at - begin);
    where.line += character == '\n' ? 1 : 0;
  }
}

}  // namespace mirfak
