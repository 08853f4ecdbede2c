// Parameters: $x, ${x[i]}, ${!x}, and the operators on their values.

#include "import/shell_interpreter.hpp"

#include "base/text.hpp"
#include "import/argument_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace mirfak {

namespace {

bool is_special_parameter(const std::string& name) {
  return !name.empty() && std::string_view("@*#?$!-0123456789").find(name[0]) != std::string_view::npos;
}

// True for variables that every shell has, with values that no script states.
bool always_set(const std::string& name) {
  constexpr std::array<std::string_view, 27> names = {
      "HOME",          "USER",         "PATH",       "HOSTNAME", "RANDOM",   "SRANDOM",  "UID",
      "EUID",          "SECONDS",      "LOGNAME",    "SHELL",    "_",        "PPID",     "EPOCHSECONDS",
      "EPOCHREALTIME", "BASHPID",      "BASH",       "SHLVL",    "OSTYPE",   "GROUPS",   "HOSTTYPE",
      "MACHTYPE",      "BASH_VERSION", "PIPESTATUS", "DIRSTACK", "BASHOPTS", "SHELLOPTS"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::optional<std::int64_t> parameter_number(std::string_view text) {
  std::int64_t out = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, out);
  if (error != std::errc{} || behind != end) return std::nullopt;
  return out;
}

// Returns '@' or '*' for ${x[@]} and ${x[*]}, else '\0'.
char whole_array(const ShellPiece& piece) {
  if (piece.index == nullptr) return '\0';
  const std::optional<std::string> plain = piece.index->plain();
  return plain == "@" ? '@' : plain == "*" ? '*' : '\0';
}

ShellText without_value(const ShellText& text) {
  ShellText out;
  for (const ShellMissing& one : text.missing) out.lack(one.name, one.unset);
  return out;
}

// Returns the text in the quotes of ${x@Q}.
ShellText quoted_text(const ShellText& text, std::uint32_t at) {
  ShellText out = shell_text("'", at);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.chars[i] == '\'') out.append("'\\'", at);
    out.add(text.chars[i], text.at(i));
  }
  out.append("'", at);
  return out;
}

}  // namespace

void ShellInterpreter::lack(ShellText& text, const std::string& name) const {
  text.lack(name, !always_set(name) && !state_.needs_set);
}

ShellText ShellInterpreter::value(const std::string& name) const {
  const ShellVariable* variable = find(name);
  const ShellText* found = variable == nullptr ? nullptr : variable->find("0");
  if (found != nullptr) return *found;
  ShellText out;
  lack(out, name);
  return out;
}

ShellText ShellInterpreter::joined(const std::vector<ShellText>& values, std::uint32_t at) const {
  ShellText out;
  const std::string between = separators().substr(0, 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out.append(between, at);
    out.append(values[i]);
  }
  return out;
}

// Returns variables that the shell itself sets.
std::optional<ShellText> ShellInterpreter::dynamic(const std::string& name, std::uint32_t at) const {
  if (name == "PWD") return folder_text();
  if (name == "LINENO") return shell_text(std::to_string(sources_.where(at).line), at);
  if (name == "BASH_SOURCE") return shell_text(sources_.where(at).file, at);
  if (name == "FUNCNAME" && !called_.empty()) return shell_text(called_.back(), at);
  if (name == "OLDPWD" && !state_.last_folder.empty()) return shell_text(state_.last_folder, at);
  if (name == "OLDPWD") {
    ShellText out;
    out.lack(name, false);
    return out;
  }
  return std::nullopt;
}

ShellInterpreter::Values ShellInterpreter::special_parameter(const ShellPiece& piece) {
  Values out;
  const auto count = [&](std::size_t number) { return shell_text(std::to_string(number), piece.at); };
  const char sign = piece.name[0];
  if (sign == '@' || sign == '*') {
    out.list = sign == '@';
    out.values = state_.parameters;
    out.set = !out.values.empty();
  } else if (sign == '#') {
    out.values = {count(state_.parameters.size())};
  } else if (sign == '?') {
    ShellText status = last_ == ShellTruth::unknown ? ShellText{} : count(static_cast<std::size_t>(code_));
    if (last_ == ShellTruth::unknown) status.lack("$?", false);
    out.values = {std::move(status)};
  } else if (sign == '$' || sign == '!' || sign == '-') {
    ShellText process;
    process.lack("$" + piece.name, false);
    out.values = {std::move(process)};
  } else if (piece.name == "0") {
    out.values = {shell_text(state_.script, piece.at)};
  } else {
    const auto number = static_cast<std::size_t>(parameter_number(piece.name).value_or(0));
    out.set = number >= 1 && number <= state_.parameters.size();
    ShellText text;
    if (out.set) text = state_.parameters[number - 1];
    if (!out.set) text.lack(piece.name, true);
    out.values = {std::move(text)};
  }
  return out;
}

