#pragma once

#include "import/shell_syntax.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mirfak {

// The parser that implements parse_shell().
class ShellParser {
 public:
  ShellParser(ShellText text, const ShellSources& sources, int nesting = 0)
      : text_(std::move(text)), sources_(sources), nesting_(nesting) {}

  std::shared_ptr<const ShellNode> script();
  ShellWord whole_word();    // all of the text as one word, blanks included
  ShellWord whole_quoted();  // all of the text between double quotes

 private:
  // A document (<<) whose text begins after the end of the line.
  struct Pending {
    std::string end;
    bool literal = false;
    bool tabs = false;  // leading tabs are left out
    std::size_t at = 0;
    std::shared_ptr<ShellWord> into;
  };

  [[noreturn]] void fail(std::size_t at, const std::string& what, const std::string& hint = {}) const;
  std::uint32_t origin(std::size_t at) const { return text_.empty() ? 0 : text_.at(std::min(at, text_.size() - 1)); }
  bool ended() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_.chars[at_ + ahead] : '\0'; }
  bool looks_at(std::string_view word) const;
  bool at_reserved(std::string_view word) const;
  bool at_process() const { return (peek() == '<' || peek() == '>') && peek(1) == '('; }
  bool at_end_of_list() const;
  void require(std::string_view word);
  void skip_blanks();
  void take_newline();
  void skip_newlines();
  void read_document(const Pending& document);

  std::shared_ptr<ShellNode> node(ShellNodeKind kind) const;
  std::shared_ptr<const ShellNode> list(int depth);
  std::shared_ptr<const ShellNode> and_or(int depth);
  std::shared_ptr<const ShellNode> pipeline(int depth);
  std::shared_ptr<const ShellNode> command(int depth);
  std::shared_ptr<ShellNode> conditional(int depth);
  std::shared_ptr<ShellNode> choice(int depth);
  std::shared_ptr<const ShellNode> body(int depth);
  std::shared_ptr<ShellNode> repetition(int depth);
  std::shared_ptr<ShellNode> loop(int depth);
  std::shared_ptr<ShellNode> function(int depth);
  std::shared_ptr<ShellNode> condition();
  std::shared_ptr<const ShellNode> simple(int depth);
  ShellText until_double_parenthesis();
  bool assignment(ShellNode& into);
  std::size_t closing_bracket(std::size_t from) const;
  void elements(ShellAssignment& into);
  // Adds a word that vanishes for what a text lacks between words: eval "run $X --last" where X is not known. `from`:
  // the byte after the word before.
  void missing_word(ShellNode& into, std::size_t from);
  // Returns the length of what a template leaves to be filled in, such as <path to data>, at this place; 0: there is
  // none. Bash would read from a file and write to one: `sure` asks for a place where bash finds no file to write to.
  std::size_t placeholder(bool sure) const;
  bool redirect(ShellNode& into);
  void document(ShellRedirect& into, std::size_t begin);

  void enter(std::size_t at);  // one level of quotes or expansions deeper
  std::string name();
  ShellWord word(std::size_t first = 0);  // `first`: length of the placeholder that the word begins with
  ShellWord regular_expression();
  void piece_of_word(ShellWord& into);
  void double_quoted(ShellWord& into);
  void single_quoted(ShellWord& into);
  void escaped_quoted(ShellWord& into);  // $'...'
  // Parses a piece between double quotes; `escaped`: the signs that a backslash makes literal there.
  void piece_in_quotes(ShellWord& into, std::string_view escaped);
  void dollar(ShellWord& into, bool quoted);
  void braced(ShellWord& into, bool quoted, std::size_t begin);
  void parameter_operator(ShellPiece& piece, bool quoted);
  void backquoted(ShellWord& into, bool quoted);
  ShellText until_parenthesis(std::size_t begin);
  ShellText until_brace(std::size_t begin);
  void literal(ShellWord& into, bool quoted, std::size_t count);
  ShellWord operand(const ShellText& text, bool quoted) const;

  ShellText text_;
  const ShellSources& sources_;
  int nesting_;  // depth of quotes and expansions around this place
  std::size_t at_ = 0;
  std::vector<std::shared_ptr<Pending>> pending_;
};

}  // namespace mirfak
