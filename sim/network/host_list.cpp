#include "network/host_list.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

namespace mirfak {

namespace {

constexpr std::size_t kMostNames = std::size_t{1} << 20U;

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

// "1-2,05" as "1", "2", "05".
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
    if (static_cast<std::size_t>(high - low) >= kMostNames - std::min(out.size(), kMostNames)) {
      fail(list, where, "more than 2^20 names");
    }
    for (std::int64_t i = low; i <= high; ++i) out.push_back(fmt::format("{:0{}}", i, low_text.size()));
  }
  return out;
}

// One name with its brackets.
void expand_name(std::string_view name, std::string_view list, const Location& where, std::vector<std::string>& out) {
  std::vector<std::string> done = {""};
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t open = std::min(name.find('[', at), name.size());
    const std::string_view plain = name.substr(at, open - at);
    for (std::string& prefix : done) prefix += plain;
    if (open == name.size()) break;
    const std::size_t close = name.find(']', open);
    if (close == std::string_view::npos) fail(list, where, "a bracket is not closed");
    const std::vector<std::string> numbers = numbers_of(name.substr(open + 1, close - open - 1), list, where);
    if (done.size() * numbers.size() > kMostNames) fail(list, where, "more than 2^20 names");
    std::vector<std::string> next;
    for (const std::string& prefix : done) {
      for (const std::string& number : numbers) next.push_back(prefix + number);
    }
    done = std::move(next);
    at = close + 1;
  }
  out.insert(out.end(), done.begin(), done.end());
  if (out.size() > kMostNames) fail(list, where, "more than 2^20 names");
}

}  // namespace

std::vector<std::string> expand_host_list(std::string_view text, const Location& where) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') ++depth;
    if (i < text.size() && text[i] == ']') --depth;
    if (depth < 0 || depth > 1) fail(text, where, "brackets do not match");
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    const std::string_view name = trimmed(text.substr(begin, i - begin));
    if (name.empty()) fail(text, where, "a name is empty");
    expand_name(name, text, where, out);
    begin = i + 1;
  }
  if (depth != 0) fail(text, where, "a bracket is not closed");
  return out;
}

}  // namespace mirfak
