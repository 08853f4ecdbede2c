// [ ], test and [[ ]] with three values, as some conditions depend on values that no script states.

#include "import/shell_interpreter.hpp"

#include <fmt/format.h>

#include <regex.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace mirfak {

namespace {

ShellTruth truth(bool value) { return value ? ShellTruth::yes : ShellTruth::no; }
ShellTruth negated(ShellTruth value) { return value == ShellTruth::unknown ? value : truth(value == ShellTruth::no); }
ShellTruth both(ShellTruth left, ShellTruth right) {
  if (left == ShellTruth::no || right == ShellTruth::no) return ShellTruth::no;
  return left == ShellTruth::yes && right == ShellTruth::yes ? ShellTruth::yes : ShellTruth::unknown;
}
ShellTruth either(ShellTruth left, ShellTruth right) { return negated(both(negated(left), negated(right))); }

constexpr std::array<std::string_view, 15> kBinaryTests = {"=",   "==",  "!=",  "<",  ">",   "-eq", "-ne", "-lt",
                                                           "-le", "-gt", "-ge", "=~", "-ef", "-nt", "-ot"};

bool is_binary(std::string_view op) {
  return std::find(kBinaryTests.begin(), kBinaryTests.end(), op) != kBinaryTests.end();
}
bool is_unary(std::string_view op) {
  return op.size() == 2 && op[0] == '-' && std::isalpha(static_cast<unsigned char>(op[1])) != 0;
}

std::optional<std::int64_t> integer(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

ShellTruth numbers(std::string_view op, std::int64_t left, std::int64_t right) {
  if (op == "-eq") return truth(left == right);
  if (op == "-ne") return truth(left != right);
  if (op == "-lt") return truth(left < right);
  if (op == "-le") return truth(left <= right);
  if (op == "-gt") return truth(left > right);
  return truth(left >= right);
}

}  // namespace

ShellTruth ShellInterpreter::unary(const std::string& op, const ShellText& text) {
  if (op == "-z" || op == "-n") {
    if (!text.empty()) return truth(op == "-n");
    return text.known() ? truth(op == "-z") : ShellTruth::unknown;
  }
  if (op == "-v") {
    const std::size_t open = text.chars.find('[');
    const ShellVariable* variable = find(text.chars.substr(0, open));
    if (variable == nullptr) return ShellTruth::no;
    if (open == std::string::npos) return truth(variable->find("0") != nullptr);
    const ShellText inside = text.part(open + 1, text.size() - open - 2);
    std::vector<ShellMissing> missing;
    const auto index = index_of(variable, parse_shell_word(inside, sources_), missing);
    return index ? truth(variable->find(*index) != nullptr) : ShellTruth::unknown;
  }
  if (op == "-t") return ShellTruth::no;
  if (std::string_view("abcdefghkprsuwxGLNOS").find(op[1]) == std::string_view::npos) return ShellTruth::unknown;
  if (text.empty() && text.known()) return ShellTruth::no;
  // Files that the script has written or removed, and the given files, are known; all other files are not.
  const bool of_text = op == "-f" || op == "-e" || op == "-s" || op == "-r";
  const std::string path = path_of(text);
  const auto file = files_.find(path);
  if (file != files_.end() && !file->second) return ShellTruth::no;
  if (!of_text || path.empty()) return ShellTruth::unknown;
  if (file != files_.end()) return op == "-s" ? truth(!file->second->empty()) : ShellTruth::yes;
  const auto found = setup_.find_file ? setup_.find_file(path) : std::nullopt;
  if (found && !found->elsewhere && !state_.astray) return op == "-s" ? truth(!found->text.empty()) : ShellTruth::yes;
  return ShellTruth::unknown;
}

namespace {

// True if nested repetitions {n} have too large a product, which would need unbounded memory.
bool repeats_too_often(std::string_view pattern) {
  std::int64_t product = 1;
  for (std::size_t at = pattern.find('{'); at != std::string_view::npos; at = pattern.find('{', at + 1)) {
    std::int64_t most = 1;
    std::int64_t number = 0;
    for (std::size_t i = at + 1; i < pattern.size() && pattern[i] != '}'; ++i) {
      number = pattern[i] >= '0' && pattern[i] <= '9'
                   ? std::min<std::int64_t>(100'000, number * 10 + (pattern[i] - '0'))
                   : 0;
      most = std::max(most, number);
    }
    product *= std::max<std::int64_t>(1, most);
    if (product > 1000) return true;
  }
  return false;
}

}  // namespace

// Evaluates =~, and sets BASH_REMATCH. Quoted signs of the pattern have a backslash before them.
ShellTruth ShellInterpreter::matches(const ShellText& text, const ShellText& pattern, std::uint32_t at) {
  constexpr std::size_t longest = 300;
  if (text.size() > longest || pattern.size() > longest || repeats_too_often(pattern.chars))
    fail(at, "a regular expression over a text of more than 300 bytes, or with more than 1,000 repetitions");
  if (text.chars.find('\0') != std::string::npos || pattern.chars.find('\0') != std::string::npos)
    fail(at, "a regular expression with a zero byte");
  spend(256 * (text.size() + 1) * (pattern.size() + 1) / 16, at);
  regex_t compiled;
  if (regcomp(&compiled, pattern.chars.c_str(), REG_EXTENDED) != 0)
    fail(at, fmt::format("'{}' is not a regular expression that is understood", pattern.chars));
  std::vector<regmatch_t> found(compiled.re_nsub + 1);
  const bool fits = regexec(&compiled, text.chars.c_str(), found.size(), found.data(), 0) == 0;
  regfree(&compiled);
  ShellVariable& groups = state_.variables["BASH_REMATCH"];
  groups = {};
  groups.array = true;
  for (std::size_t i = 0; fits && i < found.size(); ++i) {
    const bool taken = found[i].rm_so >= 0;
    const auto begin = static_cast<std::size_t>(std::max<regoff_t>(0, found[i].rm_so));
    groups.at(std::to_string(i)) =
        taken ? text.part(begin, static_cast<std::size_t>(found[i].rm_eo) - begin) : ShellText{};
  }
  return truth(fits);
}

// Compares two texts; `pattern` is `right` with quoted signs escaped.
ShellTruth ShellInterpreter::compare(const ShellText& left, const std::string& op, const ShellText& right,
                                     const ShellText& pattern, std::uint32_t at) {
  if (op == "-ef" || op == "-nt" || op == "-ot") return ShellTruth::unknown;
  if (!left.known() || !right.known()) {
    if (op == "=~") {
      ShellText nothing;
      for (const ShellMissing& one : left.missing) nothing.lack(one.name, one.unset);
      for (const ShellMissing& one : right.missing) nothing.lack(one.name, one.unset);
      ShellVariable& groups = state_.variables["BASH_REMATCH"];
      groups = {};
      groups.lacks = nothing.missing;
    }
    return ShellTruth::unknown;
  }
  if (op == "=" || op == "==") return truth(fits_shell_pattern(left.chars, pattern.chars));
  if (op == "!=") return truth(!fits_shell_pattern(left.chars, pattern.chars));
  if (op == "<") return truth(left.chars < right.chars);
  if (op == ">") return truth(left.chars > right.chars);
  if (op == "=~") return matches(left, pattern, at);
  const auto first = integer(left.chars);
  const auto second = integer(right.chars);
  if (first && second) return numbers(op, *first, *second);
  // An error in bash, which is false; an unset value may be a number nevertheless.
  if (left.missing.empty() && right.missing.empty()) return failed(2);
  return ShellTruth::unknown;
}

// --- [[ ... ]]

ShellTruth ShellInterpreter::condition(const ShellNode& node) {
  std::size_t at = 0;
  const ShellTruth out = condition_or(node, at);
  if (at != node.tokens.size()) fail(node.at, "a condition that is not understood");
  return out;
}

ShellTruth ShellInterpreter::condition_or(const ShellNode& node, std::size_t& at) {
  ShellTruth out = condition_and(node, at);
  while (at < node.tokens.size() && node.tokens[at].op == "||") {
    ++at;
    const bool dry = std::exchange(dry_, dry_ || out == ShellTruth::yes);
    const ShellTruth right = condition_and(node, at);
    dry_ = dry;
    if (out != ShellTruth::yes) out = either(out, right);
  }
  return out;
}

ShellTruth ShellInterpreter::condition_and(const ShellNode& node, std::size_t& at) {
  ShellTruth out = condition_one(node, at);
  while (at < node.tokens.size() && node.tokens[at].op == "&&") {
    ++at;
    const bool dry = std::exchange(dry_, dry_ || out == ShellTruth::no);
    const ShellTruth right = condition_one(node, at);
    dry_ = dry;
    if (out != ShellTruth::no) out = both(out, right);
  }
  return out;
}

ShellTruth ShellInterpreter::condition_one(const ShellNode& node, std::size_t& at) {
  const std::vector<ShellConditionToken>& tokens = node.tokens;
  step(node.at);
  if (at >= tokens.size() || ++depth_ > 200) fail(node.at, "a condition that is not understood");
  ShellTruth out = ShellTruth::no;
  const auto plain = [&](std::size_t index) {
    return index < tokens.size() && tokens[index].op.empty() ? tokens[index].word.plain().value_or("") : std::string();
  };
  const auto op_at = [&](std::size_t index) {
    return index >= tokens.size() ? std::string() : tokens[index].op.empty() ? plain(index) : tokens[index].op;
  };
  const bool word_behind = at + 1 < tokens.size() && tokens[at + 1].op.empty();
  if (tokens[at].op == "!") {
    ++at;
    out = negated(condition_one(node, at));
  } else if (tokens[at].op == "(") {
    ++at;
    out = condition_or(node, at);
    if (at >= tokens.size() || tokens[at].op != ")") fail(node.at, "'(' without ')'");
    ++at;
  } else if (!tokens[at].op.empty()) {
    fail(node.at, "a condition that is not understood");
  } else if (at + 2 < tokens.size() && is_binary(op_at(at + 1)) && tokens[at + 2].op.empty()) {
    const std::string op = op_at(at + 1);
    if (dry_) {  // after && or ||: not expanded
      at += 3;
      --depth_;
      return ShellTruth::no;
    }
    const ShellText left = expand_joined(tokens[at].word);
    if (op.size() == 3 && op[0] == '-' && op != "-ef" && op != "-nt" && op != "-ot") {
      std::vector<ShellMissing> missing;
      const auto first = evaluate(left, node.at, missing);
      const auto second = evaluate(expand_joined(tokens[at + 2].word), node.at, missing);
      out = first && second ? numbers(op, *first, *second) : ShellTruth::unknown;
    } else if (op == "=~") {
      const ShellText pattern = expand_regular(tokens[at + 2].word);
      out = compare(left, op, pattern, pattern, node.at);
    } else {
      out = compare(left, op, expand_joined(tokens[at + 2].word), expand_pattern(tokens[at + 2].word), node.at);
    }
    at += 3;
  } else if (is_unary(plain(at)) && word_behind) {
    if (!dry_) out = unary(plain(at), expand_joined(tokens[at + 1].word));
    at += 2;
  } else {
    if (!dry_) out = unary("-n", expand_joined(tokens[at].word));
    ++at;
  }
  --depth_;
  return out;
}

// --- [ ... ] and test, by the number of words

ShellTruth ShellInterpreter::test(const std::vector<ShellField>& fields, std::uint32_t at) {
  std::vector<ShellField> there;
  for (const ShellField& field : fields) {
    // An unknown value without quotes may be no word or several.
    if (field.vanishes && !field.text.known()) return ShellTruth::unknown;
    if (!field.vanishes) there.push_back(field);
  }
  return test_range(there, 0, there.size(), at);
}

ShellTruth ShellInterpreter::test_range(const std::vector<ShellField>& fields, std::size_t begin, std::size_t end,
                                        std::uint32_t at) {
  step(at);
  const std::size_t count = end - begin;
  const auto word = [&](std::size_t index) -> const ShellText& { return fields[begin + index].text; };
  if (count == 0) return ShellTruth::no;
  if (count == 1) return unary("-n", word(0));
  if (count == 2) {
    if (word(0).chars == "!") return negated(test_range(fields, begin + 1, end, at));
    return is_unary(word(0).chars) ? unary(word(0).chars, word(1)) : failed(2);
  }
  if (count == 3 && is_binary(word(1).chars)) {
    ShellText pattern;
    for (std::size_t i = 0; i < word(2).size(); ++i) {
      pattern.add('\\', 0);
      pattern.add(word(2).chars[i], 0);
    }
    return compare(word(0), word(1).chars, word(2), pattern, at);
  }
  for (const std::string_view sign : {"-o", "-a"}) {
    for (std::size_t i = 1; i + 1 < count; ++i) {
      if (word(i).chars != sign) continue;
      const ShellTruth left = test_range(fields, begin, begin + i, at);
      const ShellTruth right = test_range(fields, begin + i + 1, end, at);
      return sign == "-o" ? either(left, right) : both(left, right);
    }
  }
  if (word(0).chars == "!") return negated(test_range(fields, begin + 1, end, at));
  if (word(0).chars == "(" && word(count - 1).chars == ")") return test_range(fields, begin + 1, end - 1, at);
  return failed(2);  // an error in bash, which is false
}

}  // namespace mirfak
