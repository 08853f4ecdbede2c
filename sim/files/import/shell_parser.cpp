// A recursive descent over the text of a script. Words keep their quotes as flags of their pieces, since splitting and
// patterns, which depend on quotes, are decided when the script runs.

#include "import/shell_parser.hpp"

#include "base/text.hpp"
#include "import/number_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace mirfak {

namespace {

constexpr int kDeepest = 64;
constexpr std::array<std::string_view, 12> kEnds = {"then", "do", "done", "fi", "else", "elif",
                                                    "esac", "}",  ")",    ";;", ";&",   ";;&"};

bool ends_word(char sign) {
  return sign == '\0' || std::string_view(" \t\r\n;&|<>()").find(sign) != std::string_view::npos;
}

}  // namespace

std::optional<std::string> ShellWord::plain() const {
  std::string out;
  for (const ShellPiece& piece : pieces) {
    if (piece.kind != ShellPieceKind::literal || piece.quoted) return std::nullopt;
    out += piece.text.chars;
  }
  return out;
}

void ShellParser::fail(std::size_t at, const std::string& what, const std::string& hint) const {
  fail_input(sources_.where(origin(at)), what,
             hint.empty() ? "mirfak reads what launch scripts are usually written in: say what it means by plain "
                            "words, or give its arguments as a file"
                          : hint);
}

std::shared_ptr<const ShellNode> ShellParser::script() {
  auto out = list(0);
  if (!ended()) fail(at_, fmt::format("'{}' is not expected here", excerpt(text_.chars.substr(at_, 8))));
  return out;
}

// --- signs between words

void ShellParser::skip_blanks() {
  while (!ended()) {
    const char sign = peek();
    if (sign == '\\' && peek(1) == '\n') {
      at_ += 2;
    } else if (sign == '\\' && peek(1) == '\r' && peek(2) == '\n') {
      at_ += 3;
    } else if (sign == ' ' || sign == '\t' || sign == '\r') {
      ++at_;
    } else if (sign == '#' && (at_ == 0 || ends_word(text_.chars[at_ - 1]))) {
      while (!ended() && peek() != '\n') ++at_;
    } else {
      return;
    }
  }
}

void ShellParser::take_newline() {
  ++at_;
  for (const std::shared_ptr<Pending>& document : std::exchange(pending_, {})) read_document(*document);
}

void ShellParser::skip_newlines() {
  for (skip_blanks(); !ended() && peek() == '\n'; skip_blanks()) take_newline();
}

void ShellParser::read_document(const Pending& document) {
  ShellText body;
  while (true) {
    if (ended())
      fail(document.at, fmt::format("a document without its end '{}'", excerpt(document.end)),
           "write the end on a line of its own");
    std::size_t begin = at_;
    while (document.tabs && begin < text_.size() && text_.chars[begin] == '\t') ++begin;
    const std::size_t newline = std::min(text_.chars.find('\n', begin), text_.size());
    at_ = std::min(newline + 1, text_.size());
    if (text_.chars.compare(begin, newline - begin, document.end) == 0) break;
    body.append(text_.part(begin, at_ - begin));
    if (newline == text_.size())
      fail(document.at, fmt::format("a document without its end '{}'", excerpt(document.end)),
           "write the end on a line of its own");
  }
  if (document.literal) {
    ShellPiece piece;
    piece.quoted = true;
    piece.text = std::move(body);
    document.into->pieces.push_back(std::move(piece));
  } else {
    *document.into = parse_shell_quoted(body, sources_);
  }
}

bool ShellParser::looks_at(std::string_view word) const { return text_.chars.compare(at_, word.size(), word) == 0; }

// True if a reserved word stands here by itself.
bool ShellParser::at_reserved(std::string_view word) const {
  if (!looks_at(word)) return false;
  return ends_word(peek(word.size()));
}

void ShellParser::require(std::string_view word) {
  skip_newlines();
  if (!at_reserved(word)) fail(at_, fmt::format("expected '{}'", word), " ");
  at_ += word.size();
}

bool ShellParser::at_end_of_list() const {
  if (ended()) return true;
  return std::any_of(kEnds.begin(), kEnds.end(), [&](std::string_view end) {
    return end == ")" || end[0] == ';' ? looks_at(end) : at_reserved(end);
  });
}

