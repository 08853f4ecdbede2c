// Words become fields: braces, then parameters, commands and arithmetic, then splitting. Names of files are not sought:
// a pattern stays as it stands, as in bash where nothing fits.

#include "import/shell_interpreter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace mirfak {

// Fields in the making: what is between quotes joins, what is not is split.
class ShellFieldBuilder {
 public:
  ShellFieldBuilder(std::vector<ShellField>& out, std::string separators, std::uint32_t at)
      : out_(out), separators_(std::move(separators)), at_(at) {}

  void quoted(const ShellText& text) {
    current_.append(text);
    begun_ = true;
  }
  void plain(const ShellText& text) {
    current_.append(text);
    if (!text.empty()) begun_ = true;
  }
  void split(const ShellText& text) {
    const auto blank = [&](char sign) {
      return (sign == ' ' || sign == '\t' || sign == '\n') && separators_.find(sign) != std::string::npos;
    };
    const auto lacks = [&](std::size_t place) {
      bool some = false;
      for (const ShellMissing& one : text.missing) {
        if (one.at != place) continue;
        current_.lack(one.name, one.unset);
        some = true;
      }
      return some;
    };
    const auto lacks_at = [&](std::size_t place) {
      return std::any_of(text.missing.begin(), text.missing.end(),
                         [&](const ShellMissing& one) { return one.at == place; });
    };
    std::size_t i = 0;
    while (i < text.size()) {
      const char sign = text.chars[i];
      lacks(i);
      if (separators_.find(sign) == std::string::npos) {
        current_.add(sign, text.at(i++));
        begun_ = true;
        continue;
      }
      // Blanks around one other separator part words together with it.
      bool other = !blank(sign);
      std::size_t behind = i + 1;
      while (behind < text.size() && blank(text.chars[behind]) && !lacks_at(behind)) ++behind;
      if (!other && behind < text.size() && separators_.find(text.chars[behind]) != std::string::npos &&
          !blank(text.chars[behind])) {
        other = true;
        ++behind;
        while (behind < text.size() && blank(text.chars[behind]) && !lacks_at(behind)) ++behind;
      }
      if (other) begun_ = true;
      finish_word();
      i = behind;
    }
    lacks(text.size());
  }
  // A word of its own that is not there.
  void vanish(const std::vector<ShellMissing>& missing) {
    if (missing.empty()) return;
    finish_word();
    for (const ShellMissing& one : missing) current_.lack(one.name, one.unset);
    emit(true);
  }
  // The same behind the word, wherever it ends.
  void vanish_later(const std::vector<ShellMissing>& missing) {
    later_.insert(later_.end(), missing.begin(), missing.end());
  }
  void finish_word() {
    if (begun_) {
      emit(false);
    } else if (!current_.missing.empty()) {
      emit(true);
    }
  }
  void finish() {
    finish_word();
    vanish(later_);
  }

 private:
  void emit(bool vanishes) {
    ShellField field;
    field.at = current_.empty() || current_.at(0) == 0 ? at_ : current_.at(0);
    field.text = std::exchange(current_, {});
    field.vanishes = vanishes;
    begun_ = false;
    out_.push_back(std::move(field));
  }

  std::vector<ShellField>& out_;
  std::string separators_;
  std::uint32_t at_;
  ShellText current_;
  std::vector<ShellMissing> later_;
  bool begun_ = false;
};

