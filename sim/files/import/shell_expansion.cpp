// Expansion of words into fields: braces, then parameters, commands and arithmetic, then splitting. Names of files are
// not searched: a pattern stays unchanged, as in bash if no file matches, and the field is marked.

#include "import/shell_interpreter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mirfak {

// Fields in the making: quoted text joins, unquoted text is split.
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
    seek(text);
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
      if (sign == '*' || sign == '?') seeks_ = true;
      lacks(i);
      if (separators_.find(sign) == std::string::npos) {
        current_.add(sign, text.at(i++));
        begun_ = true;
        continue;
      }
      // Blanks around another separator separate words together with it.
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
  // Adds a word of its own that vanishes.
  void vanish(const std::vector<ShellMissing>& missing) {
    if (missing.empty()) return;
    finish_word();
    for (const ShellMissing& one : missing) current_.lack(one.name, one.unset);
    emit(true);
  }
  // Adds a vanishing word after the current word, wherever the word ends.
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
  // Marks a pattern. Brackets alone are no pattern here: [0]*2 of a layer frequency has a star, too, and is not meant
  // for files.
  void seek(const ShellText& text) {
    if (text.chars.find_first_of("*?") != std::string::npos) seeks_ = true;
  }
  void emit(bool vanishes) {
    ShellField field;
    field.at = current_.empty() || current_.at(0) == 0 ? at_ : current_.at(0);
    field.text = std::exchange(current_, {});
    field.vanishes = vanishes;
    field.seeks = std::exchange(seeks_, false);
    begun_ = false;
    out_.push_back(std::move(field));
  }

  std::vector<ShellField>& out_;
  std::string separators_;
  std::uint32_t at_;
  ShellText current_;
  std::vector<ShellMissing> later_;
  bool begun_ = false;
  bool seeks_ = false;
};

namespace {

constexpr std::size_t kMostFields = 100'000;
constexpr std::size_t kMostExpandedBytes = 4U << 20;

ShellText with_blanks(const std::vector<ShellText>& values, std::uint32_t at) {
  ShellText out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out.append(" ", at);
    out.append(values[i]);
  }
  return out;
}

void escape_into(ShellText& out, const ShellText& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (std::string_view("*?[]\\").find(text.chars[i]) != std::string_view::npos) out.add('\\', text.at(i));
    out.add(text.chars[i], text.at(i));
  }
  for (const ShellMissing& one : text.missing) out.lack(one.name, one.unset);
}

}  // namespace

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
  if (!out.empty()) spend(out.back().text.size(), word.at);
}

// Expands a piece. `inside`: the piece is in the word of a default, ${X:-...}, where text without quotes is split too.
void ShellInterpreter::expand_piece(const ShellPiece& piece, ShellFieldBuilder& fields, bool inside) {
  if (piece.kind == ShellPieceKind::literal) {
    if (piece.quoted) return fields.quoted(piece.text);
    return inside ? fields.split(piece.text) : fields.plain(piece.text);
  }
  const Values values = values_of(piece);
  fields.vanish_later(values.absent);
  if (values.instead != nullptr && !piece.quoted) {
    for (const ShellPiece& one : values.instead->pieces) expand_piece(one, fields, true);
    return;
  }
  // Values are separated by the first separator, which keeps empty values if it is no blank.
  const std::string between = separators();
  const bool parted = !between.empty() && std::string_view(" \t\n").find(between[0]) == std::string_view::npos;
  if (!piece.quoted && parted && values.values.size() > 1) return fields.split(joined(values.values, piece.at));
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
    out.append(values.values.size() == 1 ? values.values.front()
               : values.list             ? with_blanks(values.values, piece.at)
                                         : joined(values.values, piece.at));
    for (const ShellMissing& one : values.absent) out.lack(one.name, one.unset);
    if (out.size() > kMostExpandedBytes) fail(word.at, "a text of more than 4 MiB");
  }
  spend(out.size(), word.at);
  return out;
}

ShellText ShellInterpreter::expand_pattern(const ShellWord& word) {
  ShellText out;
  for (const ShellPiece& piece : word.pieces) {
    if (piece.kind == ShellPieceKind::literal && !piece.quoted) {
      for (std::size_t i = 1; state_.extended_patterns && i < piece.text.size(); ++i) {
        if (piece.text.chars[i] == '(' && std::string_view("?*+@!").find(piece.text.chars[i - 1]) != std::string::npos)
          fail(piece.at, "extended patterns, such as +(0), are not read");
      }
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

// Expands a regular expression; quoted signs are literal.
ShellText ShellInterpreter::expand_regular(const ShellWord& word) {
  ShellText out;
  for (const ShellPiece& piece : word.pieces) {
    ShellWord one;
    one.pieces.push_back(piece);
    const ShellText text = expand_joined(one);
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool means = std::string_view("\\^$.[]|()*+?{}").find(text.chars[i]) != std::string_view::npos;
      if (piece.quoted && means) out.add('\\', text.at(i));
      out.add(text.chars[i], text.at(i));
    }
    for (const ShellMissing& lacking : text.missing) out.lack(lacking.name, lacking.unset);
  }
  return out;
}

ShellInterpreter::Values ShellInterpreter::values_of(const ShellPiece& piece) {
  if (piece.kind == ShellPieceKind::parameter) return parameter(piece);
  return {false, true, {piece_text(piece)}};
}

ShellText ShellInterpreter::piece_text(const ShellPiece& piece) {
  if (piece.kind == ShellPieceKind::arithmetic) return evaluated(piece.text, piece.at);
  if (piece.kind == ShellPieceKind::command) return output_of(piece.text, piece.at);
  return process(piece);
}

// Expands <( ) to the name of a file that holds the command's output.
ShellText ShellInterpreter::process(const ShellPiece& piece) {
  const std::string path = fmt::format("/dev/fd/{}", 63 - processes_++ % 32);
  if (!piece.writes) {
    const auto saved = substituted_;
    files_[path] = printed_by(piece.text, piece.at);
    substituted_ = saved;
  }
  return shell_text(path, piece.at);
}

std::string ShellInterpreter::separators() const {
  const ShellVariable* variable = find("IFS");
  const ShellText* text = variable == nullptr ? nullptr : variable->find("0");
  return text == nullptr ? " \t\n" : text->chars;
}

}  // namespace mirfak
