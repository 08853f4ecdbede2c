// Arithmetic of the shell: whole numbers of 64 bits, variables by name, assignments. Precedence as in C.

#include "import/shell_interpreter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace mirfak {

namespace {

using Number = std::int64_t;

Number wrapped(std::uint64_t value) { return static_cast<Number>(value); }
std::uint64_t bits(Number value) { return static_cast<std::uint64_t>(value); }

struct BinaryOperator {
  std::string_view sign;
  int level;
};
// Binary operators, longer ones first.
constexpr std::array kBinary = {
    BinaryOperator{"||", 1},  BinaryOperator{"&&", 2}, BinaryOperator{"==", 6}, BinaryOperator{"!=", 6},
    BinaryOperator{"<=", 7},  BinaryOperator{">=", 7}, BinaryOperator{"<<", 8}, BinaryOperator{">>", 8},
    BinaryOperator{"**", 11}, BinaryOperator{"|", 3},  BinaryOperator{"^", 4},  BinaryOperator{"&", 5},
    BinaryOperator{"<", 7},   BinaryOperator{">", 7},  BinaryOperator{"+", 9},  BinaryOperator{"-", 9},
    BinaryOperator{"*", 10},  BinaryOperator{"/", 10}, BinaryOperator{"%", 10}};

}  // namespace

namespace {

// An expression for which bash prints an error; thrown within this file only.
struct Unreadable {
  std::string why;
};

}  // namespace

class ShellArithmetic {
 public:
  ShellArithmetic(ShellInterpreter& shell, std::string_view text, std::uint32_t at, std::vector<ShellMissing>& missing,
                  int depth)
      : shell_(shell), text_(text), at_(at), missing_(missing), depth_(depth) {}

  Number whole() {
    if (skip() == '\0') return 0;
    Number out = list();
    if (skip() != '\0') fail();
    return out;
  }

 private:
  [[noreturn]] void fail() const {
    throw Unreadable{fmt::format("'{}' is not arithmetic that is understood", text_.substr(0, 60))};
  }

  char skip() {
    while (place_ < text_.size() && (text_[place_] == ' ' || text_[place_] == '\t' || text_[place_] == '\n')) ++place_;
    return place_ < text_.size() ? text_[place_] : '\0';
  }
  bool take(std::string_view sign) {
    skip();
    if (text_.compare(place_, sign.size(), sign) != 0) return false;
    place_ += sign.size();
    return true;
  }

  Number list() {
    Number out = choice();
    while (take(",")) out = choice();
    return out;
  }

  // Evaluates an expression. A variable may be assigned at its start, and not after an operator: "1 + x = 3" is an
  // error.
  Number choice(bool assigns = true) {
    if (++depth_ > 64) fail();
    skip();
    assignable_ = assigns ? place_ : std::string_view::npos;
    Number out = binary(1);
    if (skip() == '?') {
      ++place_;
      const bool first = out != 0;
      const bool was = dry_;
      dry_ = was || !first;
      const Number yes = list();
      if (!take(":")) fail();
      dry_ = was || first;
      const Number no = choice(false);
      dry_ = was;
      out = first ? yes : no;
    }
    --depth_;
    return out;
  }

  Number binary(int level) {
    Number left = unary();
    while (true) {
      skip();
      const BinaryOperator* found = nullptr;
      for (const BinaryOperator& one : kBinary) {
        if (found == nullptr && text_.compare(place_, one.sign.size(), one.sign) == 0) found = &one;
      }
      if (found == nullptr || found->level < level || assigns_behind(found->sign)) return left;
      place_ += found->sign.size();
      const bool was = dry_;
      dry_ = was || (found->sign == "&&" && left == 0) || (found->sign == "||" && left != 0);
      const Number right = binary(found->sign == "**" ? found->level : found->level + 1);
      dry_ = was;
      left = apply(found->sign, left, right);
    }
  }

  // True if `sign` belongs to an assignment: "a += 1" is no sum.
  bool assigns_behind(std::string_view sign) const {
    const std::size_t behind = place_ + sign.size();
    const bool compares = sign == "==" || sign == "!=" || sign == "<=" || sign == ">=" || sign == "&&" ||
                          sign == "||" || sign == "<" || sign == ">";
    return !compares && behind < text_.size() && text_[behind] == '=' &&
           (behind + 1 >= text_.size() || text_[behind + 1] != '=');
  }