namespace {

constexpr std::size_t kMostFields = 100'000;
constexpr std::size_t kMostExpandedBytes = 4U << 20;

bool is_special(const std::string& name) {
  return !name.empty() && std::string_view("@*#?$!-0123456789").find(name[0]) != std::string_view::npos;
}

// Variables that every shell has, with values that no script says.
bool always_set(const std::string& name) {
  constexpr std::array<std::string_view, 12> names = {"HOME",   "USER", "PWD",     "OLDPWD",  "PATH",  "HOSTNAME",
                                                      "RANDOM", "UID",  "SECONDS", "LOGNAME", "SHELL", "EPOCHSECONDS"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t out = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, out);
  if (error != std::errc{} || behind != end) return std::nullopt;
  return out;
}

// What {1..8} or {a,b} stand for; empty: nothing of the kind.
std::vector<std::string> alternatives(std::string_view inside) {
  std::vector<std::string> out;
  const std::size_t dots = inside.find("..");
  if (dots != std::string_view::npos) {
    const std::size_t second = inside.find("..", dots + 2);
    const auto from = whole_number(inside.substr(0, dots));
    const auto to = whole_number(inside.substr(dots + 2, second - dots - 2));
    auto by =
        second == std::string_view::npos ? std::optional<std::int64_t>(1) : whole_number(inside.substr(second + 2));
    if (!from || !to || !by) return {};
    const std::int64_t step = std::max<std::int64_t>(1, std::abs(*by)) * (*to < *from ? -1 : 1);
    constexpr std::int64_t most = 10'000;
    for (std::int64_t i = *from; (step > 0 ? i <= *to : i >= *to) && static_cast<std::int64_t>(out.size()) < most;
         i += step)
      out.push_back(std::to_string(i));
    return out;
  }
  if (inside.find(',') == std::string_view::npos) return {};
  int open = 0;
  std::string part;
  for (const char sign : inside) {
    if (sign == '{') ++open;
    if (sign == '}') --open;
    if (sign == ',' && open == 0) {
      out.push_back(std::exchange(part, {}));
    } else {
      part += sign;
    }
  }
  out.push_back(part);
  return out;
}

std::size_t closing_brace(std::string_view text, std::size_t from) {
  int open = 0;
  for (std::size_t i = from; i < text.size(); ++i) {
    if (text[i] == '{') ++open;
    if (text[i] == '}' && --open == 0) return i;
  }
  return std::string_view::npos;
}

void escape_into(ShellText& out, const ShellText& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (std::string_view("*?[]\\").find(text.chars[i]) != std::string_view::npos) out.add('\\', text.at(i));
    out.add(text.chars[i], text.at(i));
  }
  for (const ShellMissing& one : text.missing) out.lack(one.name, one.unset);
}

}  // namespace

std::vector<ShellWord> ShellInterpreter::braces(const ShellWord& word) {
  for (std::size_t p = 0; p < word.pieces.size(); ++p) {
    const ShellPiece& piece = word.pieces[p];
    if (piece.kind != ShellPieceKind::literal || piece.quoted) continue;
    for (std::size_t open = piece.text.chars.find('{'); open != std::string::npos;
         open = piece.text.chars.find('{', open + 1)) {
      const std::size_t close = closing_brace(piece.text.chars, open);
      if (close == std::string::npos) continue;
      const std::vector<std::string> parts =
          alternatives(std::string_view(piece.text.chars).substr(open + 1, close - open - 1));
      if (parts.empty()) continue;
      std::vector<ShellWord> out;
      for (const std::string& part : parts) {
        ShellWord one = word;
        ShellText& text = one.pieces[p].text;
        ShellText made = text.part(0, open);
        made.append(part, piece.text.at(open));
        made.append(text.part(close + 1));
        text = std::move(made);
        step(word.at);
        for (ShellWord& more : braces(one)) out.push_back(std::move(more));
        if (out.size() > kMostFields) fail(word.at, "too many words between braces");
      }
      return out;
    }
  }
  return {word};
}

std::vector<ShellField> ShellInterpreter::expand(const std::vector<ShellWord>& words) {
  std::vector<ShellField> out;
  for (const ShellWord& word : words) {
    for (const ShellWord& one : braces(word)) expand(one, out);
    if (out.size() > kMostFields) fail(word.at, "too many words");
  }
  return out;
}

void ShellInterpreter::expand(const ShellWord& word, std::vector<ShellField>& out) {
  ShellFieldBuilder fields(out, separators(), word.at);
  const ShellPiece* first = word.pieces.empty() ? nullptr : &word.pieces.front();
  const bool home = first != nullptr && first->kind == ShellPieceKind::literal && !first->quoted &&
                    (first->text.chars == "~" || first->text.chars.starts_with("~/"));
  if (home) {
    fields.plain(value("HOME"));
    fields.plain(first->text.part(1));
  }
  for (std::size_t i = home ? 1 : 0; i < word.pieces.size(); ++i) expand_piece(word.pieces[i], fields, false);
  fields.finish();
}