ShellInterpreter::Values ShellInterpreter::array_values(const ShellPiece& piece, bool list) {
  Values out;
  out.list = list;
  const ShellVariable* variable = find(piece.name);
  if (variable != nullptr) {
    spend(64 * variable->items.size(), piece.at);
    for (auto& [index, text] : variable->listed()) {
      out.values.push_back(std::move(text));
      out.indices.push_back(variable->associative ? 0 : parameter_number(index).value_or(0));
    }
    out.absent = variable->items.empty() ? variable->lacks : std::vector<ShellMissing>{};
  } else if (piece.name == "BASH_SOURCE" || piece.name == "FUNCNAME") {
    ShellText nothing;
    nothing.lack(piece.name, false);
    out.values = {std::move(nothing)};
  } else {
    ShellText nothing;
    lack(nothing, piece.name);
    out.absent = nothing.missing;
  }
  out.set = !out.values.empty();
  return out;
}

ShellInterpreter::Values ShellInterpreter::parameter_value(const ShellPiece& piece) {
  if (is_special_parameter(piece.name)) return special_parameter(piece);
  const char whole = whole_array(piece);
  const ShellVariable* variable = find(piece.name);
  if (whole != '\0') return array_values(piece, whole == '@');
  Values out;
  std::optional<std::string> index = "0";
  std::vector<ShellMissing> missing;
  if (piece.index != nullptr) index = index_of(variable, *piece.index, missing);
  ShellText text;
  if (!index) {
    for (const ShellMissing& one : missing) text.lack(one.name, one.unset);
    out.values = {std::move(text)};
    return out;
  }
  if (variable != nullptr && variable->associative) spend(16 * variable->items.size(), piece.at);
  const ShellText* found = variable == nullptr ? nullptr : variable->find(*index);
  out.set = found != nullptr;
  if (found != nullptr) {
    text = *found;
  } else if (variable == nullptr) {
    const std::optional<ShellText> own = *index == "0" ? dynamic(piece.name, piece.at)
                                         : piece.name == "BASH_SOURCE" || piece.name == "FUNCNAME"
                                             ? std::optional<ShellText>(*index == "-1" && piece.name == "BASH_SOURCE"
                                                                            ? shell_text(state_.script, piece.at)
                                                                            : ShellText{})
                                             : std::nullopt;
    out.set = own.has_value() || always_set(piece.name);
    if (own) text = *own;
    if (own && *index != "0" && text.empty()) text.lack(piece.name, false);
    if (!own) lack(text, piece.name);
  } else if (!variable->lacks.empty() && variable->items.empty()) {
    text.missing = variable->lacks;
  } else if (piece.index == nullptr || state_.needs_set) {
    lack(text, piece.name);
  }
  out.values = {std::move(text)};
  return out;
}

// Evaluates ${!x}: the parameter that x names; ${!x[@]}: the indices of x; ${!x*}: names with this prefix.
ShellInterpreter::Values ShellInterpreter::indirect(const ShellPiece& piece) {
  Values out;
  const char whole = whole_array(piece);
  if (piece.op == "@" || piece.op == "*") {
    for (const auto& entry : state_.variables) {
      if (entry.first.starts_with(piece.name) && find(entry.first) != nullptr)
        out.values.push_back(shell_text(entry.first, piece.at));
    }
    out.list = piece.op == "@";
    return out;
  }
  if (whole != '\0' && piece.op.empty()) {
    const ShellVariable* variable = find(piece.name);
    if (variable != nullptr) {
      for (const auto& item : variable->listed()) out.values.push_back(shell_text(item.first, piece.at));
    }
    out.list = whole == '@';
    return out;
  }
  ShellPiece pointer = piece;
  pointer.indirect = false;
  pointer.op.clear();
  const Values target = parameter_value(pointer);
  const ShellText name = target.values.size() == 1 ? target.values.front() : joined(target.values, piece.at);
  if (!name.known() || name.empty()) {
    ShellText nothing = without_value(name);
    out.set = !name.known();
    out.values = {std::move(nothing)};
    if (!piece.op.empty()) return apply_operator(piece, std::move(out));
    return out;
  }
  ShellPiece direct = piece;
  direct.indirect = false;
  direct.index = nullptr;
  const std::size_t open = name.chars.find('[');
  direct.name = name.chars.substr(0, open);
  if (open != std::string::npos && name.chars.ends_with(']')) {
    direct.index = std::make_shared<ShellWord>(parse_shell_word(name.part(open + 1, name.size() - open - 2), sources_));
  }
  const bool plain =
      is_special_parameter(direct.name) || std::all_of(direct.name.begin(), direct.name.end(), [](char sign) {
        return std::isalnum(static_cast<unsigned char>(sign)) != 0 || sign == '_';
      });
  if (!plain) fail(piece.at, fmt::format("'{}' is not the name of a parameter", excerpt(name.chars, 40)));
  return parameter(direct);
}

