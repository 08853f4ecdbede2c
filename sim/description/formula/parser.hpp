#pragma once

#include "formula/formula.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mirfak::formula {

// Rules of a language of formulas. With a vocabulary it is a language of conditions, whose parts have types;
// without one it is a language of sizes: + - * / and comparisons of numbers, with names of any kind; with `logic` also
// and, or, not, and comparisons within parentheses, which are 1 if they hold and else 0.
struct Language {
  const Vocabulary* vocabulary = nullptr;
  int max_depth = 0;         // nesting, so that no text exhausts the stack
  std::string_view operand;  // what an operand is, in messages
  std::string_view closing;  // what ends parentheses, in messages
  std::string_view end;      // what is found at the end of the text, in messages
  bool logic = false;
};

// Parser of formulas by recursive descent, one function for each level of precedence, and the base of parsers of
// languages that have formulas in them. Every fault is an Error(input) at its token.
//
//   condition:  all {or all}                    sum:     product {(+ | -) product}
//   all:        negation {and negation}         product: signed {(* | / | // | %) signed}
//   negation:   not negation | comparison       signed:  (- | +) signed | operand
//   comparison: sum {relation sum}              operand: number | text | true | false | name | ( condition )
//             | sum [not] in ([items] | name)
class Parser {
 public:
  Parser(const Node& source, std::vector<Token> tokens, const Language& language)
      : source_(source), tokens_(std::move(tokens)), language_(language) {}
  virtual ~Parser() = default;
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  // Reads the whole text as one condition.
  Formula read_condition();
  // Reads the whole text as one formula of a language with `logic`.
  Formula read_formula();

 protected:
  class Depth {
   public:
    explicit Depth(Parser& parser);
    ~Depth() { --parser_.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;

   private:
    Parser& parser_;
  };

  const Token& now() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  const Token& take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool accept(std::string_view mark) { return now().is(mark) && (take(), true); }
  bool accept_word(std::string_view word) { return now().is_word(word) && (take(), true); }

  [[noreturn]] void fail(std::string message, std::string hint = {}) const {
    source_.fail_at(now().place.offset, std::move(message), std::move(hint));
  }
  [[noreturn]] void expected(std::string_view what, std::string hint = {}) const;  // "expected ..., found ..."

  Formula comparison();
  Formula sum();
  double number();          // at a token that is a number
  virtual Formula named();  // at a token that is a name

  const Node& source_;

 private:
  bool typed() const { return language_.vocabulary != nullptr; }
  Formula any();
  Formula all();
  Formula negation();
  Formula product();
  Formula with_sign();
  Formula operand();
  Formula joined(Kind kind, Formula (Parser::*read)());
  Formula membership(Formula left);
  Formula item_like(const Formula& left);

  // typing.cpp: what conditions require of the types of their parts.
  std::size_t index_among(const Formula& text, const Formula& words_of) const;
  std::string described(const Formula& part) const;
  void require(Type type, const Formula& part) const;
  void require_computable(const Formula& left, const Formula& right) const;
  void require_comparable(Formula& left, Formula& right) const;
  const Name& name_of(const Formula& part) const { return language_.vocabulary->names[part.index]; }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  Language language_;
  int depth_ = 0;
};

}  // namespace mirfak::formula
