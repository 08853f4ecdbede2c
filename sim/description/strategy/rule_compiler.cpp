// Compiler of rules: one pass over the tokens by recursive descent. Every function emits the code of what it read and
// returns the type. A text in quotes has no type of its own: its constant is filled in when the field that it is
// compared with determines the enumeration.
//
//   disjunction: conjunction {or conjunction}        sum:     product {(+ | -) product}
//   conjunction: negation {and negation}             product: signed {(* | / | // | %) signed}
//   negation:    not negation | comparison           signed:  (- | +) signed | primary
//   comparison:  sum {relation sum}                  primary: number | text | true | false | name | ( disjunction )
//              | sum [not] in ([literals] | name)

#include "strategy/rule_compiler.hpp"

#include "base/text.hpp"
#include "strategy/rule_tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mirfak {

namespace {

using Operation = RuleOperation;

constexpr int kMaxNesting = 32;

enum class Type : std::uint8_t { number, truth, choice, modules, text };

// Type and origin of a part of a rule whose code has been emitted.
struct Part {
  Type type = Type::number;
  bool whole = true;                                // number without a fraction
  const std::vector<std::string>* names = nullptr;  // choice or modules: names of the values
  std::size_t at = 0;                               // index of its first byte
  std::string name;                                 // field or text: its name
  std::size_t constant = 0;                         // text or number: index of its constant
  bool literal = false;                             // number that is written out
};

struct Sign {
  std::string_view sign;
  Operation operation;
};
constexpr std::array<Sign, 6> kRelations = {{{"==", Operation::equal},
                                             {"!=", Operation::not_equal},
                                             {"<", Operation::less},
                                             {"<=", Operation::less_equal},
                                             {">", Operation::greater},
                                             {">=", Operation::greater_equal}}};
constexpr std::array<Sign, 2> kSums = {{{"+", Operation::add}, {"-", Operation::subtract}}};
constexpr std::array<Sign, 4> kProducts = {{{"*", Operation::multiply},
                                            {"/", Operation::divide},
                                            {"//", Operation::floor_divide},
                                            {"%", Operation::remainder}}};
constexpr std::array<std::string_view, 6> kWords = {"and", "or", "not", "in", "true", "false"};

bool is_equality(Operation relation) { return relation == Operation::equal || relation == Operation::not_equal; }

class Compiler {
 public:
  Compiler(const Node& rule, const RuleVocabulary& vocabulary)
      : rule_(rule), vocabulary_(vocabulary), tokens_(tokens_of_rule(rule)) {}

  RuleProgram compile() {
    require_truth(disjunction());
    if (token().kind != RuleToken::Kind::end) unexpected("the end of the rule");
    return std::move(program_);
  }

 private:
  class Nesting {
   public:
    explicit Nesting(Compiler& compiler) : depth_(compiler.depth_) {
      if (++depth_ > kMaxNesting) {
        compiler.rule_.fail_at(compiler.token().at, fmt::format("nested deeper than {} levels", kMaxNesting));
      }
    }
    ~Nesting() { --depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    int& depth_;
  };

  const RuleToken& token() const { return tokens_[next_]; }
  RuleToken take() { return tokens_[next_++]; }
  bool is_sign(std::string_view sign) const { return token().kind == RuleToken::Kind::sign && token().text == sign; }
  bool is_word(std::string_view word) const { return token().kind == RuleToken::Kind::name && token().text == word; }
  bool take_sign(std::string_view sign) {
    const bool there = is_sign(sign);
    if (there) ++next_;
    return there;
  }
  bool take_word(std::string_view word) {
    const bool there = is_word(word);
    if (there) ++next_;
    return there;
  }
  template <std::size_t n>
  std::optional<Operation> take_one_of(const std::array<Sign, n>& signs) {
    for (const Sign& sign : signs) {
      if (take_sign(sign.sign)) return sign.operation;
    }
    return std::nullopt;
  }