// `inside`: of the word of a default, ${X:-...}, where text without quotes is split too.
void ShellInterpreter::expand_piece(const ShellPiece& piece, ShellFieldBuilder& fields, bool inside) {
  if (piece.kind == ShellPieceKind::literal) {
    if (piece.quoted) return fields.quoted(piece.text);
    return inside ? fields.split(piece.text) : fields.plain(piece.text);
  }
  const Values values = values_of(piece);
  if (values.instead != nullptr && !piece.quoted) {
    for (const ShellPiece& one : values.instead->pieces) expand_piece(one, fields, true);
    return;
  }
  for (std::size_t v = 0; v < values.values.size(); ++v) {
    if (v > 0 && (values.list || !piece.quoted)) fields.finish_word();
    if (piece.quoted) fields.quoted(values.values[v]);
    if (!piece.quoted) fields.split(values.values[v]);
    if (!values.list && piece.quoted) continue;
    if (v + 1 < values.values.size()) fields.vanish(values.values[v].behind);
    if (v + 1 == values.values.size()) fields.vanish_later(values.values[v].behind);
  }
}

ShellText ShellInterpreter::expand_joined(const ShellWord& word) {
  ShellText out;
  for (std::size_t i = 0; i < word.pieces.size(); ++i) {
    const ShellPiece& piece = word.pieces[i];
    if (piece.kind == ShellPieceKind::literal) {
      const bool home = i == 0 && !piece.quoted && (piece.text.chars == "~" || piece.text.chars.starts_with("~/"));
      if (home) out.append(value("HOME"));
      out.append(home ? piece.text.part(1) : piece.text);
      continue;
    }
    const Values values = values_of(piece);
    for (std::size_t v = 0; v < values.values.size(); ++v) {
      if (v > 0) out.append(" ", piece.at);
      out.append(values.values[v]);
    }
    if (out.size() > kMostExpandedBytes) fail(word.at, "a text of more than 4 MiB");
  }
  return out;
}

ShellText ShellInterpreter::expand_pattern(const ShellWord& word) {
  ShellText out;
  for (const ShellPiece& piece : word.pieces) {
    if (piece.kind == ShellPieceKind::literal && !piece.quoted) {
      out.append(piece.text);
      continue;
    }
    ShellWord one;
    one.pieces.push_back(piece);
    const ShellText text = expand_joined(one);
    if (piece.quoted) escape_into(out, text);
    if (!piece.quoted) out.append(text);
  }
  return out;
}

ShellInterpreter::Values ShellInterpreter::values_of(const ShellPiece& piece) {
  if (piece.kind == ShellPieceKind::parameter) return parameter(piece);
  return {false, true, {piece_text(piece)}, nullptr};
}

ShellText ShellInterpreter::piece_text(const ShellPiece& piece) {
  if (piece.kind == ShellPieceKind::arithmetic) return evaluated(piece.text, piece.at);
  if (piece.kind == ShellPieceKind::command) return output_of(piece.text, piece.at);
  ShellText out;
  out.lack("the output of a process", false);
  return out;
}

// --- parameters

ShellText ShellInterpreter::value(const std::string& name) const {
  ShellText out;
  const ShellVariable* variable = find(name);
  const ShellText* found = variable == nullptr ? nullptr : variable->find("0");
  if (found != nullptr) return *found;
  out.lack(name, !always_set(name));
  return out;
}

