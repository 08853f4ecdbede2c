#include "network/host_list.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

namespace mirfak {

namespace {

constexpr std::size_t kMaxNames = std::size_t{1} << 20U;
constexpr std::size_t kMaxCharacters = std::size_t{1} << 25U;
constexpr std::size_t kMaxLength = 255;  // longest name in DNS

[[noreturn]] void fail(std::string_view text, const Location& where, const std::string& message) {
  fail_input(where, fmt::format("'{}': {}", excerpt(text), message), "names are written like node[1-3,07-10],login");
}

std::int64_t number_in(std::string_view text, std::string_view list, const Location& where) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || text.size() > 15) {
    fail(list, where, "expected numbers and ranges in brackets");
  }
  return value;
}

// Splits "1-2,05" into "1", "2", "05".
std::vector<std::string> numbers_of(std::string_view inside, std::string_view list, const Location& where) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= inside.size();) {
    const std::size_t end = std::min(inside.find(',', begin), inside.size());
    const std::string_view piece = trimmed(inside.substr(begin, end - begin));
    begin = end + 1;
    const std::size_t dash = piece.find('-');
    const std::string_view low_text = piece.substr(0, dash);
    const std::int64_t low = number_in(low_text, list, where);
    const std::int64_t high = dash == std::string_view::npos ? low : number_in(piece.substr(dash + 1), list, where);
    if (high < low) fail(list, where, fmt::format("the range {} goes backwards", piece));
    if (static_cast<std::size_t>(high - low) >= kMaxNames - std::min(out.size(), kMaxNames)) {
      fail(list, where, "more than 2^20 names");
    }
    for (std::int64_t i = low; i <= high; ++i) out.push_back(fmt::format("{:0{}}", i, low_text.size()));
  }
  return out;
}

// Expands one name with its brackets.
std::vector<std::string> expand_name(std::string_view name, std::string_view list, const Location& where) {
  std::vector<std::string> done = {""};
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t open = std::min(name.find('[', at), name.size());
    const std::string_view plain = name.substr(at, open - at);
    if (done.front().size() + plain.size() > kMaxLength) fail(list, where, "a name of more than 255 characters");
    for (std::string& prefix : done) prefix += plain;
    if (open == name.size()) break;
    const std::size_t close = name.find(']', open);
    if (close == std::string_view::npos) fail(list, where, "a bracket is not closed");
    const std::vector<std::string> numbers = numbers_of(name.substr(open + 1, close - open - 1), list, where);
    if (done.size() * numbers.size() > kMaxNames) fail(list, where, "more than 2^20 names");
    std::vector<std::string> next;
    for (const std::string& prefix : done) {
      for (const std::string& number : numbers) next.push_back(prefix + number);
    }
    done = std::move(next);
    at = close + 1;
  }
  return done;
}

// Returns the names between the commas that are outside brackets.
std::vector<std::string_view> names_of(std::string_view text, const Location& where) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') ++depth;
    if (i < text.size() && text[i] == ']') --depth;
    if (depth < 0 || depth > 1) fail(text, where, "brackets do not match");
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    out.push_back(trimmed(text.substr(begin, i - begin)));
    if (out.back().empty()) fail(text, where, "a name is empty");
    begin = i + 1;
  }
  if (depth != 0) fail(text, where, "a bracket is not closed");
  return out;
}

}  // namespace

std::vector<std::string> HostLists::expand(std::string_view text, const Location& where) {
  std::vector<std::string> out;
  for (const std::string_view name : names_of(text, where)) {
    for (std::string& host : expand_name(name, text, where)) {
      characters_ += host.size();
      out.push_back(std::move(host));
    }
    if (names_ + out.size() > kMaxNames) fail(text, where, "more than 2^20 names, with those before");
    if (characters_ > kMaxCharacters) fail(text, where, "names of more than 2^25 characters, with those before");
  }
  names_ += out.size();
  return out;
}

}  // namespace mirfak