  [[noreturn]] void unexpected(std::string_view expected) const {
    const RuleToken& found = token();
    if (found.kind == RuleToken::Kind::end) {
      rule_.fail_at(found.at, fmt::format("expected {}, but the rule ends", expected));
    }
    rule_.fail_at(found.at, fmt::format("expected {}, found '{}'", expected, excerpt(found.text)));
  }

  std::size_t emit(Operation operation, std::size_t a = 0, std::size_t b = 0) {
    program_.code.push_back({operation, static_cast<std::uint16_t>(a), static_cast<std::uint16_t>(b)});
    return program_.code.size() - 1;
  }
  std::size_t add_constant(double value) {
    program_.constants.push_back(value);
    return program_.constants.size() - 1;
  }
  void go_on_here(const std::vector<std::size_t>& jumps) {
    for (const std::size_t jump : jumps) program_.code[jump].a = static_cast<std::uint16_t>(program_.code.size());
  }

  Part disjunction() {
    return joined("or", Operation::or_else, [this] { return conjunction(); });
  }
  Part conjunction() {
    return joined("and", Operation::and_then, [this] { return negation(); });
  }

  template <typename Operand>
  Part joined(std::string_view word, Operation jump, Operand operand) {
    Part part = operand();
    std::vector<std::size_t> jumps;
    while (is_word(word)) {
      require_truth(part);
      ++next_;
      jumps.push_back(emit(jump));
      const Part right = operand();
      require_truth(right);
      part = truth_at(part.at);
    }
    go_on_here(jumps);
    return part;
  }

  Part negation() {
    const std::size_t at = token().at;
    if (!take_word("not")) return comparison();
    const Nesting nesting(*this);
    require_truth(negation());
    emit(Operation::invert);
    return truth_at(at);
  }

  Part comparison() {
    Part left = sum();
    const std::size_t at = left.at;
    const bool negated = is_word("not") && tokens_[next_ + 1].text == "in";
    if (negated) ++next_;
    if (take_word("in")) {
      membership(left);
      if (negated) emit(Operation::invert);
      return truth_at(at);
    }
    std::vector<std::size_t> jumps;
    std::optional<Operation> relation = take_one_of(kRelations);
    if (!relation) return left;
    while (true) {
      const Part right = sum();
      const std::size_t end = token().at;  // start of the next token, blanks before it included
      require_comparable(*relation, left, right);
      const std::optional<Operation> following = take_one_of(kRelations);
      if (following) emit(Operation::tuck);
      program_.comparisons.push_back({left.at, end});
      emit(*relation, program_.comparisons.size() - 1);
      if (!following) break;
      jumps.push_back(emit(Operation::and_chain));
      relation = following;
      left = right;
    }
    go_on_here(jumps);
    return truth_at(at);
  }

  void membership(const Part& left) {
    if (take_sign("[")) {
      if (left.type == Type::text || left.type == Type::modules) {
        rule_.fail_at(left.at, "expected a field in front of 'in [...]'", "for example tensor in [1, 2, 4]");
      }
      const std::size_t first = program_.constants.size();
      do add_constant(literal_like(left));
      while (take_sign(","));
      if (!take_sign("]")) unexpected("',' or ']'");
      emit(Operation::member, first, program_.constants.size() - first);
      return;
    }
    const Part set = primary();
    if (set.type != Type::modules) {
      rule_.fail_at(set.at, "expected a list behind 'in'", "for example tensor in [1, 2, 4]");
    }
    if (left.type != Type::text) rule_.fail_at(left.at, "expected the name of a module, such as 'moe'");
    emit(Operation::has_bit, index_of(left.name, left.at, set));
  }

  // Returns the constant of one item of a list, as a value of the field in front of `in`.
  double literal_like(const Part& left) {
    const std::size_t at = token().at;
    if (left.type == Type::choice && token().kind == RuleToken::Kind::text) {
      return static_cast<double>(index_of(take().text, at, left));
    }
    if (left.type == Type::truth && (is_word("true") || is_word("false"))) return take().text == "true" ? 1 : 0;
    if (left.type != Type::number) unexpected(left.type == Type::choice ? "a text in quotes" : "true or false");
    const bool negative = take_sign("-");
    if (token().kind != RuleToken::Kind::number) unexpected("a number");
    return negative ? -take().number : take().number;
  }