ShellInterpreter::Values ShellInterpreter::parameter(const ShellPiece& piece) {
  here_ = piece.at;
  Values out;
  const auto count = [&](std::size_t number) { return shell_text(std::to_string(number), piece.at); };
  if (is_special(piece.name)) {
    const char sign = piece.name[0];
    if (sign == '@' || sign == '*') {
      if (piece.length) return {false, true, {count(state_.parameters.size())}, nullptr};
      out.list = sign == '@';
      out.values = state_.parameters;
      out.set = !out.values.empty();
    } else if (sign == '#') {
      out.values = {count(state_.parameters.size())};
    } else if (sign == '?') {
      ShellText status =
          last_ == ShellTruth::unknown ? ShellText{} : shell_text(last_ == ShellTruth::yes ? "0" : "1", piece.at);
      if (last_ == ShellTruth::unknown) status.lack("$?", false);
      out.values = {std::move(status)};
    } else if (sign == '$' || sign == '!' || sign == '-') {
      ShellText process;
      process.lack("$" + piece.name, false);
      out.values = {std::move(process)};
    } else if (piece.name == "0") {
      out.values = {shell_text(state_.script, piece.at)};
    } else {
      const auto number = static_cast<std::size_t>(whole_number(piece.name).value_or(0));
      out.set = number >= 1 && number <= state_.parameters.size();
      ShellText text;
      if (out.set) text = state_.parameters[number - 1];
      if (!out.set) text.lack(piece.name, true);
      out.values = {std::move(text)};
    }
  } else {
    std::string name = piece.name;
    const ShellVariable* variable = find(name);
    const std::optional<std::string> index = piece.index == nullptr ? std::nullopt
                                             : piece.index->pieces.size() == 1
                                                 ? std::optional<std::string>(piece.index->pieces[0].text.chars)
                                                 : std::nullopt;
    const bool all = index == "@" || index == "*";
    if (piece.indirect && all) {
      for (std::size_t i = 0; variable != nullptr && i < variable->items.size(); ++i)
        out.values.push_back(shell_text(variable->items[i].first, piece.at));
      out.list = index == "@";
      return out;
    }
    if (piece.indirect) {
      const ShellText target = value(name);
      if (!target.known() || target.empty()) return {false, !target.known(), {target}, nullptr};
      name = target.chars;
      ShellPiece direct = piece;
      direct.indirect = false;
      direct.name = name;
      return parameter(direct);
    }
    if (all) {
      for (std::size_t i = 0; variable != nullptr && i < variable->items.size(); ++i)
        out.values.push_back(variable->items[i].second);
      out.set = !out.values.empty();
      if (piece.length) return {false, true, {count(out.values.size())}, nullptr};
      out.list = index == "@";
      if (variable == nullptr) {
        ShellText nothing;
        nothing.lack(name, true);
        if (!piece.quoted) out.values = {std::move(nothing)};
      }
    } else {
      const ShellText* found = nullptr;
      if (variable != nullptr) found = variable->find(piece.index == nullptr ? "0" : index_of(*variable, *piece.index));
      out.set = found != nullptr || (variable == nullptr && always_set(name));
      ShellText text;
      if (found != nullptr) text = *found;
      if (found == nullptr && (variable == nullptr || piece.index == nullptr)) text.lack(name, !always_set(name));
      out.values = {std::move(text)};
    }
  }
  if (piece.length) {
    const ShellText text = out.values.empty() ? ShellText{} : out.values.front();
    ShellText length = text.known() ? count(text.size()) : ShellText{};
    for (const ShellMissing& one : text.missing) length.lack(one.name, one.unset);
    return {false, true, {std::move(length)}, nullptr};
  }
  if (piece.op.empty()) {
    // "$*" is one word, joined.
    if (!out.list && piece.quoted && out.values.size() != 1) {
      ShellText joined;
      const std::string between = separators().substr(0, 1);
      for (std::size_t i = 0; i < out.values.size(); ++i) {
        if (i > 0) joined.append(between, piece.at);
        joined.append(out.values[i]);
      }
      out.values = {std::move(joined)};
    }
    return out;
  }
  return apply_operator(piece, std::move(out));
}

ShellInterpreter::Values ShellInterpreter::apply_operator(const ShellPiece& piece, Values values) {
  const std::string& op = piece.op;
  if (op == ":") return slice(piece, std::move(values));
  const char last = op.back();
  if (op.size() <= 2 && (last == '-' || last == '=' || last == '+' || last == '?')) {
    const bool colon = op.size() == 2;
    bool filled = values.set;
    bool known = true;
    if (colon && values.set) {
      const bool empty =
          std::all_of(values.values.begin(), values.values.end(), [](const ShellText& text) { return text.empty(); });
      known = !empty || std::all_of(values.values.begin(), values.values.end(),
                                    [](const ShellText& text) { return text.known(); });
      filled = !empty || !known;  // what is not known is taken to be something
    }
    if (last == '+') return filled ? instead_of(piece) : Values{false, true, {ShellText{}}, nullptr};
    if (filled) return values;
    if (last == '?') {
      fail(piece.at, fmt::format("{} is not set: {}", piece.name, expand_joined(*piece.first).chars));
    }
    Values out = instead_of(piece);
    const ShellText text = out.values.empty() ? ShellText{} : out.values.front();
    if (last == '=') {
      assign(piece.name, text);
      out.instead = nullptr;
    }
    if (!is_special(piece.name)) {
      note(piece.at, fmt::format("{} is not set: its default '{}' is taken (--env {}=VALUE says otherwise)", piece.name,
                                 text.chars.substr(0, 60), piece.name));
    }
    return out;
  }
  for (ShellText& text : values.values) text = replaced(piece, text);
  return values;
}

