// Words: quotes, expansions, and their contents.

#include "import/shell_interpreter.hpp"
#include "import/shell_parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

bool begins_name(char sign) { return (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z') || sign == '_'; }
bool is_decimal(char sign) { return sign >= '0' && sign <= '9'; }
bool parts_words(char sign) {
  return sign == '\0' || std::string_view(" \t\r\n;&|<>()").find(sign) != std::string_view::npos;
}

// Reduction of the nesting limit for lists inside words.
constexpr int kDeepestInWords = 32;
constexpr std::string_view kSpecial = "@*#?$!-0123456789";

}  // namespace

// Enters a nesting level. Texts between braces are read twice: to find their end, and to parse them.
void ShellParser::enter(std::size_t at) {
  constexpr int deepest = 12;
  if (++nesting_ > deepest) fail(std::min(at, text_.size()), "quotes and expansions nested too deep");
}

std::string ShellParser::name() {
  std::string out;
  while (begins_name(peek()) || (!out.empty() && is_decimal(peek()))) out += text_.chars[at_++];
  return out;
}

void ShellParser::literal(ShellWord& into, bool quoted, std::size_t count) {
  const ShellText text = text_.part(at_, count);
  const bool joins =
      !into.pieces.empty() && into.pieces.back().kind == ShellPieceKind::literal && into.pieces.back().quoted == quoted;
  if (!joins) {
    ShellPiece piece;
    piece.quoted = quoted;
    piece.at = origin(at_);
    into.pieces.push_back(std::move(piece));
  }
  into.pieces.back().text.append(text);
  at_ += count;
}

ShellWord ShellParser::word(std::size_t first) {
  ShellWord out;
  out.at = origin(at_);
  if (first > 0) literal(out, true, first);
  while (!ended()) {
    if (const std::size_t length = placeholder(true)) {
      literal(out, true, length);
    } else if (!parts_words(peek()) || at_process()) {
      piece_of_word(out);
    } else {
      break;
    }
  }
  if (ended() || out.pieces.empty()) return out;
  for (const ShellMissing& one : text_.missing) {
    if (one.at == at_) out.pieces.back().text.lack(one.name, one.unset);
  }
  return out;
}

ShellWord ShellParser::whole_word() {
  ShellWord out;
  out.at = origin(at_);
  while (!ended()) {
    if (parts_words(peek())) {
      literal(out, false, 1);
    } else {
      piece_of_word(out);
    }
  }
  return out;
}

ShellWord ShellParser::whole_quoted() {
  ShellWord out;
  out.at = origin(at_);
  while (!ended()) piece_in_quotes(out, "$`\\");
  return out;
}

// Parses the pattern after =~, which may hold parentheses and bars.
ShellWord ShellParser::regular_expression() {
  ShellWord out;
  out.at = origin(at_);
  int open = 0;
  while (!ended() && (open > 0 || std::string_view(" \t\n").find(peek()) == std::string_view::npos)) {
    if (peek() == '(') ++open;
    if (peek() == ')') --open;
    if (peek() == '\\' && peek(1) != '\n' && peek(1) != '\0') {
      literal(out, false, 2);  // an escape of the expression itself: \., \w
    } else if (parts_words(peek())) {
      literal(out, false, 1);
    } else {
      piece_of_word(out);
    }
  }
  return out;
}

void ShellParser::piece_of_word(ShellWord& into) {
  const char sign = peek();
  if (at_process()) {
    ShellPiece piece;
    piece.kind = ShellPieceKind::process;
    piece.writes = sign == '>';
    piece.at = origin(at_);
    const std::size_t begin = at_;
    at_ += 2;
    piece.text = until_parenthesis(begin);
    into.pieces.push_back(std::move(piece));
  } else if (sign == '\\' && peek(1) == '\n') {
    at_ += 2;
  } else if (sign == '\\') {
    ++at_;
    if (!ended()) literal(into, true, 1);
  } else if (sign == '\'') {
    single_quoted(into);
  } else if (sign == '"') {
    ++at_;
    double_quoted(into);
  } else if (sign == '$' && peek(1) == '\'') {
    escaped_quoted(into);
  } else if (sign == '$' && peek(1) == '"') {
    at_ += 2;
    double_quoted(into);
  } else if (sign == '$') {
    dollar(into, false);
  } else if (sign == '`') {
    backquoted(into, false);
  } else {
    literal(into, false, 1);
  }
}

void ShellParser::single_quoted(ShellWord& into) {
  const std::size_t close = text_.chars.find('\'', at_ + 1);
  if (close == std::string::npos) fail(at_, "an open quote", "close it");
  ++at_;
  literal(into, true, close - at_);
  ++at_;
}

void ShellParser::double_quoted(ShellWord& into) {
  const std::size_t begin = at_ - 1;
  enter(begin);
  if (peek() == '"') literal(into, true, 0);  // "" is a word too
  while (true) {
    if (ended()) fail(begin, "an open quote", "close it");
    if (peek() == '"') {
      ++at_;
      --nesting_;
      return;
    }
    piece_in_quotes(into, "$`\"\\");
  }
}

void ShellParser::piece_in_quotes(ShellWord& into, std::string_view escaped) {
  const char sign = peek();
  if (sign == '\\' && peek(1) == '\n') {
    at_ += 2;
  } else if (sign == '\\' && escaped.find(peek(1)) != std::string_view::npos && peek(1) != '\0') {
    ++at_;
    literal(into, true, 1);
  } else if (sign == '$') {
    dollar(into, true);
  } else if (sign == '`') {
    backquoted(into, true);
  } else {
    literal(into, true, 1);
  }
}

void ShellParser::escaped_quoted(ShellWord& into) {
  const std::size_t begin = at_;
  at_ += 2;
  ShellPiece piece;
  piece.quoted = true;
  piece.at = origin(begin);
  std::size_t close = at_;
  while (close < text_.size() && text_.chars[close] != '\'') close += text_.chars[close] == '\\' ? 2 : 1;
  if (close >= text_.size()) fail(begin, "an open quote", "close it");
  bool ends = false;
  piece.text = unescaped_text(text_.part(at_, close - at_), true, ends);
  const std::string_view inside = std::string_view(text_.chars).substr(at_, close - at_);
  for (const std::string_view unread : {"\\u", "\\U", "\\c"}) {
    if (inside.find(unread) != std::string_view::npos)
      fail(begin, fmt::format("'{}' between $' and ' is not read", unread));
  }
  at_ = close;
  ++at_;
  into.pieces.push_back(std::move(piece));
}

// Returns the text after '(' up to the ')' that closes it: a list of commands, which may hold documents and patterns of
// case.
ShellText ShellParser::until_parenthesis(std::size_t begin) {
  const std::size_t first = at_;
  const std::vector<std::shared_ptr<Pending>> outer = std::exchange(pending_, {});
  enter(begin);
  list(kDeepestInWords);
  skip_newlines();
  if (peek() != ')') fail(ended() ? begin : at_, ended() ? "'(' without ')'" : "expected ')'", "close it");
  --nesting_;
  pending_ = outer;
  ShellText out = text_.part(first, at_ - first);
  ++at_;
  return out;
}

// Returns the text after "${" up to the '}' that closes it.
ShellText ShellParser::until_brace(std::size_t begin) {
  const std::size_t first = at_;
  int open = 1;
  for (; !ended(); ++at_) {
    const char sign = peek();
    if (sign == '\\') {
      ++at_;
    } else if (sign == '\'' && open == 1) {
      const std::size_t close = text_.chars.find('\'', at_ + 1);
      if (close != std::string::npos) at_ = close;
    } else if (sign == '"') {
      ShellWord unused;
      ++at_;
      double_quoted(unused);
      --at_;
    } else if (sign == '$' && peek(1) == '{') {
      ++open;
      ++at_;
    } else if (sign == '}' && --open == 0) {
      ShellText out = text_.part(first, at_ - first);
      ++at_;
      return out;
    }
  }
  at_ = begin;
  fail(begin, "'${' without '}'", "close it");
}

void ShellParser::backquoted(ShellWord& into, bool quoted) {
  const std::size_t begin = at_++;
  ShellPiece piece;
  piece.kind = ShellPieceKind::command;
  piece.quoted = quoted;
  piece.at = origin(begin);
  while (peek() != '`') {
    if (ended()) fail(begin, "an open backquote", "close it");
    const bool escaped = peek() == '\\' && std::string_view("`\\$").find(peek(1)) != std::string_view::npos;
    if (escaped) ++at_;
    piece.text.add(peek(), origin(at_));
    ++at_;
  }
  ++at_;
  into.pieces.push_back(std::move(piece));
}

void ShellParser::dollar(ShellWord& into, bool quoted) {
  const std::size_t begin = at_;
  enter(begin);
  ShellPiece piece;
  piece.quoted = quoted;
  piece.at = origin(begin);
  if (text_.chars.compare(at_, 3, "$((") == 0) {
    at_ += 3;
    piece.kind = ShellPieceKind::arithmetic;
    piece.text = until_double_parenthesis();
  } else if (peek(1) == '(') {
    at_ += 2;
    piece.kind = ShellPieceKind::command;
    piece.text = until_parenthesis(begin);
  } else if (peek(1) == '[') {
    const std::size_t close = closing_bracket(at_ + 1);
    if (close == std::string::npos) fail(begin, "'$[' without ']'", "close it");
    piece.kind = ShellPieceKind::arithmetic;
    piece.text = text_.part(at_ + 2, close - at_ - 2);
    at_ = close + 1;
  } else if (peek(1) == '{') {
    at_ += 2;
    braced(into, quoted, begin);
    --nesting_;
    return;
  } else {
    ++at_;
    piece.kind = ShellPieceKind::parameter;
    piece.name = name();
    if (piece.name.empty() && peek() != '\0' && kSpecial.find(peek()) != std::string_view::npos)
      piece.name = text_.chars[at_++];
    if (piece.name.empty()) {
      at_ = begin;
      --nesting_;
      return literal(into, quoted, 1);  // a dollar sign as itself
    }
  }
  --nesting_;
  into.pieces.push_back(std::move(piece));
}

ShellWord ShellParser::operand(const ShellText& text, bool quoted) const {
  ShellParser inner(text, sources_, nesting_);
  if (!quoted) return inner.whole_word();
  // Between double quotes single quotes are ordinary signs, and double quotes split the text.
  ShellWord out;
  while (!inner.ended()) {
    if (inner.peek() == '"') {
      ++inner.at_;
      inner.double_quoted(out);
    } else if (inner.peek() == '\\' && std::string_view("$`\"\\}").find(inner.peek(1)) != std::string_view::npos) {
      ++inner.at_;
      inner.literal(out, true, 1);
    } else if (inner.peek() == '$') {
      inner.dollar(out, true);
    } else if (inner.peek() == '`') {
      inner.backquoted(out, true);
    } else {
      inner.literal(out, true, 1);
    }
  }
  return out;
}

void ShellParser::braced(ShellWord& into, bool quoted, std::size_t begin) {
  ShellParser inner(until_brace(begin), sources_, nesting_);
  ShellPiece piece;
  piece.kind = ShellPieceKind::parameter;
  piece.quoted = quoted;
  piece.at = origin(begin);
  const std::string_view all = inner.text_.chars;
  if (all.size() > 1 && all[0] == '#' && std::string_view("}:-=?+#%/").find(all[1]) == std::string_view::npos) {
    piece.length = true;
    ++inner.at_;
  } else if (all.size() > 1 && all[0] == '!') {
    piece.indirect = true;
    ++inner.at_;
  }
  piece.name = inner.name();
  if (piece.name.empty()) {
    while (is_decimal(inner.peek())) piece.name += inner.text_.chars[inner.at_++];
  }
  if (piece.name.empty() && inner.peek() != '\0' && kSpecial.find(inner.peek()) != std::string_view::npos) {
    piece.name = inner.text_.chars[inner.at_++];
  }
  if (piece.name.empty()) fail(begin, fmt::format("'${{{}}}' is not read", all.substr(0, 40)));
  if (inner.peek() == '[') {
    const std::size_t close = inner.closing_bracket(inner.at_);
    if (close == std::string::npos) fail(begin, "'[' without ']'", "close it");
    ShellParser index(inner.text_.part(inner.at_ + 1, close - inner.at_ - 1), sources_, nesting_);
    piece.index = std::make_shared<ShellWord>(index.whole_word());
    inner.at_ = close + 1;
  }
  inner.parameter_operator(piece, quoted);
  into.pieces.push_back(std::move(piece));
}

// Returns the place of the separating sign after an operator, outside of quotes and nested text.
std::size_t parting_sign(std::string_view text, char sign, bool at_begin) {
  int open = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char one = text[i];
    if (one == '\\') {
      ++i;
      continue;
    }
    if (one == '"' || one == '\'') {
      const std::size_t close = text.find(one, i + 1);
      if (close != std::string_view::npos) i = close;
      continue;
    }
    if (one == '{' || one == '(') ++open;
    if (one == '}' || one == ')') --open;
    if (one == sign && open <= 0 && (i > 0 || at_begin)) return i;
  }
  return std::string_view::npos;
}

