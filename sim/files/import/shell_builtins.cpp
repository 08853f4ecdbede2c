// Builtins of the shell. Programs are in shell_programs.cpp.

#include "import/shell_interpreter.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace mirfak {

namespace {

std::optional<std::int64_t> whole_word_number(const std::string& text) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

template <std::size_t N>
bool one_of(const std::string& name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<ShellField> standing_words(const std::vector<ShellField>& fields) {
  std::vector<ShellField> out;
  for (const ShellField& field : fields) {
    if (!field.vanishes) out.push_back(field);
  }
  return out;
}

}  // namespace

ShellTruth ShellInterpreter::run_simple(const ShellNode& node) {
  here_ = node.at;
  substituted_.reset();
  if (node.words.empty()) {
    for (const ShellAssignment& assignment : node.assignments) assign(assignment);
    const bool reads = node.assignments.empty() && node.redirects.size() == 1 && node.redirects.front().op == "<";
    if (reads) {  // $(< file)
      if (const auto input = input_from(node.redirects.front())) write(*input);
    } else if (!node.redirects.empty()) {
      with_output(node.redirects, [] { return ShellTruth::yes; });
    }
    if (!substituted_) return ShellTruth::yes;
    failed_code_ = substituted_->second;
    return substituted_->first;
  }
  std::vector<ShellField> fields = expand(node.words);
  // Variables before a command are set for that command alone.
  std::map<std::string, std::optional<ShellVariable>> hidden;
  for (const ShellAssignment& assignment : node.assignments) {
    const auto old = state_.variables.find(assignment.name);
    hidden.emplace(assignment.name, old == state_.variables.end() ? std::optional<ShellVariable>{} : old->second);
    assign(assignment);
    state_.variables[assignment.name].exported = true;
  }
  failed_code_ = 1;
  last_byte_ = node.last;
  const ShellTruth out = with_output(node.redirects, [&] { return run_words(node, std::move(fields)); });
  for (auto& [name, variable] : hidden) {
    if (variable) state_.variables[name] = std::move(*variable);
    if (!variable) state_.variables.erase(name);
  }
  return out;
}

ShellTruth ShellInterpreter::run_words(const ShellNode& node, std::vector<ShellField> fields) {
  while (!fields.empty() && fields.front().vanishes && fields.front().text.known()) fields.erase(fields.begin());
  if (fields.empty()) {
    if (!substituted_) return ShellTruth::yes;
    failed_code_ = substituted_->second;
    return substituted_->first;
  }
  here_ = fields.front().at;
  const std::string name = fields.front().text.chars;
  if (const auto function = state_.functions.find(name); function != state_.functions.end()) {
    std::vector<ShellText> parameters;
    for (const ShellField& field : fields) {
      if (&field == &fields.front()) continue;
      if (!field.vanishes) {
        parameters.push_back(field.text);
      } else if (!parameters.empty()) {
        parameters.back().behind = field.text.missing;
      }
    }
    const auto body = function->second;
    return run_function(name, *body, std::move(parameters));
  }
  if (const auto out = builtin(node, fields)) return *out;
  return started(fields);
}

ShellTruth ShellInterpreter::set_options(const std::vector<ShellField>& fields) {
  const auto option = [&](const std::string& name, bool on) {
    if (name == "errexit") state_.ends_on_error = on;
    if (name == "nounset") state_.needs_set = on;
    if (name == "pipefail") state_.any_of_pipeline = on;
    if (name == "allexport") state_.exports_all = on;
    if (name == "noexec" && on) fail(here_, "set -n: nothing is run");
  };
  std::size_t first = 1;
  for (; first < fields.size(); ++first) {
    const std::string& word = fields[first].text.chars;
    if (word.size() < 2 || (word[0] != '-' && word[0] != '+')) {
      if (word == "-") ++first;
      break;
    }
    if (word == "--") {
      state_.parameters.clear();
      ++first;
      break;
    }
    for (const char sign : word.substr(1)) {
      if (sign == 'e') option("errexit", word[0] == '-');
      if (sign == 'u') option("nounset", word[0] == '-');
      if (sign == 'a') option("allexport", word[0] == '-');
      if (sign == 'n') option("noexec", word[0] == '-');
      if (sign == 'k') fail(here_, "set -k is not read");
      if (sign == 'o' && first + 1 < fields.size()) option(fields[++first].text.chars, word[0] == '-');
    }
  }
  if (first >= fields.size()) return ShellTruth::yes;
  state_.parameters.clear();
  for (; first < fields.size(); ++first) state_.parameters.push_back(fields[first].text);
  return ShellTruth::yes;
}

// Sets options of shopt; options that change the parsing and are not supported are refused.
ShellTruth ShellInterpreter::switch_option(const std::vector<ShellField>& fields) {
  bool on = false;
  for (std::size_t i = 1; i < fields.size(); ++i) {
    const std::string& word = fields[i].text.chars;
    if (word.starts_with('-')) {
      on = word.find('s') != std::string::npos;
      if (word.find('q') != std::string::npos) return ShellTruth::unknown;
      continue;
    }
    if (word == "extglob") state_.extended_patterns = on;
    constexpr std::array<std::string_view, 6> unread = {"nocasematch", "lastpipe",        "expand_aliases",
                                                        "nullglob",    "inherit_errexit", "patsub_replacement"};
    if (on && one_of(word, unread))
      note(fields[i].at, fmt::format("shopt -s {} is not followed: what depends on it may be read differently", word));
  }
  return ShellTruth::yes;
}

std::optional<ShellTruth> ShellInterpreter::builtin_of_flow(const std::string& name,
                                                            const std::vector<ShellField>& fields) {
  std::optional<std::int64_t> number;
  if (fields.size() > 1) number = whole_word_number(fields[1].text.chars);
  if (name == "shift") {
    if (fields.size() > 1 && !number) fail(here_, "shift: expected a number");
    const std::int64_t count = number.value_or(1);
    if (count < 0 || count > static_cast<std::int64_t>(state_.parameters.size())) return failed(1);
    state_.parameters.erase(state_.parameters.begin(), state_.parameters.begin() + count);
    return ShellTruth::yes;
  }
  if (name == "set") return set_options(fields);
  if (name == "break" || name == "continue") {
    if (loops_ == 0) return ShellTruth::yes;
    flow_ = name == "break" ? ShellFlow::leave_loop : ShellFlow::next_round;
    levels_ = static_cast<int>(std::clamp<std::int64_t>(number.value_or(1), 1, loops_));
    return ShellTruth::yes;
  }
  if (name == "return" && returnable_ == 0) return failed(1);
  if (name == "return" || name == "exit") {
    if (fields.size() > 1 && !number && fields[1].text.known()) fail(here_, fmt::format("{}: expected a number", name));
    flow_ = name == "exit" ? ShellFlow::leave_script : ShellFlow::leave_function;
    if (fields.size() > 1 && !fields[1].text.known()) return returned_ = ShellTruth::unknown;
    const int code = static_cast<int>(number.value_or(last_ == ShellTruth::no ? code_ : 0) & 255);
    returned_ = fields.size() < 2 ? last_ : code == 0 ? ShellTruth::yes : ShellTruth::no;
    failed_code_ = code;
    return returned_;
  }
  return std::nullopt;
}

std::optional<ShellTruth> ShellInterpreter::builtin_of_folders(const std::string& name,
                                                               const std::vector<ShellField>& fields) {
  if (name == "pwd") {
    ShellText out = folder_text();
    out.append("\n", here_);
    write(out);
    return ShellTruth::yes;
  }
  if (name == "popd") {
    if (state_.folders.empty()) return failed(1);
    state_.folder = state_.folders.back();
    state_.folders.pop_back();
    return ShellTruth::yes;
  }
  if (name != "cd" && name != "pushd") return std::nullopt;
  std::size_t first = 1;
  while (first < fields.size() && fields[first].text.size() > 1 && fields[first].text.chars[0] == '-') ++first;
  if (first < fields.size() && fields[first].text.chars == "--") ++first;
  const std::string before = state_.folder;
  if (name == "pushd") state_.folders.push_back(before);
  if (first >= fields.size()) return go_to(value("HOME"), here_);
  if (fields[first].text.chars == "-") {
    const ShellText back = shell_text(state_.last_folder, here_);
    state_.folder = state_.last_folder;
    state_.last_folder = before;
    write(folder_text());
    return ShellTruth::yes;
  }
  return go_to(fields[first].text, here_);
}

std::optional<ShellTruth> ShellInterpreter::builtin_of_texts(const ShellNode& node,
                                                             const std::vector<ShellField>& all) {
  const std::string& name = all.front().text.chars;
  if (name == "let") {
    ShellTruth out = ShellTruth::yes;
    if (all.size() < 2) return failed(1);
    for (std::size_t i = 1; i < all.size(); ++i) out = truth_of(all[i].text, node.at);
    return out;
  }
  if (name == "eval") {
    ShellText text;
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (i > 1) text.append(" ", all[i].at);
      text.append(all[i].text);
    }
    const ShellTruth out = run_text(text);
    failed_code_ = code_;
    return out;
  }
  const std::vector<ShellField> fields = standing_words(all);
  if (name == "source" || name == ".") {
    if (fields.size() < 2) {
      note(here_, "which file is read here is not known");
      return ShellTruth::unknown;
    }
    std::vector<ShellText> parameters;
    for (std::size_t i = 2; i < fields.size(); ++i) parameters.push_back(fields[i].text);
    return run_file(fields[1], std::move(parameters), false);
  }
  if (name == "command" || name == "builtin" || name == "exec") {
    std::size_t first = 1;
    while (first < all.size() && all[first].text.size() > 1 && all[first].text.chars[0] == '-') {
      if (name == "command" && all[first].text.chars.find_first_of("vV") != std::string::npos) {
        if (first + 1 < all.size() && state_.functions.contains(all[first + 1].text.chars)) return ShellTruth::yes;
        if (outputs_.empty() || outputs_.back() == nullptr || first + 1 >= all.size()) return ShellTruth::unknown;
        outputs_.back()->lack("$(command -v " + all[first + 1].text.chars + ")", false);
        outputs_.back()->append(all[first + 1].text);
        return ShellTruth::unknown;
      }
      first += all[first].text.chars == "-a" ? 2 : 1;
    }
    if (first >= all.size()) return ShellTruth::yes;
    const ShellTruth out =
        run_words(node, std::vector<ShellField>(all.begin() + static_cast<std::ptrdiff_t>(first), all.end()));
    if (name == "exec") flow_ = ShellFlow::leave_script;
    return out;
  }
  if (name == "trap") {
    for (std::size_t i = 2; i < fields.size(); ++i) {
      if (fields[i].text.chars != "EXIT" && fields[i].text.chars != "0") continue;
      at_exit_ = fields[1].text;
      if (fields[1].text.chars == "-" || fields[1].text.empty()) at_exit_.reset();
    }
    return ShellTruth::yes;
  }
  return std::nullopt;
}

