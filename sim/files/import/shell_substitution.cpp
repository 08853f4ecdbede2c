#include "import/shell_substitution.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

namespace mirfak {

namespace {

constexpr std::size_t kLongestSearched = 4000;
constexpr std::size_t kLongestPattern = 500;
// Escapes that GNU's sed has beyond POSIX, which std::regex reads as something else; in basic expressions "+?|", too.
constexpr std::string_view kOwnEscapes = "n<>`'bBwWsScdox";
constexpr std::string_view kSpecialSigns = ".*[]^$+?{}()|";

// Reads one script of sed, such as s/a/b/;s|c|d|g.
class ScriptReader {
 public:
  ScriptReader(const ShellText& script, bool extended) : script_(script), extended_(extended) {}

  // Appends the substitutions; false: a command of another kind.
  bool read(std::vector<ShellSubstitution>& into) {
    while (true) {
      at_ = std::min(script_.chars.find_first_not_of(" \t\n;", at_), script_.size());
      if (at_ == script_.size()) return true;
      std::optional<ShellSubstitution> one = command();
      if (!one) return false;
      into.push_back(std::move(*one));
    }
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < script_.size() ? script_.chars[at_ + ahead] : '\0'; }

  std::optional<ShellSubstitution> command() {
    const char parts = peek(1);
    const bool fits = peek() == 's' && parts != '\0' && parts != '\\' && parts != '\n' &&
                      std::isalnum(static_cast<unsigned char>(parts)) == 0;
    if (!fits) return std::nullopt;
    at_ += 2;
    ShellSubstitution out;
    const std::optional<std::string> written = pattern(parts);
    if (!written || !replacement(parts, out)) return std::nullopt;
    for (; peek() == 'g'; ++at_) out.all = true;
    if (at_ < script_.size() && std::string_view(" \t\n;").find(peek()) == std::string_view::npos) return std::nullopt;
    try {
      out.pattern.assign(*written, extended_ ? std::regex::extended : std::regex::basic);
    } catch (const std::regex_error&) {
      return std::nullopt;
    }
    return out;
  }

  std::optional<std::string> pattern(char parts) {
    std::string out;
    for (; peek() != parts; ++at_) {
      if (at_ == script_.size() || peek() == '\n' || out.size() > kLongestPattern) return std::nullopt;
      if (peek() != '\\') {
        out += peek();
        continue;
      }
      const char next = peek(1);
      const bool own = kOwnEscapes.find(next) != std::string_view::npos ||
                       (!extended_ && std::string_view("+?|").find(next) != std::string_view::npos);
      const bool ambiguous = next == parts && kSpecialSigns.find(next) != std::string_view::npos;
      if (next == '\0' || own || ambiguous) return std::nullopt;
      if (next != parts) out += '\\';
      out += next;
      ++at_;
    }
    ++at_;
    return out.empty() ? std::nullopt : std::optional(out);  // an empty pattern is the last one used
  }

  bool replacement(char parts, ShellSubstitution& into) {
    const auto add = [&](char sign, std::size_t from) {
      if (into.replacement.empty() || into.replacement.back().group) into.replacement.emplace_back();
      into.replacement.back().text.add(sign, script_.at(from));
    };
    for (; peek() != parts; ++at_) {
      if (at_ == script_.size()) return false;
      const char sign = peek();
      const char next = peek(1);
      if (sign == '&') {
        into.replacement.push_back({0, {}});
      } else if (sign != '\\') {
        add(sign, at_);
      } else if (next >= '1' && next <= '9') {
        into.replacement.push_back({static_cast<std::size_t>(next - '0'), {}});
        ++at_;
      } else {
        const bool letter = std::isalpha(static_cast<unsigned char>(next)) != 0;
        if (next == '\0' || (letter && next != 'n' && next != parts)) return false;
        add(next == 'n' ? '\n' : next, at_ + 1);
        ++at_;
      }
    }
    ++at_;
    return true;
  }

  const ShellText& script_;
  bool extended_;
  std::size_t at_ = 0;
};

// Appends the replacement of a match; `searched`: the text from where the search began.
void append_replacement(const ShellSubstitution& by, const std::smatch& match, const ShellText& searched,
                        ShellText& into) {
  for (const ShellSubstitution::Part& part : by.replacement) {
    if (!part.group) {
      into.append(part.text);
    } else if (*part.group < match.size() && match[*part.group].matched) {
      into.append(searched.part(static_cast<std::size_t>(match.position(*part.group)),
                                static_cast<std::size_t>(match.length(*part.group))));
    }
  }
}

ShellText substituted_line(const ShellText& line, const ShellSubstitution& by) {
  ShellText out;
  std::size_t from = 0;
  bool behind = false;  // a match ends at `from`, where nothing does not match once more
  for (bool more = true; more && from <= line.size();) {
    std::smatch match;
    const auto flags = from == 0 ? std::regex_constants::match_default : std::regex_constants::match_prev_avail;
    const auto begin = line.chars.begin() + static_cast<std::ptrdiff_t>(from);
    if (!std::regex_search(begin, line.chars.end(), match, by.pattern, flags)) break;
    const auto before = static_cast<std::size_t>(match.position(0));
    const auto length = static_cast<std::size_t>(match.length(0));
    const bool again = length == 0 && before == 0 && behind;
    out.append(line.part(from, before));
    if (!again) append_replacement(by, match, line.part(from), out);
    from += before + length;
    if (length == 0 && from < line.size()) out.append(line.part(from, 1));
    if (length == 0) ++from;
    behind = length > 0;
    more = by.all || again;
  }
  if (from < line.size()) out.append(line.part(from));
  return out;
}

}  // namespace

std::optional<ShellSubstitutions> substitutions_of(const std::vector<ShellField>& fields) {
  ShellSubstitutions out;
  std::vector<ShellText> scripts;
  std::vector<ShellText> plain;
  bool extended = false;
  for (std::size_t i = 1; i < fields.size(); ++i) {
    const std::string& word = fields[i].text.chars;
    if (word == "-e" || word == "--expression") {
      if (++i == fields.size()) return std::nullopt;
      scripts.push_back(fields[i].text);
    } else if (word == "-E" || word == "-r" || word == "--regexp-extended") {
      extended = true;
    } else if (word.starts_with("-i") || word.starts_with("--in-place")) {
      out.in_place = true;
    } else if (word.size() > 1 && word[0] == '-') {
      return std::nullopt;
    } else {
      plain.push_back(fields[i].text);
    }
  }
  if (scripts.empty()) {
    if (plain.empty()) return std::nullopt;
    scripts.push_back(plain.front());
    plain.erase(plain.begin());
  }
  for (const ShellText& script : scripts) {
    if (!ScriptReader(script, extended).read(out.list)) return std::nullopt;
  }
  out.files = std::move(plain);
  return out;
}

std::optional<ShellText> substituted(const ShellText& input, const ShellSubstitutions& by) {
  ShellText out;
  for (std::size_t at = 0; at < input.size();) {
    const std::size_t end = std::min(input.chars.find('\n', at), input.size());
    if (end - at > kLongestSearched) return std::nullopt;
    ShellText line = input.part(at, end - at);
    for (const ShellSubstitution& one : by.list) {
      line = substituted_line(line, one);
      if (line.size() > kLongestSearched) return std::nullopt;
    }
    out.append(line);
    if (end < input.size()) out.append(input.part(end, 1));
    at = end + 1;
  }
  return out;
}

}  // namespace mirfak