ShellInterpreter::Values ShellInterpreter::parameter(const ShellPiece& piece) {
  here_ = piece.at;
  if (piece.indirect) return indirect(piece);
  Values out = parameter_value(piece);
  const bool many = piece.name == "@" || piece.name == "*" || whole_array(piece) != '\0';
  if (piece.length && many) {
    ShellText length = shell_text(std::to_string(out.values.size()), piece.at);
    const ShellVariable* variable = find(piece.name);
    if (variable != nullptr && variable->uncertain) length = ShellText{};
    for (const ShellText& value : out.values) {
      for (const ShellMissing& one : value.missing) {
        if (length.empty()) length.lack(one.name, one.unset);
      }
    }
    return {false, true, {std::move(length)}};
  }
  if (piece.length) {
    const ShellText text = out.values.empty() ? ShellText{} : out.values.front();
    ShellText length = text.known() ? shell_text(std::to_string(text.size()), piece.at) : ShellText{};
    for (const ShellMissing& one : text.missing) length.lack(one.name, one.unset);
    return {false, true, {std::move(length)}};
  }
  if (!piece.op.empty()) out = apply_operator(piece, std::move(out));
  // "$*" is one joined word.
  if (many && !out.list && piece.quoted && out.values.size() != 1) {
    out.values = {joined(out.values, piece.at)};
    for (const ShellMissing& one : std::exchange(out.absent, {})) out.values.front().lack(one.name, one.unset);
  }
  return out;
}

// --- operators

ShellInterpreter::Values ShellInterpreter::apply_operator(const ShellPiece& piece, Values values) {
  const std::string& op = piece.op;
  if (op == ":") return slice(piece, std::move(values));
  const char last = op.back();
  if (op.size() <= 2 && (last == '-' || last == '=' || last == '+' || last == '?'))
    return default_of(piece, std::move(values));
  for (ShellText& text : values.values) text = op == "@" ? transformed(piece, text) : replaced(piece, text);
  return values;
}

ShellInterpreter::Values ShellInterpreter::default_of(const ShellPiece& piece, Values values) {
  const char last = piece.op.back();
  bool filled = values.set;
  if (piece.op.size() == 2 && values.set) {
    const bool empty =
        std::all_of(values.values.begin(), values.values.end(), [](const ShellText& text) { return text.empty(); }) &&
        values.values.size() < 2;
    // A value that is not known is assumed not to be empty.
    filled = !empty || !std::all_of(values.values.begin(), values.values.end(),
                                    [](const ShellText& text) { return text.known(); });
  }
  if (last == '+') return filled ? instead_of(piece) : Values{false, true, {ShellText{}}};
  if (filled) return values;
  if (last == '?') {
    fail(piece.at, fmt::format("{} is not set, and the script then ends: {}: {}", piece.name,
                               expand_joined(*piece.first).chars, way_to_state({piece.name})));
  }
  Values out = instead_of(piece);
  const ShellText text = out.values.empty() ? ShellText{} : out.values.front();
  if (last == '=') {
    here_ = piece.at;
    if (is_special_parameter(piece.name)) fail(piece.at, "a parameter of the script is not assigned so");
    if (piece.index == nullptr) assign(piece.name, text);
    if (piece.index != nullptr) store(piece.name, sure_index_of(find(piece.name), *piece.index), text, false);
    out.instead = nullptr;
  }
  const bool absent = !is_special_parameter(piece.name) && find(piece.name) == nullptr;
  if (absent || (last == '=' && values.values.size() == 1 && !values.values.front().missing.empty())) {
    note(piece.at, fmt::format("{} is not set: its default '{}' is taken (--env {}=VALUE says otherwise)", piece.name,
                               text.chars.substr(0, 60), piece.name));
  }
  return out;
}