  Number apply(std::string_view sign, Number left, Number right) {
    if (sign == "||") return (left != 0 || right != 0) ? 1 : 0;
    if (sign == "&&") return (left != 0 && right != 0) ? 1 : 0;
    if (sign == "==") return left == right ? 1 : 0;
    if (sign == "!=") return left != right ? 1 : 0;
    if (sign == "<=") return left <= right ? 1 : 0;
    if (sign == ">=") return left >= right ? 1 : 0;
    if (sign == "<") return left < right ? 1 : 0;
    if (sign == ">") return left > right ? 1 : 0;
    if (sign == "|") return left | right;
    if (sign == "^") return left ^ right;
    if (sign == "&") return left & right;
    if (sign == "<<") return wrapped(bits(left) << (bits(right) & 63U));
    if (sign == ">>") return left >> (bits(right) & 63U);
    if (sign == "+") return wrapped(bits(left) + bits(right));
    if (sign == "-") return wrapped(bits(left) - bits(right));
    if (sign == "*") return wrapped(bits(left) * bits(right));
    if (sign == "**") return power(left, right);
    return divided(sign, left, right);
  }

  Number power(Number base, Number exponent) const {
    if (exponent < 0) fail();
    std::uint64_t out = 1;
    std::uint64_t square = bits(base);
    for (std::uint64_t left = bits(exponent); left > 0; left >>= 1U) {
      if ((left & 1U) != 0) out *= square;
      square *= square;
    }
    return wrapped(out);
  }

  Number divided(std::string_view sign, Number left, Number right) {
    if (dry_) return 0;
    if (right == 0) throw Unreadable{fmt::format("'{}' divides by zero", text_.substr(0, 60))};
    if (right == -1) return sign == "/" ? wrapped(0 - bits(left)) : 0;
    return sign == "/" ? left / right : left % right;
  }

  Number unary() {
    if (++depth_ > 64) fail();
    Number out = 0;
    if (changes_behind() && take("++")) {
      out = change(variable_name(), 1, true);
    } else if (changes_behind() && take("--")) {
      out = change(variable_name(), -1, true);
    } else if (take("!")) {
      out = unary() == 0 ? 1 : 0;
    } else if (take("~")) {
      out = ~unary();
    } else if (take("-")) {
      out = wrapped(0 - bits(unary()));
    } else if (take("+")) {
      out = unary();
    } else if (take("(")) {
      out = list();
      if (!take(")")) fail();
    } else {
      out = operand();
    }
    --depth_;
    return out;
  }

  // True if the operator changes a variable: "--x" changes x, "--5" is 5.
  bool changes_behind() {
    skip();
    std::size_t i = place_ + 2;
    while (i < text_.size() && (text_[i] == ' ' || text_[i] == '\t')) ++i;
    return i < text_.size() && (std::isalpha(static_cast<unsigned char>(text_[i])) != 0 || text_[i] == '_');
  }