// --- lists and pipelines

std::shared_ptr<ShellNode> ShellParser::node(ShellNodeKind kind) const {
  auto out = std::make_shared<ShellNode>();
  out->kind = kind;
  out->at = origin(at_);
  return out;
}

std::shared_ptr<const ShellNode> ShellParser::list(int depth) {
  if (depth > kDeepest) fail(at_, "nested too deep");
  auto out = node(ShellNodeKind::sequence);
  for (skip_newlines(); !at_end_of_list(); skip_newlines()) {
    out->children.push_back(and_or(depth + 1));
    skip_blanks();
    if (ended() || at_end_of_list()) break;
    if (peek() == '&' && peek(1) != '&') {
      auto behind = node(ShellNodeKind::subshell);
      behind->at = out->children.back()->at;
      behind->background = true;
      behind->children.push_back(std::move(out->children.back()));
      out->children.back() = std::move(behind);
      ++at_;
    } else if (peek() == ';') {
      ++at_;
    } else if (peek() != '\n') {
      fail(at_, fmt::format("'{}' is not expected here", excerpt(text_.chars.substr(at_, 8))));
    }
  }
  return out;
}

std::shared_ptr<const ShellNode> ShellParser::and_or(int depth) {
  auto first = pipeline(depth);
  skip_blanks();
  if (!looks_at("&&") && !looks_at("||")) return first;
  auto out = node(ShellNodeKind::and_or);
  out->children.push_back(first);
  while (looks_at("&&") || looks_at("||")) {
    out->operators.emplace_back(text_.chars.substr(at_, 2));
    at_ += 2;
    skip_newlines();
    out->children.push_back(pipeline(depth));
    skip_blanks();
  }
  return out;
}

std::shared_ptr<const ShellNode> ShellParser::pipeline(int depth) {
  skip_blanks();
  auto out = node(ShellNodeKind::pipeline);
  if (at_reserved("time")) {
    at_ += 4;
    skip_blanks();
    if (at_reserved("-p")) at_ += 2;
    skip_blanks();
  }
  while (at_reserved("!")) {
    out->negated = !out->negated;
    ++at_;
    skip_blanks();
  }
  out->children.push_back(command(depth + 1));
  skip_blanks();
  while (peek() == '|' && peek(1) != '|') {
    at_ += peek(1) == '&' ? 2 : 1;
    skip_newlines();
    out->children.push_back(command(depth + 1));
    skip_blanks();
  }
  if (out->children.size() == 1 && !out->negated) return out->children.front();
  return out;
}

// --- compound commands

std::shared_ptr<const ShellNode> ShellParser::command(int depth) {
  if (depth > kDeepest) fail(at_, "nested too deep");
  skip_blanks();
  std::shared_ptr<ShellNode> out;
  if (at_reserved("if")) {
    out = conditional(depth);
  } else if (at_reserved("case")) {
    out = choice(depth);
  } else if (at_reserved("for")) {
    out = repetition(depth);
  } else if (at_reserved("while") || at_reserved("until")) {
    out = loop(depth);
  } else if (at_reserved("function")) {
    out = function(depth);
  } else if (at_reserved("select") || at_reserved("coproc")) {
    fail(at_, "'select' and 'coproc' are not read");
  } else if (at_reserved("{")) {
    out = node(ShellNodeKind::group);
    ++at_;
    out->children.push_back(list(depth + 1));
    require("}");
  } else if (looks_at("((")) {
    out = node(ShellNodeKind::arithmetic);
    at_ += 2;
    out->expressions.push_back(until_double_parenthesis());
  } else if (at_reserved("[[")) {
    out = condition();
  } else if (peek() == '(') {
    out = node(ShellNodeKind::subshell);
    ++at_;
    out->children.push_back(list(depth + 1));
    skip_newlines();
    if (peek() != ')') fail(at_, "expected ')'", " ");
    ++at_;
  } else {
    return simple(depth);
  }
  for (skip_blanks(); redirect(*out); skip_blanks()) continue;
  return out;
}

