#include "formula/parser.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

namespace mirfak::formula {

namespace {

constexpr std::array<Sign, 17> kSigns = {{{"", Kind::number},
                                          {"or", Kind::any},
                                          {"and", Kind::all},
                                          {"==", Kind::comparison},
                                          {"!=", Kind::comparison},
                                          {"<", Kind::comparison},
                                          {"<=", Kind::comparison},
                                          {">", Kind::comparison},
                                          {">=", Kind::comparison},
                                          {"in", Kind::list},
                                          {"not in", Kind::list},
                                          {"+", Kind::sum},
                                          {"-", Kind::sum},
                                          {"*", Kind::product},
                                          {"/", Kind::product},
                                          {"//", Kind::product},
                                          {"%", Kind::product}}};

Formula group(Kind kind, Formula first) {
  Formula out;
  out.kind = kind;
  out.place = first.place;
  out.type = kind == Kind::sum || kind == Kind::product || kind == Kind::negative ? Type::number : Type::truth;
  out.whole = first.whole;
  out.parts.push_back(std::move(first));
  return out;
}

}  // namespace

const Sign& sign_of(Operation operation) { return kSigns[static_cast<std::size_t>(operation)]; }

Operation operation_of(const Token& token, Kind kind) {
  if (token.kind != Token::Kind::mark && token.kind != Token::Kind::name) return Operation::none;
  for (std::size_t i = 0; i < kSigns.size(); ++i) {
    if (kSigns[i].kind == kind && kSigns[i].text == token.text) return static_cast<Operation>(i);
  }
  return Operation::none;
}

Parser::Depth::Depth(Parser& parser) : parser_(parser) {
  const int most = parser.language_.max_depth;
  if (++parser.depth_ > most) parser.fail(fmt::format("nested deeper than {} levels", most));
}

void Parser::expected(std::string_view what, std::string hint) const {
  constexpr std::array<std::string_view, 3> lines = {"the end of the line", "a line further right",
                                                     "a line further left"};
  const auto kind = static_cast<std::size_t>(now().kind);
  constexpr auto newline = static_cast<std::size_t>(Token::Kind::newline);
  std::string found = fmt::format("found '{}'", excerpt(now().text));
  if (kind >= newline)
    found = now().kind == Token::Kind::end ? language_.end : fmt::format("found {}", lines[kind - newline]);
  fail(fmt::format("expected {}, {}", what, found), std::move(hint));
}

Formula Parser::read_condition() {
  Formula out = any();
  require(Type::truth, out);
  if (now().kind != Token::Kind::end) expected("the end of the rule");
  return out;
}

Formula Parser::read_formula() {
  Formula out = any();
  if (now().kind != Token::Kind::end) expected("the end of the formula");
  return out;
}

Formula Parser::any() { return joined(Kind::any, &Parser::all); }
Formula Parser::all() { return joined(Kind::all, &Parser::negation); }
Formula Parser::sum() { return joined(Kind::sum, &Parser::product); }
Formula Parser::product() { return joined(Kind::product, &Parser::with_sign); }

// Reads operands and the operations of one kind between them. Operands in parentheses that begin such a list are the
// beginning of the list.
Formula Parser::joined(Kind kind, Formula (Parser::*read)()) {
  Formula out = (this->*read)();
  while (true) {
    const Operation by = operation_of(now(), kind);
    if (by == Operation::none) return out;
    const bool logic = kind >= Kind::all;
    if (logic && typed()) require(Type::truth, out);
    const Place sign = take().place;
    Formula right = (this->*read)();
    right.by = by;
    right.sign = sign;
    if (logic && typed()) require(Type::truth, right);
    if (!logic && typed()) require_computable(out, right);
    if (out.kind != kind) out = group(kind, std::move(out));
    out.whole = out.whole && right.whole && by != Operation::divide;
    out.parts.push_back(std::move(right));
  }
}

Formula Parser::negation() {
  const Place place = now().place;
  if (!accept_word("not")) return comparison();
  const Depth depth(*this);
  Formula of = negation();
  if (typed()) require(Type::truth, of);
  Formula out = group(Kind::negation, std::move(of));
  out.place = place;
  return out;
}

Formula Parser::comparison() {
  Formula left = sum();
  if (typed() && (now().is_word("in") || (now().is_word("not") && ahead().is_word("in"))))
    return membership(std::move(left));
  if (operation_of(now(), Kind::comparison) == Operation::none) return left;
  Formula out = group(Kind::comparison, std::move(left));
  while (true) {
    const Operation by = operation_of(now(), Kind::comparison);
    if (by == Operation::none) return out;
    take();
    Formula right = sum();
    right.by = by;
    right.end = now().place;
    if (typed()) require_comparable(out.parts.back(), right);
    out.parts.push_back(std::move(right));
  }
}

Formula Parser::membership(Formula left) {
  const Operation by = accept_word("not") ? Operation::not_in : Operation::in;
  take();
  Formula list;
  if (accept("[")) {
    if (left.type == Type::text || left.type == Type::set) {
      source_.fail_at(left.place.offset, "expected a field in front of 'in [...]'", "for example tensor in [1, 2, 4]");
    }
    list.kind = Kind::list;
    do list.parts.push_back(item_like(left));
    while (accept(","));
    if (!accept("]")) expected("',' or ']'");
  } else {
    list = operand();
    if (list.type != Type::set) {
      source_.fail_at(list.place.offset, "expected a list after 'in'", "for example tensor in [1, 2, 4]");
    }
    if (left.type != Type::text) source_.fail_at(left.place.offset, "expected the name of a module, such as 'moe'");
    left.number = static_cast<double>(index_among(left, list));
  }
  list.by = by;
  Formula out = group(Kind::comparison, std::move(left));
  out.parts.push_back(std::move(list));
  return out;
}

// Reads one item of a list: a value of the type of the operand in front of `in`.
Formula Parser::item_like(const Formula& left) {
  if (left.type == Type::choice && now().kind == Token::Kind::text) {
    Formula out = operand();
    out.number = static_cast<double>(index_among(out, left));
    return out;
  }
  if (left.type == Type::truth && (now().is_word("true") || now().is_word("false"))) return operand();
  if (left.type != Type::number) expected(left.type == Type::choice ? "a text in quotes" : "true or false");
  const double sign = accept("-") ? -1 : 1;
  if (now().kind != Token::Kind::number) expected("a number");
  Formula out = operand();
  out.number *= sign;
  return out;
}

Formula Parser::with_sign() {
  const Place place = now().place;
  const bool negative = now().is("-");
  if ((!typed() && !language_.logic) || (!negative && !now().is("+"))) return operand();
  const Depth depth(*this);
  take();
  Formula of = with_sign();
  if (typed()) require(Type::number, of);
  // A number with a plus is no literal any more, so that only what is written as 0 is a division by zero when it is
  // read.
  Formula out = negative ? group(Kind::negative, std::move(of)) : group(Kind::sum, std::move(of));
  out.place = place;
  return out;
}

Formula Parser::operand() {
  const Place place = now().place;
  if (accept("(")) {
    const Depth depth(*this);
    Formula out = typed() || language_.logic ? any() : sum();
    if (!accept(")")) expected(language_.closing);
    if (typed()) out.place = place;
    return out;
  }
  Formula out;
  out.place = place;
  if (now().kind == Token::Kind::number) {
    out.number = number();
    out.whole = out.number == std::floor(out.number);
  } else if (now().kind == Token::Kind::text) {
    out.kind = Kind::text;
    out.type = Type::text;
    out.word = take().text;
  } else if (typed() && (now().is_word("true") || now().is_word("false"))) {
    out.kind = Kind::truth;
    out.type = Type::truth;
    out.number = take().text == "true" ? 1 : 0;
  } else if (now().kind == Token::Kind::name) {
    return named();
  } else {
    expected(language_.operand);
  }
  return out;
}

double Parser::number() {
  const double value = now().number;
  if (std::isnan(value)) fail(fmt::format("the number {} is too large or too small", excerpt(now().text)));
  take();
  return value;
}

}  // namespace mirfak::formula
