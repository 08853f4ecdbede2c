// Arithmetic of the shell: whole numbers of 64 bits, variables by name, assignments. Precedence as in C.

#include "import/shell_interpreter.hpp"

#include <fmt/format.h>

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
// The longer ones first.
constexpr std::array kBinary = {
    BinaryOperator{"||", 1},  BinaryOperator{"&&", 2}, BinaryOperator{"==", 6}, BinaryOperator{"!=", 6},
    BinaryOperator{"<=", 7},  BinaryOperator{">=", 7}, BinaryOperator{"<<", 8}, BinaryOperator{">>", 8},
    BinaryOperator{"**", 11}, BinaryOperator{"|", 3},  BinaryOperator{"^", 4},  BinaryOperator{"&", 5},
    BinaryOperator{"<", 7},   BinaryOperator{">", 7},  BinaryOperator{"+", 9},  BinaryOperator{"-", 9},
    BinaryOperator{"*", 10},  BinaryOperator{"/", 10}, BinaryOperator{"%", 10}};

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
    shell_.fail(at_, fmt::format("'{}' is not arithmetic that is understood", text_.substr(0, 60)));
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

  Number choice() {
    if (++depth_ > 64) fail();
    Number out = binary(1);
    if (skip() == '?') {
      ++place_;
      const bool first = out != 0;
      const bool was = dry_;
      dry_ = was || !first;
      const Number yes = list();
      if (!take(":")) fail();
      dry_ = was || first;
      const Number no = choice();
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

  // "a += 1" is no sum.
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
    if (right == 0 && unknown_) return 0;
    if (right == 0) shell_.fail(at_, fmt::format("'{}' divides by zero", text_.substr(0, 60)));
    if (right == -1) return sign == "/" ? wrapped(0 - bits(left)) : 0;
    return sign == "/" ? left / right : left % right;
  }

  Number unary() {
    if (++depth_ > 64) fail();
    Number out = 0;
    if (take("++")) {
      out = change(variable_name(), 1, true);
    } else if (take("--")) {
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
      const std::size_t close = text_.find(']', place_);
      if (close == std::string_view::npos) fail();
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
    return std::to_string(ShellArithmetic(shell_, *index, at_, missing_, depth_ + 1).whole());
  }

  Number value_of(const std::string& name, const std::optional<std::string>& index) {
    name_ = name;
    const ShellVariable* variable = shell_.find(name);
    const ShellText* text = variable == nullptr ? nullptr : variable->find(index_text(index));
    if (text == nullptr) {
      missing_.push_back({name, true});
      return 0;
    }
    for (const ShellMissing& one : text->missing) {
      missing_.push_back(one);
      unknown_ = unknown_ || !one.unset;
    }
    if (!text->known()) return 0;
    if (depth_ > 48) fail();
    const std::string copy = text->chars;  // the variable may change while it is read
    return ShellArithmetic(shell_, copy, at_, missing_, depth_ + 8).whole();
  }

  void put(const std::string& name, const std::optional<std::string>& index, Number number) {
    if (dry_) return;
    name_ = name;
    ShellText text = shell_text(std::to_string(number), at_);
    for (const ShellMissing& one : missing_) text.lack(one.name, one.unset);
    if (!index) return shell_.assign(name, std::move(text));
    const std::string key = index_text(index);
    ShellVariable& variable = shell_.state_.variables[name];
    variable.array = true;
    variable.at(key) = std::move(text);
  }

  Number change(const std::string& name, Number by, bool before) {
    const std::optional<std::string> index = index_;
    const Number old = value_of(name, index);
    const Number now = wrapped(bits(old) + bits(by));
    put(name, index, now);
    return before ? now : old;
  }

  Number number() {
    const std::size_t begin = place_;
    while (place_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[place_])) != 0 ||
                                     text_[place_] == '#' || text_[place_] == '_'))
      ++place_;
    std::string_view digits = text_.substr(begin, place_ - begin);
    int base = 10;
    const std::size_t sharp = digits.find('#');
    if (sharp != std::string_view::npos) {
      std::from_chars(digits.data(), digits.data() + sharp, base);
      if (base < 2 || base > 36) fail();
      digits.remove_prefix(sharp + 1);
    } else if (digits.starts_with("0x") || digits.starts_with("0X")) {
      base = 16;
      digits.remove_prefix(2);
    } else if (digits.size() > 1 && digits[0] == '0') {
      base = 8;
    }
    Number out = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out, base);
    if (error != std::errc{} || end != digits.data() + digits.size()) fail();
    return out;
  }

  Number operand() {
    const char sign = skip();
    if (sign >= '0' && sign <= '9') return number();
    const std::string name = variable_name();
    const std::optional<std::string> index = index_;
    if (take("++")) return index_ = index, change(name, 1, false);
    if (take("--")) return index_ = index, change(name, -1, false);
    skip();
    for (const std::string_view op : {"<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="}) {
      if (!take(op)) continue;
      const Number old = value_of(name, index);
      const Number right = choice();
      const Number now = apply(op.substr(0, op.size() - 1), old, right);
      put(name, index, now);
      return now;
    }
    if (skip() == '=' && text_.compare(place_, 2, "==") != 0) {
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
  bool dry_ = false;      // not evaluated: behind && or ?
  bool unknown_ = false;  // some value is not known
  std::optional<std::string> index_;
  std::string name_;
};

std::optional<std::int64_t> ShellInterpreter::evaluate(const ShellText& expression, std::uint32_t at,
                                                       std::vector<ShellMissing>& missing) {
  const ShellText text = expand_joined(parse_shell_quoted(expression, sources_));
  missing = text.missing;
  if (!text.known()) return std::nullopt;
  // Quotes mean nothing here.
  std::string plain = text.chars;
  std::erase(plain, '"');
  const std::int64_t out = ShellArithmetic(*this, plain, at, missing, 0).whole();
  for (const ShellMissing& one : missing) {
    if (!one.unset) return std::nullopt;
  }
  return out;
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