std::shared_ptr<ShellNode> ShellParser::conditional(int depth) {
  auto out = node(ShellNodeKind::conditional);
  at_ += 2;
  while (true) {
    out->children.push_back(list(depth + 1));
    require("then");
    out->children.push_back(list(depth + 1));
    skip_newlines();
    if (!at_reserved("elif")) break;
    at_ += 4;
  }
  if (at_reserved("else")) {
    at_ += 4;
    out->children.push_back(list(depth + 1));
  }
  require("fi");
  return out;
}

std::shared_ptr<ShellNode> ShellParser::choice(int depth) {
  auto out = node(ShellNodeKind::choice);
  at_ += 4;
  skip_blanks();
  out->words.push_back(word());
  require("in");
  for (skip_newlines(); !at_reserved("esac"); skip_newlines()) {
    ShellCase item;
    if (peek() == '(') ++at_;
    while (true) {
      skip_blanks();
      item.patterns.push_back(word());
      skip_blanks();
      if (peek() != '|') break;
      ++at_;
    }
    if (peek() != ')') fail(at_, "expected ')' after a pattern of 'case'", " ");
    ++at_;
    item.body = list(depth + 1);
    skip_newlines();
    for (const std::string_view end : {";;&", ";;", ";&"}) {
      if (!item.end.empty() || !looks_at(end)) continue;
      item.end = end;
      at_ += end.size();
    }
    const bool last = item.end.empty();
    out->cases.push_back(std::move(item));
    skip_newlines();
    if (last && !at_reserved("esac")) fail(at_, "expected ';;' or 'esac'", " ");
  }
  require("esac");
  return out;
}

std::shared_ptr<const ShellNode> ShellParser::body(int depth) {
  skip_newlines();
  if (peek() == ';') ++at_;
  require("do");
  auto out = list(depth + 1);
  require("done");
  return out;
}

std::shared_ptr<ShellNode> ShellParser::repetition(int depth) {
  auto out = node(ShellNodeKind::each);
  at_ += 3;
  skip_blanks();
  if (looks_at("((")) {
    out->kind = ShellNodeKind::counting;
    at_ += 2;
    const ShellText whole = until_double_parenthesis();
    std::size_t begin = 0;
    for (int part = 0; part < 3; ++part) {
      const std::size_t end = part < 2 ? whole.chars.find(';', begin) : whole.size();
      if (end == std::string::npos) fail(at_, "expected three parts between (( and ))", " ");
      out->expressions.push_back(whole.part(begin, end - begin));
      begin = end + 1;
    }
    out->children.push_back(body(depth));
    return out;
  }
  out->name = name();
  if (out->name.empty()) fail(at_, "expected the name of a variable after 'for'", " ");
  skip_newlines();
  if (at_reserved("in")) {
    at_ += 2;
    out->has_words = true;
    for (skip_blanks(); !ends_word(peek()); skip_blanks()) out->words.push_back(word());
  }
  out->children.push_back(body(depth));
  return out;
}

std::shared_ptr<ShellNode> ShellParser::loop(int depth) {
  auto out = node(ShellNodeKind::loop);
  out->until = at_reserved("until");
  at_ += 5;
  out->children.push_back(list(depth + 1));
  out->children.push_back(body(depth));
  return out;
}

std::shared_ptr<ShellNode> ShellParser::function(int depth) {
  auto out = node(ShellNodeKind::function);
  if (at_reserved("function")) at_ += 8;
  skip_blanks();
  while (!ends_word(peek())) out->name += text_.chars[at_++];
  skip_blanks();
  if (peek() == '(') {
    ++at_;
    skip_blanks();
    if (peek() != ')') fail(at_, "expected ')'", " ");
    ++at_;
  }
  skip_newlines();
  out->children.push_back(command(depth + 1));
  return out;
}

ShellText ShellParser::until_double_parenthesis() {
  const std::size_t begin = at_;
  int open = 0;
  for (; !ended(); ++at_) {
    if (peek() == '(') ++open;
    if (peek() == ')' && open > 0) {
      --open;
    } else if (peek() == ')' && peek(1) == ')') {
      ShellText out = text_.part(begin, at_ - begin);
      at_ += 2;
      return out;
    }
  }
  fail(begin, "'((' without '))'", "close it");
}

