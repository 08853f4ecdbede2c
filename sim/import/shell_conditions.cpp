// [ ], test and [[ ]]: with three values, as some conditions hang on what no script says.

#include "import/shell_interpreter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <regex>

namespace mirfak {

namespace {

ShellTruth truth(bool value) { return value ? ShellTruth::yes : ShellTruth::no; }
ShellTruth negated(ShellTruth value) { return value == ShellTruth::unknown ? value : truth(value == ShellTruth::no); }
ShellTruth both(ShellTruth left, ShellTruth right) {
  if (left == ShellTruth::no || right == ShellTruth::no) return ShellTruth::no;
  return left == ShellTruth::yes && right == ShellTruth::yes ? ShellTruth::yes : ShellTruth::unknown;
}
ShellTruth either(ShellTruth left, ShellTruth right) { return negated(both(negated(left), negated(right))); }

constexpr std::array<std::string_view, 14> kBinaryTests = {"=",   "==",  "!=",  "<",   ">",  "-eq", "-ne",
                                                           "-lt", "-le", "-gt", "-ge", "=~", "-ef", "-nt"};

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
    const ShellVariable* variable = find(text.chars);
    return truth(variable != nullptr && !variable->items.empty());
  }
  if (op == "-t") return ShellTruth::no;
  if (std::string_view("abcdefghkprstuwxGLNOS").find(op[1]) == std::string_view::npos) return ShellTruth::no;
  // Files that the script has written are there; of others nothing is known.
  const bool written =
      std::any_of(run_.files.begin(), run_.files.end(), [&](const auto& file) { return file.first == text.chars; });
  if (written && (op == "-f" || op == "-e" || op == "-s" || op == "-r")) return ShellTruth::yes;
  return text.known() && text.empty() ? ShellTruth::no : ShellTruth::unknown;
}

// `pattern` is `right` with quoted signs escaped.
ShellTruth ShellInterpreter::compare(const ShellText& left, const std::string& op, const ShellText& right,
                                     const ShellText& pattern, std::uint32_t at) {
  if (op == "-ef" || op == "-nt") return ShellTruth::unknown;
  if (!left.known() || !right.known()) return ShellTruth::unknown;
  if (op == "=" || op == "==") return truth(fits_shell_pattern(left.chars, pattern.chars));
  if (op == "!=") return truth(!fits_shell_pattern(left.chars, pattern.chars));
  if (op == "<") return truth(left.chars < right.chars);
  if (op == ">") return truth(left.chars > right.chars);
  if (op == "=~") {
    constexpr std::size_t longest = 300;
    if (left.size() > longest || right.size() > longest)
      fail(at, "a regular expression over a text of more than 300 bytes");
    try {
      return truth(std::regex_search(left.chars, std::regex(right.chars, std::regex::extended)));
    } catch (const std::regex_error&) {
      fail(at, fmt::format("'{}' is not a regular expression that is understood", right.chars));
    }
  }
  const auto first = integer(left.chars);
  const auto second = integer(right.chars);
  return first && second ? numbers(op, *first, *second) : ShellTruth::no;  // bash: an error, which is false
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
    out = either(out, condition_and(node, at));
  }
  return out;
}

ShellTruth ShellInterpreter::condition_and(const ShellNode& node, std::size_t& at) {
  ShellTruth out = condition_one(node, at);
  while (at < node.tokens.size() && node.tokens[at].op == "&&") {
    ++at;
    out = both(out, condition_one(node, at));
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
    const ShellText left = expand_joined(tokens[at].word);
    if (op.size() == 3 && op[0] == '-' && op != "-ef") {
      std::vector<ShellMissing> missing;
      const auto first = evaluate(left, node.at, missing);
      const auto second = evaluate(expand_joined(tokens[at + 2].word), node.at, missing);
      out = first && second ? numbers(op, *first, *second) : ShellTruth::unknown;
    } else {
      out = compare(left, op, expand_joined(tokens[at + 2].word), expand_pattern(tokens[at + 2].word), node.at);
    }
    at += 3;
  } else if (is_unary(plain(at)) && word_behind) {
    out = unary(plain(at), expand_joined(tokens[at + 1].word));
    at += 2;
  } else {
    out = unary("-n", expand_joined(tokens[at].word));
    ++at;
  }
  --depth_;
  return out;
}

// --- [ ... ] and test, by the number of words

ShellTruth ShellInterpreter::test(const std::vector<ShellField>& fields, std::uint32_t at) {
  std::vector<ShellField> there;
  for (const ShellField& field : fields) {
    // A value that is not known and stands without quotes may be no word or several.
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
    return is_unary(word(0).chars) ? unary(word(0).chars, word(1)) : ShellTruth::no;
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
  return ShellTruth::no;  // bash: an error, which is false
}

}  // namespace mirfak
