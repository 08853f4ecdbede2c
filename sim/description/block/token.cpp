// Lines carry the structure, as on a page: a statement ends with its line, and a line further right continues it.
// Therefore a block needs no signs for the ends of statements, and long lists of parameters can break anywhere.

#include "block/token.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>

namespace mirfak::block {

namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

class Lexer {
 public:
  explicit Lexer(const Source& source) : source_(source), text_(source.text()) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) read_line();
    while (columns_.size() > 1) close();
    add(Token::Kind::end, text_.size(), 0);
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
    if (!tokens_.empty()) add(Token::Kind::newline, last_end_, 0);
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
      return add(Token::Kind::indent, at_, 0);
    }
    while (columns_.size() > 1 && column < columns_.back()) close();
    if (column != columns_.back()) {
      fail("this line begins between two levels", "lines that belong together begin in one column");
    }
  }

  void close() {
    columns_.pop_back();
    add(Token::Kind::dedent, last_end_, 0);
  }

  void read_token() {
    const std::size_t begin = at_;
    if (text_[at_] == ' ' || text_[at_] == '\t') {
      ++at_;
      return;
    }
    if (is_letter(text_[at_])) {
      while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
      while (at_ < text_.size() && text_[at_] == '\'') ++at_;
      return add(Token::Kind::name, begin, at_ - begin);
    }
    if (is_digit(text_[at_])) return read_number(begin);
    constexpr std::array<std::string_view, 20> marks = {"->", "==", "!=", "<=", ">=", "[", "]", "(", ")", ",",
                                                        ";",  ":",  "=",  "+",  "-",  "*", "/", "@", "<", ">"};
    const std::string_view rest = std::string_view(text_).substr(at_);
    for (const std::string_view mark : marks) {
      if (!rest.starts_with(mark)) continue;
      at_ += mark.size();
      return add(Token::Kind::mark, begin, mark.size());
    }
    if (text_[at_] == '.') {
      ++at_;
      return add(Token::Kind::mark, begin, 1);
    }
    fail(fmt::format("'{}' has no meaning here", excerpt(rest.substr(0, 1))),
         "expected names, numbers, brackets, + - * / = ; : , @ or ->");
  }

  void read_number(std::size_t begin) {
    const auto digits = [&] {
      while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    };
    digits();
    if (at_ + 1 < text_.size() && text_[at_] == '.' && is_digit(text_[at_ + 1])) {
      ++at_;
      digits();
    }
    if (at_ < text_.size() && text_[at_] == 'e') {
      std::size_t digit = at_ + 1;
      if (digit < text_.size() && (text_[digit] == '-' || text_[digit] == '+')) ++digit;
      if (digit < text_.size() && is_digit(text_[digit])) {
        at_ = digit;
        digits();
      }
    }
    add(Token::Kind::number, begin, at_ - begin);
  }

  void add(Token::Kind kind, std::size_t offset, std::size_t length) {
    const bool touches = offset > 0 && offset == last_end_;
    tokens_.push_back({kind, std::string_view(text_).substr(offset, length), {offset}, touches});
    if (length > 0) last_end_ = offset + length;
  }

  [[noreturn]] void fail(std::string message, std::string hint) const {
    source_.fail({at_}, std::move(message), std::move(hint));
  }

  const Source& source_;
  const std::string& text_;
  std::size_t at_ = 0;
  std::size_t last_end_ = 0;
  std::vector<std::size_t> columns_;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(const Source& source) { return Lexer(source).run(); }

}  // namespace mirfak::block