// Parses the operator after a parameter's name; the parser stands at the operator.
void ShellParser::parameter_operator(ShellPiece& piece, bool quoted) {
  if (ended()) return;
  const std::size_t begin = at_;
  for (const std::string_view op : {":-", ":=", ":?", ":+", "##", "%%", "//", "/#", "/%", "^^", ",,", "-",
                                    "=",  "?",  "+",  "#",  "%",  "/",  ":",  "^",  ",",  "@",  "*"}) {
    if (!looks_at(op)) continue;
    piece.op = op;
    break;
  }
  const bool lists_names = piece.indirect && (piece.op == "@" || piece.op == "*") && at_ + 1 == text_.size();
  if (lists_names) {
    ++at_;
    return;
  }
  if (piece.op.empty() || piece.op == "*" || (piece.length && !piece.op.empty()))
    fail(begin, fmt::format("'${{{}}}' is not read", text_.chars.substr(0, 40)));
  at_ += piece.op.size();
  const ShellText rest = text_.part(at_);
  const bool replaces = piece.op[0] == '/';
  const bool slices = piece.op == ":";
  const bool pattern = replaces || std::string_view("#%^,").find(piece.op[0]) != std::string_view::npos;
  std::size_t split = std::string::npos;
  if (replaces) split = parting_sign(rest.chars, '/', piece.op == "/#" || piece.op == "/%");
  if (slices) split = parting_sign(rest.chars, ':', true);
  const bool quotes = quoted && !pattern && !slices && piece.op != "@";
  piece.first = std::make_shared<ShellWord>(operand(rest.part(0, split), quotes));
  if (split != std::string::npos) piece.second = std::make_shared<ShellWord>(operand(rest.part(split + 1), false));
}

std::shared_ptr<const ShellNode> parse_shell(const ShellText& text, const ShellSources& sources) {
  return ShellParser(text, sources).script();
}

ShellWord parse_shell_word(const ShellText& text, const ShellSources& sources) {
  return ShellParser(text, sources).whole_word();
}

ShellWord parse_shell_quoted(const ShellText& text, const ShellSources& sources) {
  return ShellParser(text, sources).whole_quoted();
}

}  // namespace mirfak
