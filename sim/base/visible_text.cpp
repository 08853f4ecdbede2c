#include "base/visible_text.hpp"

#include <fmt/format.h>
#include <boost/locale/utf.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace mirfak {

namespace {

enum class Kept { nothing, lines, lines_and_colours };

bool is_hidden(boost::locale::utf::code_point character) {
  const auto within = [=](unsigned first, unsigned last) { return character >= first && character <= last; };
  return character < 0x20 || within(0x7f, 0x9f) || within(0x200e, 0x200f) || within(0x2028, 0x202e) ||
         within(0x2066, 0x2069);
}

// Returns the length of the sequence at the beginning of a text that changes a terminal's colours: "\033[1;31m"; 0: no
// such sequence.
std::size_t colour_length(std::string_view text) {
  if (!text.starts_with("\033[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

// True if the whole text is printable ASCII, as most texts are, and needs no change.
bool is_plain(std::string_view text, Kept kept) {
  return std::all_of(text.begin(), text.end(), [=](unsigned char c) {
    return (c >= 0x20 && c < 0x7f) || (kept != Kept::nothing && (c == '\n' || c == '\t'));
  });
}

std::string visible(std::string text, Kept kept) {
  using Utf8 = boost::locale::utf::utf_traits<char>;
  if (is_plain(text, kept)) return text;
  std::string out;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const char* const begin = at;
    const std::size_t colour = kept == Kept::lines_and_colours ? colour_length({at, end}) : 0;
    if (colour > 0) {
      at += colour;
      out.append(begin, at);
      continue;
    }
    const boost::locale::utf::code_point character = Utf8::decode(at, end);
    if (!boost::locale::utf::is_valid_codepoint(character)) {
      at = begin + 1;
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(*begin));
    } else if (is_hidden(character) && (kept == Kept::nothing || (character != '\n' && character != '\t'))) {
      out += fmt::format("\\u{:04x}", character);
    } else {
      out.append(begin, at);
    }
  }
  return out;
}

}  // namespace

std::string visible_text(std::string text) { return visible(std::move(text), Kept::lines); }

std::string visible_name(std::string name) { return visible(std::move(name), Kept::nothing); }

std::string visible_coloured_text(std::string text) { return visible(std::move(text), Kept::lines_and_colours); }

}  // namespace mirfak