// Returns the word after the operator, expanded once: here if it is quoted or is one text, else when fields are made.
ShellInterpreter::Values ShellInterpreter::instead_of(const ShellPiece& piece) {
  Values out;
  const bool plain = std::all_of(piece.first->pieces.begin(), piece.first->pieces.end(), [](const ShellPiece& one) {
    return one.kind == ShellPieceKind::literal ||
           (one.kind == ShellPieceKind::parameter && one.op != "=" && one.op != ":=");
  });
  // "${x:+"$@"}" gives several quoted words.
  if (piece.quoted && piece.first->pieces.size() == 1 &&
      piece.first->pieces.front().kind == ShellPieceKind::parameter) {
    ShellPiece inside = piece.first->pieces.front();
    inside.quoted = true;
    return parameter(inside);
  }
  out.values = {expand_joined(*piece.first)};
  if (plain) out.instead = piece.first.get();
  return out;
}

ShellText ShellInterpreter::transformed(const ShellPiece& piece, const ShellText& text) {
  const std::string kind = piece.first->plain().value_or("");
  if (kind.size() != 1 || std::string_view("QULu").find(kind[0]) == std::string_view::npos)
    fail(piece.at, fmt::format("'${{{}@{}}}' is not read", piece.name, kind));
  if (!text.known()) return without_value(text);
  if (text.empty() && !text.missing.empty()) return text;
  if (kind == "Q") {
    const bool plain = std::all_of(text.chars.begin(), text.chars.end(),
                                   [](char sign) { return static_cast<unsigned char>(sign) >= ' ' && sign != '\x7f'; });
    if (!plain) fail(piece.at, "a text with control characters is not quoted (${x@Q})");
    return quoted_text(text, piece.at);
  }
  ShellText out = text;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto sign = static_cast<unsigned char>(out.chars[i]);
    if (kind == "L") out.chars[i] = static_cast<char>(std::tolower(sign));
    if (kind == "U" || (kind == "u" && i == 0)) out.chars[i] = static_cast<char>(std::toupper(sign));
  }
  return out;
}

// Applies # ## % %%.
ShellText ShellInterpreter::cut(const ShellPiece& piece, const ShellText& text, const ShellText& pattern) {
  const std::string& op = piece.op;
  const std::string_view all = text.chars;
  const std::size_t size = all.size();
  for (std::size_t i = 0; i <= size; ++i) {
    step(piece.at);
    spend(8 * i, piece.at);
    const std::size_t place = op == "#" || op == "%%" ? i : size - i;
    if (op[0] == '#' && fits_shell_pattern(all.substr(0, place), pattern.chars)) return text.part(place);
    if (op[0] == '%' && fits_shell_pattern(all.substr(place), pattern.chars)) {
      ShellText out = text.part(0, place);
      if (place == 0) out.missing = without_value(text).missing;
      return out;
    }
  }
  return text;
}

namespace {

// True if only the first bytes of a text are unknown: $PWD/a/b.
bool unknown_at_begin_only(const ShellText& text) {
  return std::all_of(text.missing.begin(), text.missing.end(),
                     [](const ShellMissing& one) { return one.unset || one.at == 0; });
}

}  // namespace