  std::string variable_name() {
    skip();
    std::string out;
    const auto letter = [](char sign) {
      return (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z') || sign == '_';
    };
    while (place_ < text_.size() &&
           (letter(text_[place_]) || (!out.empty() && text_[place_] >= '0' && text_[place_] <= '9')))
      out += text_[place_++];
    if (out.empty()) fail();
    if (place_ < text_.size() && text_[place_] == '[') {
      std::size_t close = place_;
      for (int open = 0; close < text_.size(); ++close) {
        if (text_[close] == '[') ++open;
        if (text_[close] == ']' && --open == 0) break;
      }
      if (close >= text_.size()) fail();
      index_ = std::string(text_.substr(place_ + 1, close - place_ - 1));
      place_ = close + 1;
    } else {
      index_.reset();
    }
    return out;
  }

  std::string index_text(const std::optional<std::string>& index) {
    if (!index) return "0";
    const ShellVariable* variable = shell_.find(name_);
    if (variable != nullptr && variable->associative) return *index;
    Number number = ShellArithmetic(shell_, *index, at_, missing_, depth_ + 1).whole();
    if (number < 0 && variable != nullptr) number += variable->end();
    if (number < 0) fail();
    return std::to_string(number);
  }

  Number value_of(const std::string& name, const std::optional<std::string>& index) {
    name_ = name;
    const ShellVariable* variable = shell_.find(name);
    const ShellText* text = variable == nullptr ? nullptr : variable->find(index_text(index));
    if (text == nullptr) {
      if (variable != nullptr && index) return 0;
      if (name == "LINENO") return shell_.sources_.where(at_).line;
      const ShellText lacking = shell_.value(name);
      missing_.insert(missing_.end(), lacking.missing.begin(), lacking.missing.end());
      return 0;
    }
    missing_.insert(missing_.end(), text->missing.begin(), text->missing.end());
    if (!text->known()) return 0;
    if (depth_ > 48) fail();
    const std::string copy = text->chars;  // the variable may change while it is evaluated
    return ShellArithmetic(shell_, copy, at_, missing_, depth_ + 8).whole();
  }

  void put(const std::string& name, const std::optional<std::string>& index, Number number) {
    if (dry_) return;
    name_ = name;
    ShellText text = shell_text(std::to_string(number), at_);
    for (const ShellMissing& one : missing_) text.lack(one.name, one.unset);
    shell_.here_ = at_;
    if (!index) return shell_.assign(name, std::move(text));
    const std::string key = index_text(index);
    shell_.state_.variables[name].array = true;
    shell_.store(name, key, std::move(text), false);
  }

  Number change(const std::string& name, Number by, bool before) {
    const std::optional<std::string> index = index_;
    const Number old = value_of(name, index);
    const Number now = wrapped(bits(old) + bits(by));
    put(name, index, now);
    return before ? now : old;
  }

  // Reads 12, 017, 0x1f, 2#101: for bases up to 36 both cases of letters are equal, otherwise lower-case letters come
  // first.
  Number number() {
    const std::size_t begin = place_;
    while (place_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[place_])) != 0 ||
                                     std::string_view("#_@").find(text_[place_]) != std::string_view::npos))
      ++place_;
    std::string_view digits = text_.substr(begin, place_ - begin);
    std::uint64_t base = 10;
    const std::size_t sharp = digits.find('#');
    if (sharp != std::string_view::npos) {
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + sharp, base);
      if (error != std::errc{} || end != digits.data() + sharp || base < 2 || base > 64 || digits[0] == '0') fail();
      digits.remove_prefix(sharp + 1);
    } else if (digits.starts_with("0x") || digits.starts_with("0X")) {
      base = 16;
      digits.remove_prefix(2);
    } else if (digits.size() > 1 && digits[0] == '0') {
      base = 8;
    }
    if (digits.empty()) fail();
    std::uint64_t out = 0;
    for (const char sign : digits) {
      std::uint64_t digit = 64;
      if (sign >= '0' && sign <= '9') digit = static_cast<std::uint64_t>(sign - '0');
      if (sign >= 'a' && sign <= 'z') digit = static_cast<std::uint64_t>(sign - 'a') + 10;
      if (sign >= 'A' && sign <= 'Z') digit = static_cast<std::uint64_t>(sign - 'A') + (base > 36 ? 36 : 10);
      if (sign == '@') digit = 62;
      if (sign == '_') digit = 63;
      if (digit >= base) fail();
      out = out * base + digit;
    }
    return wrapped(out);
  }

  Number operand() {
    const char sign = skip();
    if (sign >= '0' && sign <= '9') return number();
    const bool assigns = place_ == assignable_;
    const std::string name = variable_name();
    const std::optional<std::string> index = index_;
    if (take("++")) return index_ = index, change(name, 1, false);
    if (take("--")) return index_ = index, change(name, -1, false);
    skip();
    for (const std::string_view op : {"<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="}) {
      if (!assigns || !take(op)) continue;
      const Number old = value_of(name, index);
      const Number right = choice();
      const Number now = apply(op.substr(0, op.size() - 1), old, right);
      put(name, index, now);
      return now;
    }
    if (assigns && skip() == '=' && text_.compare(place_, 2, "==") != 0) {
      ++place_;
      const Number now = choice();
      put(name, index, now);
      return now;
    }
    return value_of(name, index);
  }

  ShellInterpreter& shell_;
  std::string_view text_;
  std::uint32_t at_;
  std::vector<ShellMissing>& missing_;
  int depth_;
  std::size_t place_ = 0;
  std::size_t assignable_ = 0;  // place at which a variable may be assigned
  bool dry_ = false;            // parses without evaluating: after && or ?
  std::optional<std::string> index_;
  std::string name_;
};

std::optional<std::int64_t> ShellInterpreter::evaluate(const ShellText& expression, std::uint32_t at,
                                                       std::vector<ShellMissing>& missing) {
  const ShellText text = expand_joined(parse_shell_quoted(expression, sources_));
  missing = text.missing;
  if (!text.known()) return std::nullopt;
  // Quotes have no effect here.
  std::string plain = text.chars;
  std::erase(plain, '"');
  try {
    const std::int64_t out = ShellArithmetic(*this, plain, at, missing, 0).whole();
    const bool known = std::all_of(missing.begin(), missing.end(), [](const ShellMissing& one) { return one.unset; });
    return known ? std::optional<std::int64_t>(out) : std::nullopt;
  } catch (const Unreadable& error) {
    // The text may be valid arithmetic if the variables are set.
    if (missing.empty()) fail(at, error.why);
    for (ShellMissing& one : missing) one.unset = false;
    return std::nullopt;
  }
}

ShellText ShellInterpreter::evaluated(const ShellText& expression, std::uint32_t at) {
  std::vector<ShellMissing> missing;
  const std::optional<std::int64_t> value = evaluate(expression, at, missing);
  ShellText out;
  if (value) out.append(std::to_string(*value), at);
  for (const ShellMissing& one : missing) out.lack(one.name, one.unset);
  return out;
}

ShellTruth ShellInterpreter::truth_of(const ShellText& expression, std::uint32_t at) {
  std::vector<ShellMissing> missing;
  const std::optional<std::int64_t> value = evaluate(expression, at, missing);
  if (!value) return ShellTruth::unknown;
  return *value != 0 ? ShellTruth::yes : ShellTruth::no;
}

}  // namespace mirfak