// The word behind the operator. It is expanded once: here where it stands between quotes, or is one text; else where
// fields are made.
ShellInterpreter::Values ShellInterpreter::instead_of(const ShellPiece& piece) {
  Values out;
  out.values = {expand_joined(*piece.first)};
  const bool plain = std::all_of(piece.first->pieces.begin(), piece.first->pieces.end(), [](const ShellPiece& one) {
    return one.kind == ShellPieceKind::literal || one.kind == ShellPieceKind::parameter;
  });
  if (plain) out.instead = piece.first.get();
  return out;
}

ShellText ShellInterpreter::replaced(const ShellPiece& piece, const ShellText& text) {
  const std::string& op = piece.op;
  if (!text.known()) {
    ShellText out;
    for (const ShellMissing& one : text.missing) out.lack(one.name, one.unset);
    return out;
  }
  const ShellText pattern = expand_pattern(*piece.first);
  const std::string_view all = text.chars;
  const auto fits = [&](std::size_t begin, std::size_t end) {
    return fits_shell_pattern(all.substr(begin, end - begin), pattern.chars);
  };
  if (op[0] == '^' || op[0] == ',') {
    ShellText out = text;
    const std::size_t count = op.size() == 2 ? out.size() : std::min<std::size_t>(1, out.size());
    for (std::size_t i = 0; i < count; ++i) {
      const auto sign = static_cast<unsigned char>(out.chars[i]);
      out.chars[i] = static_cast<char>(op[0] == '^' ? std::toupper(sign) : std::tolower(sign));
    }
    return out;
  }
  if (all.size() > 20'000) fail(piece.at, "a text too long to replace parts of it");
  const std::size_t size = all.size();
  if (op == "#" || op == "##") {
    for (std::size_t i = 0; i <= size; ++i) {
      const std::size_t end = op == "#" ? i : size - i;
      step(piece.at);
      if (fits(0, end)) return text.part(end);
    }
    return text;
  }
  if (op == "%" || op == "%%") {
    for (std::size_t i = 0; i <= size; ++i) {
      const std::size_t begin = op == "%" ? size - i : i;
      step(piece.at);
      if (fits(begin, size)) return text.part(0, begin);
    }
    return text;
  }
  const ShellText with = piece.second == nullptr ? ShellText{} : expand_joined(*piece.second);
  ShellText out;
  for (const ShellMissing& one : text.missing) out.lack(one.name, one.unset);
  std::size_t at = 0;
  bool done = pattern.empty();
  while (at < size && !done) {
    std::size_t end = size + 1;
    const bool here = (op != "/#" || at == 0);
    for (std::size_t last = size; here && last > at; --last) {
      step(piece.at);
      if (op == "/%" && last != size) break;
      if (!fits(at, last)) continue;
      end = last;
      break;
    }
    if (end <= size) {
      out.append(with);
      at = end;
      done = op != "//";
    } else {
      out.add(all[at], text.at(at));
      ++at;
    }
  }
  out.append(text.part(at));
  return out;
}

ShellInterpreter::Values ShellInterpreter::slice(const ShellPiece& piece, Values values) {
  std::vector<ShellMissing> missing;
  const ShellText first = expand_joined(*piece.first);
  const auto begin = evaluate(first, piece.at, missing);
  std::optional<std::int64_t> count;
  if (piece.second != nullptr) count = evaluate(expand_joined(*piece.second), piece.at, missing);
  if (!begin || (piece.second != nullptr && !count)) fail(piece.at, "a part of a value whose place is not known");
  const bool list = values.list || piece.name == "@" || piece.name == "*" || values.values.size() > 1;
  if (list && piece.name == "@") values.values.insert(values.values.begin(), shell_text(state_.script, piece.at));
  const auto size = static_cast<std::int64_t>(list ? values.values.size() : values.values.front().size());
  std::int64_t from = *begin < 0 ? size + *begin : *begin;
  from = std::clamp<std::int64_t>(from, 0, size);
  std::int64_t to = count ? (*count < 0 ? size + *count : std::min(size, from + *count)) : size;
  to = std::max(to, from);
  if (!list)
    return {false,
            values.set,
            {values.values.front().part(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from))},
            nullptr};
  values.values = std::vector<ShellText>(values.values.begin() + from, values.values.begin() + to);
  return values;
}

std::string ShellInterpreter::separators() const {
  const ShellVariable* variable = find("IFS");
  const ShellText* text = variable == nullptr ? nullptr : variable->find("0");
  return text == nullptr ? " \t\n" : text->chars;
}

}  // namespace mirfak
