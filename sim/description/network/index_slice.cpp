#include "network/index_slice.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace mirfak {

namespace {

constexpr const char* kHint = "write [i], [from:to] or [from:to:step], as Python does; [:] or nothing is all";

[[noreturn]] void fail(const std::string& text, const Node& where, const std::string& message) {
  where.fail(fmt::format("'{}': {}", excerpt(text), message), kHint);
}

std::optional<int> number_in(std::string_view piece, const std::string& text, const Node& where) {
  piece = trimmed(piece);
  if (piece.empty()) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(piece.data(), piece.data() + piece.size(), value);
  if (error != std::errc() || end != piece.data() + piece.size()) fail(text, where, "expected whole numbers");
  return value;
}

// Returns the text in the brackets; nullopt: there are no brackets.
std::optional<std::string> inside_brackets(const std::string& text, const Node& where) {
  const std::size_t open = text.find('[');
  if (open == std::string::npos) {
    if (text.find(']') != std::string::npos) fail(text, where, "a bracket is closed that was not opened");
    return std::nullopt;
  }
  if (text.back() != ']' || text.find('[', open + 1) != std::string::npos || text.find(']') + 1 != text.size()) {
    fail(text, where, "expected one pair of brackets at the end");
  }
  return text.substr(open + 1, text.size() - open - 2);
}

// Returns a bound of a slice: from 0 to `count`; a negative bound counts from the end.
int bound(std::optional<int> stated, int fallback, int count, const std::string& text, const Node& where) {
  if (!stated) return fallback;
  const int value = *stated < 0 ? *stated + count : *stated;
  if (value < 0 || value > count) {
    fail(text, where, fmt::format("{} is beyond the {} that there are", *stated, count));
  }
  return value;
}

}  // namespace

std::string slice_name(const std::string& text, const Node& where) {
  std::string name(trimmed(std::string_view(text).substr(0, text.find('['))));
  if (name.empty()) fail(text, where, "expected a name");
  return name;
}

IndexSlice read_slice(const std::string& text, int count, const Node& where) {
  IndexSlice out{slice_name(text, where), {}};
  const std::optional<std::string> inside = inside_brackets(text, where);
  std::vector<std::optional<int>> pieces;
  if (inside) {
    for (std::size_t begin = 0; begin <= inside->size();) {
      const std::size_t end = std::min(inside->find(':', begin), inside->size());
      pieces.push_back(number_in(std::string_view(*inside).substr(begin, end - begin), text, where));
      begin = end + 1;
    }
    if (pieces.size() == 1) {
      if (!pieces.front()) fail(text, where, "expected a number in the brackets");
      const int index = bound(pieces.front(), 0, count, text, where);
      if (index >= count) fail(text, where, fmt::format("{} is beyond the {} that there are", *pieces.front(), count));
      out.indices.push_back(index);
      return out;
    }
    if (pieces.size() > 3) fail(text, where, "expected at most two colons");
  }
  pieces.resize(3);
  const int step = pieces[2].value_or(1);
  if (step == 0) fail(text, where, "a step of 0 leads nowhere");
  const int first = bound(pieces[0], step > 0 ? 0 : count - 1, count, text, where);
  const int last = bound(pieces[1], step > 0 ? count : -1, count, text, where);
  for (std::int64_t i = first; step > 0 ? i < last : i > last; i += step) {
    if (i >= 0 && i < count) out.indices.push_back(static_cast<int>(i));
  }
  if (out.indices.empty() && count > 0) fail(text, where, "no element is in this slice");
  return out;
}

}  // namespace mirfak