ShellText ShellInterpreter::replaced(const ShellPiece& piece, const ShellText& text) {
  const std::string& op = piece.op;
  const ShellText pattern = expand_pattern(*piece.first);
  if (!pattern.known()) {
    ShellText out = without_value(text);
    for (const ShellMissing& one : pattern.missing) out.lack(one.name, one.unset);
    return out;
  }
  if (!text.known()) {
    // The rest is known nevertheless if a part is cut off at the end, or up to a slash.
    const bool path = op[0] == '%' || (op == "##" && text.chars.find('/') != std::string::npos);
    if (!path || !unknown_at_begin_only(text)) return without_value(text);
  }
  const std::string_view all = text.chars;
  if (op[0] == '^' || op[0] == ',') {
    ShellText out = text;
    const std::size_t count = op.size() == 2 ? out.size() : std::min<std::size_t>(1, out.size());
    for (std::size_t i = 0; i < count; ++i) {
      const auto sign = static_cast<unsigned char>(out.chars[i]);
      if (!pattern.empty() && !fits_shell_pattern(all.substr(i, 1), pattern.chars)) continue;
      out.chars[i] = static_cast<char>(op[0] == '^' ? std::toupper(sign) : std::tolower(sign));
    }
    return out;
  }
  if (all.size() > 20'000) fail(piece.at, "a text too long to replace parts of it");
  if (op[0] == '#' || op[0] == '%') return cut(piece, text, pattern);
  const std::size_t size = all.size();
  ShellText with;
  if (piece.second != nullptr) {
    with = expand_joined(*piece.second);
    const ShellText quoted = expand_pattern(*piece.second);
    for (const ShellPiece& one : piece.second->pieces) {
      ShellWord word;
      word.pieces.push_back(one);
      if (!one.quoted && expand_joined(word).chars.find('&') != std::string::npos)
        fail(piece.at,
             "an & without quotes in a replacement means what was replaced since bash 5.2, and itself before");
    }
  }
  ShellText out;
  for (const ShellMissing& one : text.missing) out.lack(one.name, one.unset);
  std::size_t at = 0;
  bool done = pattern.empty();
  if (pattern.empty() && op == "/#") out.append(with);
  while (at < size && !done) {
    std::size_t end = size + 1;
    const bool here = (op != "/#" || at == 0);
    for (std::size_t last = size; here && last > at; --last) {
      step(piece.at);
      spend(8 * (last - at), piece.at);
      if (op == "/%" && last != size) break;
      if (!fits_shell_pattern(all.substr(at, last - at), pattern.chars)) continue;
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
  const bool empty_fits = !done && size == 0 && fits_shell_pattern("", pattern.chars);
  if ((pattern.empty() && op == "/%") || empty_fits) out.append(with);
  return out;
}

ShellInterpreter::Values ShellInterpreter::slice(const ShellPiece& piece, Values values) {
  std::vector<ShellMissing> missing;
  const auto number = [&](const std::shared_ptr<ShellWord>& word) {
    std::vector<ShellMissing> lacks;
    const auto out = evaluate(expand_joined(*word), piece.at, lacks);
    missing.insert(missing.end(), lacks.begin(), lacks.end());
    return out;
  };
  const auto begin = number(piece.first);
  std::optional<std::int64_t> count;
  if (piece.second != nullptr) count = number(piece.second);
  if (!begin || (piece.second != nullptr && !count)) {
    ShellText nothing;
    for (const ShellMissing& one : missing) nothing.lack(one.name, one.unset);
    return {false, true, {std::move(nothing)}};
  }
  const bool parameters = piece.name == "@" || piece.name == "*";
  const bool list = parameters || whole_array(piece) != '\0';
  if (list) {
    if (count.value_or(0) < 0) fail(piece.at, "a negative number of elements");
    if (parameters) {
      values.values.insert(values.values.begin(), shell_text(state_.script, piece.at));
      values.indices.clear();
    }
    const auto size = static_cast<std::int64_t>(values.values.size());
    const auto index = [&](std::int64_t i) {
      const auto place = static_cast<std::size_t>(i);
      return place < values.indices.size() && !parameters ? values.indices[place] : i;
    };
    std::int64_t from = *begin;
    if (from < 0) from += size == 0 ? 0 : index(size - 1) + 1;
    Values out;
    out.list = values.list;
    for (std::int64_t i = 0; i < size && from >= 0; ++i) {
      if (index(i) < from) continue;
      if (count && static_cast<std::int64_t>(out.values.size()) >= *count) break;
      out.values.push_back(values.values[static_cast<std::size_t>(i)]);
    }
    out.set = !out.values.empty();
    return out;
  }
  const ShellText& text = values.values.front();
  if (!text.known()) return {false, true, {without_value(text)}};
  const auto size = static_cast<std::int64_t>(text.size());
  std::int64_t from = *begin < 0 ? size + *begin : *begin;
  if (from < 0 || from > size) from = size;
  std::int64_t to = count ? (*count < 0 ? size + *count : from + std::min(size - from, *count)) : size;
  if (to < from) {
    if (count.value_or(0) < 0) fail(piece.at, "a part that ends in front of its begin");
    to = from;
  }
  return {false, values.set, {text.part(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from))}};
}

}  // namespace mirfak