  Part sum() {
    return computed(kSums, [this] { return product(); });
  }
  Part product() {
    return computed(kProducts, [this] { return with_sign(); });
  }

  template <std::size_t n, typename Operand>
  Part computed(const std::array<Sign, n>& signs, Operand operand) {
    Part left = operand();
    while (true) {
      const std::size_t at = token().at;
      const std::optional<Operation> operation = take_one_of(signs);
      if (!operation) return left;
      const Part right = operand();
      require_computable(*operation, left, right, at);
      program_.places.push_back(rule_.place_of(at));
      emit(*operation, program_.places.size() - 1);
      left = number_at(left.at, *operation != Operation::divide && left.whole && right.whole);
    }
  }

  Part with_sign() {
    const std::size_t at = token().at;
    const bool negative = is_sign("-");
    if (!negative && !is_sign("+")) return primary();
    const Nesting nesting(*this);
    ++next_;
    const Part part = with_sign();
    require_number(part);
    if (negative) emit(Operation::negate);
    return number_at(at, part.whole);
  }

  Part primary() {
    const std::size_t at = token().at;
    if (take_sign("(")) {
      const Nesting nesting(*this);
      Part part = disjunction();
      if (!take_sign(")")) unexpected("')'");
      part.at = at;
      return part;
    }
    if (token().kind == RuleToken::Kind::number) return number();
    if (token().kind == RuleToken::Kind::text) return text();
    if (is_word("true") || is_word("false")) {
      emit(Operation::constant, add_constant(take().text == "true" ? 1 : 0));
      return truth_at(at);
    }
    if (token().kind == RuleToken::Kind::name && !is_reserved(token().text)) return field();
    unexpected("a number, a name or '('");
  }

  static bool is_reserved(std::string_view word) {
    return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
  }

  Part number() {
    const RuleToken found = take();
    Part part = number_at(found.at, found.number == std::floor(found.number));
    part.constant = add_constant(found.number);
    part.literal = true;
    emit(Operation::constant, part.constant);
    return part;
  }

  Part text() {
    RuleToken found = take();
    Part part;
    part.type = Type::text;
    part.at = found.at;
    part.name = std::move(found.text);
    part.constant = add_constant(0);
    emit(Operation::constant, part.constant);
    return part;
  }

  Part field() {
    RuleToken found = take();
    const auto table = vocabulary_.fields;
    const auto info = std::find_if(table.begin(), table.end(), [&](const auto& i) { return i.name == found.text; });
    if (info == table.end()) unknown_name(found);
    const auto index = static_cast<std::size_t>(info - table.begin());
    const auto named = static_cast<std::uint16_t>(index);
    std::vector<std::uint16_t>& fields = program_.fields;
    if (std::find(fields.begin(), fields.end(), named) == fields.end()) fields.push_back(named);
    emit(Operation::field, index);
    Part part;
    constexpr std::array<Type, 4> types = {Type::number, Type::truth, Type::choice, Type::modules};
    part.type = types[static_cast<std::size_t>(info->type)];
    part.whole = info->whole;
    part.names = info->names == nullptr ? nullptr : &info->names();
    part.at = found.at;
    part.name = std::move(found.text);
    return part;
  }

  [[noreturn]] void unknown_name(const RuleToken& found) const {
    std::vector<std::string> names(kWords.begin(), kWords.end());
    for (const RuleFieldInfo& info : vocabulary_.fields) names.emplace_back(info.name);
    std::string hint = did_you_mean(found.text, names, std::string(vocabulary_.otherwise));
    for (const RuleFieldInfo& info : vocabulary_.fields) {
      if (info.name.ends_with("." + found.text)) hint = fmt::format("did you mean '{}'?", info.name);
      if (info.names == nullptr) continue;
      const std::vector<std::string>& values = info.names();
      if (std::find(values.begin(), values.end(), found.text) == values.end()) continue;
      hint = fmt::format("a value of {} is written in quotes: '{}'", info.name, found.text);
    }
    rule_.fail_at(found.at, fmt::format("unknown name '{}'", excerpt(found.text)), hint);
  }

