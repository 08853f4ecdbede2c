#include "base/error.hpp"

#include <fmt/format.h>

#include <utility>

namespace mirfak {

std::string Location::text() const {
  if (line <= 0) return file;
  return fmt::format("{}:{}:{}", file, line, column);
}

namespace {

// "file:3:11: message", the line with a caret under the column, and the hint.
std::string render(const Location& where, const std::string& message, const std::string& hint,
                   const std::string& source_line) {
  std::string out = where.known() ? where.text() + ": " + message : message;
  if (!source_line.empty() && where.line > 0) {
    const std::string gutter = fmt::format("{:>5} | ", where.line);
    const auto indent = static_cast<std::size_t>(where.column > 0 ? where.column - 1 : 0);
    out += fmt::format("\n{}{}\n{:>{}}{}^", gutter, source_line, "| ", gutter.size(), std::string(indent, ' '));
  }
  if (!hint.empty()) out += "\n  " + hint;
  return out;
}

}  // namespace

Error::Error(ErrorKind kind, Location where, std::string message, std::string hint, std::string source_line)
    : std::runtime_error(render(where, message, hint, source_line)),
      kind_(kind),
      where_(std::move(where)),
      message_(std::move(message)),
      hint_(std::move(hint)) {}

void fail_input(const Location& where, std::string message, std::string hint) {
  throw Error(ErrorKind::input, where, std::move(message), std::move(hint));
}

void fail_infeasible(const Location& where, std::string message, std::string hint) {
  throw Error(ErrorKind::infeasible, where, std::move(message), std::move(hint));
}

void fail_internal(std::string message) { throw Error(ErrorKind::internal, {}, std::move(message)); }

}  // namespace mirfak