std::optional<ShellTruth> ShellInterpreter::builtin(const ShellNode& node, const std::vector<ShellField>& all) {
  const std::string& name = all.front().text.chars;
  constexpr std::array<std::string_view, 14> nothing = {":",    "true", "wait", "ulimit", "umask",   "alias", "unalias",
                                                        "hash", "dirs", "jobs", "disown", "history", "bind",  "times"};
  if (one_of(name, nothing)) return ShellTruth::yes;
  if (name == "false") return failed(1);
  if (name == "[" || name == "test") {
    std::vector<ShellField> words(all.begin() + 1, all.end());
    if (name == "[" && (words.empty() || words.back().text.chars != "]")) fail(node.at, "'[' without ']'");
    if (name == "[") words.pop_back();
    return test(words, node.at);
  }
  if (name == "echo") return echo(all);
  if (name == "printf") return print_formatted(all);
  if (const auto out = builtin_of_texts(node, all)) return out;
  const std::vector<ShellField> fields = standing_words(all);
  if (const auto out = builtin_of_flow(name, fields)) return out;
  if (const auto out = builtin_of_folders(name, fields)) return out;
  if (name == "read") return read_variables(fields);
  if (name == "mapfile" || name == "readarray") return read_lines(fields);
  if (name == "getopts") return next_option(fields);
  if (name == "unset") return unset(fields);
  if (name == "shopt") return switch_option(fields);
  if (name == "type") {
    return fields.size() > 1 && state_.functions.contains(fields.back().text.chars) ? ShellTruth::yes
                                                                                    : ShellTruth::unknown;
  }
  if (name == "caller" || name == "enable" || name == "fc" || name == "suspend" || name == "compgen")
    fail(here_, fmt::format("'{}' is not read", name));
  if (name == "kill") return ShellTruth::yes;
  return std::nullopt;
}

}  // namespace mirfak
