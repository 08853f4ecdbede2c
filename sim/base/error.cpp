#include "base/error.hpp"

#include "base/visible_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace mirfak {

std::string Location::text() const {
  if (line <= 0) return file;
  return fmt::format("{}:{}:{}", file, line, column);
}

namespace {

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// The shown part of the offending line: the whole line if it is short, else the part around the column. Tabs and other
// control characters become spaces, so that the caret, which counts characters, stands at the right place.
struct Quote {
  std::string text;
  std::size_t caret = 0;  // characters before the caret; npos: no caret
};

Quote quote(const std::string& line, int column) {
  constexpr std::size_t longest = 110;
  constexpr std::size_t before = 70;
  std::size_t at = column > 0 ? static_cast<std::size_t>(column - 1) : line.size() + 1;
  std::size_t begin = line.size() > longest && at <= line.size() && at > before ? at - before : 0;
  while (begin > 0 && !starts_character(line[begin])) --begin;
  std::size_t end = std::min(line.size(), begin + longest);
  while (end < line.size() && !starts_character(line[end])) ++end;

  Quote out;
  out.text = begin > 0 ? "..." : "";
  out.caret = at > line.size() ? std::string::npos : out.text.size();
  for (std::size_t i = begin; i < end; ++i) {
    const auto byte = static_cast<unsigned char>(line[i]);
    out.text += byte < 0x20 || byte == 0x7f ? ' ' : line[i];
    if (i < at && out.caret != std::string::npos && starts_character(line[i])) ++out.caret;
  }
  if (end < line.size()) out.text += "...";
  return out;
}

// Returns "file:3:11: message", the line with a caret under the column, and the hint.
std::string render(const Location& where, const std::string& message, const std::string& hint,
                   const std::string& source_line) {
  std::string out = where.known() ? visible_name(where.text()) + ": " + message : message;
  if (!source_line.empty() && where.line > 0) {
    const Quote quoted = quote(source_line, where.column);
    const std::string gutter = fmt::format("{:>5} | ", where.line);
    out += fmt::format("\n{}{}", gutter, quoted.text);
    if (quoted.caret != std::string::npos) {
      out += fmt::format("\n{:>{}}{:>{}}", "| ", gutter.size(), "^", quoted.caret + 1);
    }
  }
  if (!hint.empty()) out += "\n  " + hint;
  return out;
}

// True if a word looks like a path, which may be longer than other quotes in a message.
bool names_file(std::string_view word) {
  if (word.starts_with('\'') || word.starts_with('"') || word.starts_with('(')) word.remove_prefix(1);
  return word.starts_with('/') || word.starts_with("./") || word.starts_with("../");
}

void append_cut(std::string_view text, std::size_t most, std::string& out) {
  if (text.size() <= most) {
    out += text;
    return;
  }
  while (most > 0 && !starts_character(text[most])) --most;
  out += text.substr(0, most);
  out += "...";
}

// Cuts the quotes of the user's files in a message: words between blanks, and text between quotation marks.
std::string with_short_quotes(std::string message) {
  constexpr std::size_t longest = 200;
  constexpr std::size_t longest_path = 4096;
  if (message.size() <= longest) return message;
  constexpr std::string_view blanks = " \t\n\r";
  std::string out;
  const std::string_view all = message;
  for (std::size_t at = 0; at < all.size();) {
    const bool quoted = all[at] == '\'' && (at == 0 || blanks.find(all[at - 1]) != std::string_view::npos);
    const std::size_t close = quoted ? all.find('\'', at + 1) : std::string_view::npos;
    const std::size_t end =
        std::min(all.size(), close == std::string_view::npos ? all.find_first_of(blanks, at) : close + 1);
    const std::string_view word = all.substr(at, end - at);
    append_cut(word, names_file(word) ? longest_path : longest, out);
    if (quoted && close != std::string_view::npos && word.size() > longest) out += '\'';
    at = end;
    for (; at < all.size() && blanks.find(all[at]) != std::string_view::npos; ++at) out += all[at];
  }
  return out;
}

// Cuts long quotes, and replaces control characters, so that a terminal can show the message.
std::string presentable(std::string message) { return visible_text(with_short_quotes(std::move(message))); }

}  // namespace

Error::Error(ErrorKind kind, Location where, std::string message, std::string hint, const std::string& source_line)
    : std::runtime_error(render(where, presentable(message), presentable(hint), source_line)),
      kind_(kind),
      where_(std::move(where)),
      message_(presentable(std::move(message))),
      hint_(presentable(std::move(hint))) {}

void fail_input(const Location& where, std::string message, std::string hint) {
  throw Error(ErrorKind::input, where, std::move(message), std::move(hint));
}

void fail_infeasible(const Location& where, std::string message, std::string hint) {
  throw Error(ErrorKind::infeasible, where, std::move(message), std::move(hint));
}

void fail_internal(std::string message) { throw Error(ErrorKind::internal, {}, std::move(message)); }

}  // namespace mirfak
