// Lines carry the structure, as on a page: a statement ends with its line, and a line further right continues it.
// Therefore a block needs no signs for the ends of statements, and long lists of parameters can break anywhere.

#include "block/token.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace mirfak::block {

namespace {

using formula::Token;

constexpr std::array<std::string_view, 21> kMarks = {"->", "==", "!=", "<=", ">=", "[", "]", "(", ")", ",", ";",
                                                     ":",  "=",  "+",  "-",  "*",  "/", "@", "<", ">", "."};

class Lexer {
 public:
  explicit Lexer(const Node& source) : source_(source), text_(source.value().scalar) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) read_line();
    while (columns_.size() > 1) close();
    add(Token::Kind::end, text_.size());
    return std::move(tokens_);
  }

 private:
  void read_line() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (at_ < text_.size() && text_[at_] == '\t') fail("a tab at the beginning of a line", "indent with spaces");
    const std::size_t column = at_ - begin;
    if (at_line_end()) return skip_line();
    place_line(column);
    while (!at_line_end()) read_token();
    skip_line();
    if (!tokens_.empty()) add(Token::Kind::newline, last_end_);
  }

  bool at_line_end() const {
    return at_ >= text_.size() || text_[at_] == '\n' || text_[at_] == '#' || text_[at_] == '\r';
  }
  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    if (at_ < text_.size()) ++at_;
  }

  // Handles the indentation of a line: the line continues the line before, begins or ends a body, or stands on its own.
  void place_line(std::size_t column) {
    if (tokens_.empty()) {
      columns_ = {column};
      return;
    }
    const bool colon = tokens_.size() > 1 && tokens_[tokens_.size() - 2].is(":");
    if (column > columns_.back()) {
      if (!colon) {
        tokens_.pop_back();  // the newline
        return;
      }
      columns_.push_back(column);
      return add(Token::Kind::indent, at_);
    }
    while (columns_.size() > 1 && column < columns_.back()) close();
    if (column != columns_.back()) {
      fail("this line begins between two levels", "lines that belong together begin in one column");
    }
  }

  void close() {
    columns_.pop_back();
    add(Token::Kind::dedent, last_end_);
  }

  void read_token() {
    if (text_[at_] == ' ' || text_[at_] == '\t') {
      ++at_;
      return;
    }
    tokens_.push_back(formula::read_token(source_, at_, {kMarks}));
    Token& token = tokens_.back();
    if (token.kind == Token::Kind::end) {
      fail(fmt::format("'{}' has no meaning here", excerpt(text_.substr(at_, 1))),
           "expected names, numbers, brackets, + - * / = ; : , @ or ->");
    }
    token.touches = token.place.offset > 0 && token.place.offset == last_end_;
    last_end_ = at_;
  }

  void add(Token::Kind kind, std::size_t offset) {
    tokens_.push_back({kind, {}, {offset}, 0, offset > 0 && offset == last_end_});
  }

  [[noreturn]] void fail(std::string message, std::string hint) const {
    source_.fail_at(at_, std::move(message), std::move(hint));
  }

  const Node& source_;
  const std::string& text_;
  std::size_t at_ = 0;
  std::size_t last_end_ = 0;
  std::vector<std::size_t> columns_;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<formula::Token> tokens_of(const Node& source) { return Lexer(source).run(); }

}  // namespace mirfak::block