  // Returns the index of a text among the values of the enumeration `field`.
  std::size_t index_of(const std::string& text, std::size_t at, const Part& field) const {
    const auto found = std::find(field.names->begin(), field.names->end(), text);
    if (found != field.names->end()) return static_cast<std::size_t>(found - field.names->begin());
    rule_.fail_at(
        at, fmt::format("'{}' is not a value of {}: expected {}", excerpt(text), field.name, join_or(*field.names)),
        did_you_mean(text, *field.names, ""));
  }

  static Part number_at(std::size_t at, bool whole) {
    Part part;
    part.whole = whole;
    part.at = at;
    return part;
  }
  static Part truth_at(std::size_t at) {
    Part part;
    part.type = Type::truth;
    part.at = at;
    return part;
  }

  static std::string described(const Part& part) {
    const std::string name = part.name.empty() ? std::string() : fmt::format(" '{}'", excerpt(part.name));
    constexpr std::array<std::string_view, 5> kinds = {"a number", "true or false", "a choice", "a set of modules",
                                                       "a text"};
    return fmt::format("{}{}", kinds[static_cast<std::size_t>(part.type)], name);
  }

  void require_truth(const Part& part) const {
    if (part.type == Type::truth) return;
    rule_.fail_at(part.at, fmt::format("expected a condition, found {}", described(part)),
                  fmt::format("compare it with something, for example {}", vocabulary_.examples));
  }

  void require_number(const Part& part) const {
    if (part.type != Type::number) rule_.fail_at(part.at, "expected a number, found " + described(part));
  }

  void require_computable(Operation operation, const Part& left, const Part& right, std::size_t at) const {
    require_number(left);
    require_number(right);
    const bool rounds = operation == Operation::floor_divide || operation == Operation::remainder;
    if (rounds && !(left.whole && right.whole)) {
      rule_.fail_at(at, "expected whole numbers on both sides", "'//' divides and rounds down, '/' leaves a fraction");
    }
    const bool divides = rounds || operation == Operation::divide;
    if (divides && right.literal && program_.constants[right.constant] == 0) {
      rule_.fail_at(right.at, "division by zero");
    }
  }

  void require_comparable(Operation relation, const Part& left, const Part& right) {
    if (left.type == Type::text && right.type == Type::choice) return fill_in(relation, left, right);
    if (left.type == Type::choice && right.type == Type::text) return fill_in(relation, right, left);
    if (left.type == Type::modules || right.type == Type::modules) {
      rule_.fail_at(left.at, "a set of modules is not compared", "write 'moe' in recompute_modules");
    }
    if (left.type != right.type || left.type == Type::text || left.names != right.names) {
      rule_.fail_at(right.at, fmt::format("{} cannot be compared with {}", described(left), described(right)));
    }
    require_order(relation, right);
  }

  void fill_in(Operation relation, const Part& text, const Part& choice) {
    program_.constants[text.constant] = static_cast<double>(index_of(text.name, text.at, choice));
    require_order(relation, choice);
  }

  void require_order(Operation relation, const Part& part) const {
    if (is_equality(relation) || part.type == Type::number) return;
    rule_.fail_at(part.at, fmt::format("{} has no order", described(part)), "compare it with == or !=");
  }

  const Node& rule_;
  const RuleVocabulary& vocabulary_;
  std::vector<RuleToken> tokens_;
  std::size_t next_ = 0;
  int depth_ = 0;
  RuleProgram program_;
};

}  // namespace

RuleVocabulary strategy_vocabulary() {
  return {rule_fields(), "rules name the keys of a strategy, and sizes of the model and the job", "tensor <= 8",
          "tensor <= 8 or recompute == 'full'"};
}

RuleProgram compile_rule(const Node& rule, const RuleVocabulary& vocabulary) {
  if (!rule.is_scalar())
    rule.fail(fmt::format("expected a rule such as {}, found {}", vocabulary.example, rule.described()));
  return Compiler(rule, vocabulary).compile();
}

}  // namespace mirfak