std::shared_ptr<ShellNode> ShellParser::condition() {
  auto out = node(ShellNodeKind::condition);
  at_ += 2;
  bool pattern_follows = false;
  while (true) {
    skip_newlines();
    if (ended()) fail(at_, "'[[' without ']]'", "close it");
    if (at_reserved("]]")) break;
    ShellConditionToken token;
    for (const std::string_view sign : {"&&", "||"}) {
      if (looks_at(sign)) token.op = sign;
    }
    if (token.op.empty() && !pattern_follows && std::string_view("()<>").find(peek()) != std::string_view::npos)
      token.op = peek();
    if (token.op.empty() && at_reserved("!")) token.op = "!";
    if (!token.op.empty()) {
      at_ += token.op.size();
    } else {
      token.word = pattern_follows ? regular_expression() : word();
      if (token.word.pieces.empty())
        fail(at_, fmt::format("'{}' is not expected in a condition", excerpt(text_.chars.substr(at_, 8))));
    }
    pattern_follows = token.op.empty() && token.word.plain() == "=~";
    out->tokens.push_back(std::move(token));
  }
  at_ += 2;
  return out;
}

// --- simple commands

namespace {

bool declares(const std::string& name) {
  constexpr std::array<std::string_view, 5> names = {"export", "readonly", "declare", "typeset", "local"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::shared_ptr<const ShellNode> ShellParser::simple(int depth) {
  auto out = node(ShellNodeKind::simple);
  const std::size_t begin = at_;
  while (true) {
    const std::size_t from = at_;
    skip_blanks();
    missing_word(*out, from == begin ? from : from + 1);
    const bool fills = placeholder(true) > 0;
    if (!fills && redirect(*out)) continue;
    if (!fills && ends_word(peek()) && !at_process()) break;
    const bool assigns = out->words.empty() || out->kind == ShellNodeKind::declare;
    if (assigns && assignment(*out)) continue;
    out->words.push_back(word());
    out->last = origin(at_ - 1);
    const std::optional<std::string> plain = out->words.back().plain();
    if (out->words.size() > 1 || !plain) continue;
    skip_blanks();
    if (out->assignments.empty() && looks_at("()")) {
      at_ = begin;
      return function(depth);
    }
    if (declares(*plain)) {
      out->kind = ShellNodeKind::declare;
      out->name = *plain;
    }
  }
  if (at_ == begin) fail(at_, fmt::format("'{}' is not expected here", excerpt(text_.chars.substr(at_, 8))));
  return out;
}

void ShellParser::missing_word(ShellNode& into, std::size_t from) {
  ShellPiece none;
  none.at = origin(at_);
  for (const ShellMissing& one : text_.missing) {
    const bool here = one.at == at_ && ends_word(peek());
    if (one.at >= from && (one.at < at_ || here)) none.text.lack(one.name, one.unset);
  }
  if (none.text.missing.empty()) return;
  ShellWord word;
  word.at = none.at;
  word.pieces.push_back(std::move(none));
  into.words.push_back(std::move(word));
}

// Parses NAME=, NAME+= or NAME[index]= at this place.
bool ShellParser::assignment(ShellNode& into) {
  const std::size_t begin = at_;
  ShellAssignment out;
  out.at = origin(at_);
  out.name = name();
  if (out.name.empty()) return false;
  if (peek() == '[') {
    const std::size_t close = closing_bracket(at_);
    const char behind = close == std::string::npos ? '\0' : (close + 1 < text_.size() ? text_.chars[close + 1] : '\0');
    const bool adds = behind == '+' && close + 2 < text_.size() && text_.chars[close + 2] == '=';
    if (behind != '=' && !adds) {
      at_ = begin;
      return false;
    }
    out.index = std::make_shared<ShellWord>(parse_shell_word(text_.part(at_ + 1, close - at_ - 1), sources_));
    at_ = close + 1;
  }
  if (peek() == '+' && peek(1) == '=') {
    out.append = true;
    ++at_;
  }
  if (peek() != '=') {
    at_ = begin;
    return false;
  }
  ++at_;
  if (peek() == '(') {
    elements(out);
  } else if (const std::size_t length = placeholder(false)) {
    out.value = word(length);
  } else if (!ends_word(peek())) {
    out.value = word();
  } else {
    out.value.at = origin(at_);
  }
  into.assignments.push_back(std::move(out));
  return true;
}

std::size_t ShellParser::closing_bracket(std::size_t from) const {
  int open = 0;
  for (std::size_t i = from; i < text_.size() && text_.chars[i] != '\n'; ++i) {
    if (text_.chars[i] == '[') ++open;
    if (text_.chars[i] == ']' && --open == 0) return i;
  }
  return std::string::npos;
}

void ShellParser::elements(ShellAssignment& into) {
  into.array = true;
  const std::size_t begin = at_++;
  for (skip_newlines(); peek() != ')'; skip_newlines()) {
    if (ended()) fail(begin, "'(' without ')'", "close it");
    ShellAssignment::Element element;
    const std::size_t close = peek() == '[' ? closing_bracket(at_) : std::string::npos;
    const std::size_t equals = close == std::string::npos ? std::string::npos : text_.chars.find('=', close);
    element.append = equals == close + 2 && text_.chars[close + 1] == '+';
    if (equals != std::string::npos && (equals == close + 1 || element.append)) {
      ShellParser key(text_.part(at_ + 1, close - at_ - 1), sources_, nesting_);
      element.key = std::make_shared<ShellWord>(key.whole_word());
      at_ = equals + 1;
    }
    if (!ends_word(peek())) element.value = word();
    if (ends_word(peek()) && element.value.pieces.empty() && element.key == nullptr)
      fail(at_, fmt::format("'{}' is not expected in an array", excerpt(text_.chars.substr(at_, 8))));
    into.elements.push_back(std::move(element));
  }
  ++at_;
}

std::size_t ShellParser::placeholder(bool sure) const {
  const std::string& chars = text_.chars;
  if (peek() != '<' || std::isalpha(static_cast<unsigned char>(peek(1))) == 0) return 0;
  const std::size_t end = chars.find_first_of("<>\n\"'`$;&|\\", at_ + 1);
  if (end == std::string::npos || chars[end] != '>') return 0;
  const std::size_t length = end + 1 - at_;
  const std::size_t next = chars.find_first_not_of(" \t\r", end + 1);
  const bool last = next == std::string::npos || chars[next] == '\n' || chars.compare(next, 2, "\\\n") == 0;
  return !sure || last ? length : 0;
}

bool ShellParser::redirect(ShellNode& into) {
  std::size_t i = at_;
  while (i < text_.size() && is_digit(text_.chars[i])) ++i;
  const char sign = i < text_.size() ? text_.chars[i] : '\0';
  const bool both = i == at_ && sign == '&' && peek(1) == '>';
  if (sign != '<' && sign != '>' && !both) return false;
  if (sign != '\0' && at_ == i && at_process()) return false;
  const std::size_t begin = at_;
  at_ = i;
  ShellRedirect out;
  out.descriptor = text_.chars.substr(begin, i - begin);
  for (const std::string_view op : {"&>>", "&>", "<<<", "<<-", "<<", "<&", "<>", ">>", ">&", ">|", "<", ">"}) {
    if (!out.op.empty() || !looks_at(op)) continue;
    out.op = op;
    at_ += op.size();
  }
  skip_blanks();
  if (!at_process() && (out.op == "<<" || out.op == "<<-")) {
    document(out, begin);
  } else if (at_process() || !ends_word(peek())) {
    out.target = word();
  } else {
    fail(begin, "a redirection without its file", "write the file after it, or quote the word");
  }
  into.redirects.push_back(std::move(out));
  return true;
}

void ShellParser::document(ShellRedirect& into, std::size_t begin) {
  auto pending = std::make_shared<Pending>();
  pending->tabs = into.op == "<<-";
  pending->at = begin;
  for (const ShellPiece& piece : word().pieces) {
    pending->literal = pending->literal || piece.quoted;
    pending->end += piece.text.chars;
  }
  into.op = "<<";
  into.document = std::make_shared<ShellWord>();
  pending->into = into.document;
  pending_.push_back(std::move(pending));
}

}  // namespace mirfak
