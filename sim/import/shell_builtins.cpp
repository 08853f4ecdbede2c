// What commands do by their names: builtins of the shell, the few programs whose output is computed, and all others,
// which are noted.

#include "import/shell_interpreter.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace mirfak {

namespace {

constexpr std::size_t kMostCommands = 10'000;
constexpr std::size_t kMostWritten = 1U << 20;

std::string last_part(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

bool is_shell(const std::string& name) { return name == "bash" || name == "sh" || name == "zsh" || name == "dash"; }

// -c, -lc, -ec: a text is what is run.
bool runs_text(const std::string& word) {
  return word.size() >= 2 && word.size() <= 5 && word[0] == '-' && word[1] != '-' && word.back() == 'c';
}

std::optional<std::int64_t> number_of(const std::string& text) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

template <std::size_t N>
bool one_of(const std::string& name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Without what bash leaves out.
std::vector<ShellField> standing(const std::vector<ShellField>& fields) {
  std::vector<ShellField> out;
  for (const ShellField& field : fields) {
    if (!field.vanishes) out.push_back(field);
  }
  return out;
}

ShellText unescaped(const ShellText& text) {
  ShellText out;
  constexpr std::string_view signs = "ntr\\\"abfv";
  constexpr std::string_view meant = "\n\t\r\\\"\a\b\f\v";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t which =
        text.chars[i] == '\\' && i + 1 < text.size() ? signs.find(text.chars[i + 1]) : std::string_view::npos;
    out.add(which == std::string_view::npos ? text.chars[i] : meant[which], text.at(i));
    if (which != std::string_view::npos) ++i;
  }
  for (const ShellMissing& one : text.missing) out.lack(one.name, one.unset);
  return out;
}

std::string joined_words(const std::vector<ShellField>& fields) {
  std::string out;
  for (const ShellField& field : fields) out += (out.empty() ? "" : " ") + field.text.chars;
  return excerpt(out, 40);
}

}  // namespace

void ShellInterpreter::write(const ShellText& text) {
  if (outputs_.empty() || outputs_.back() == nullptr) return;
  outputs_.back()->append(text);
  if (outputs_.back()->size() > kMostWritten) fail(here_, "commands that print more than 1 MiB");
}

// Output that goes to a file is not printed; a file that is written as a whole is kept.
ShellTruth ShellInterpreter::with_output(const std::vector<ShellRedirect>& redirects,
                                         const std::function<ShellTruth()>& act) {
  ShellText written;
  std::string file;
  bool away = false;
  bool appends = false;
  bool reads = false;
  for (const ShellRedirect& redirect : redirects) {
    if (redirect.descriptor == "2") continue;
    if (redirect.op == "<<<" || redirect.document != nullptr) {
      ShellText input = expand_joined(redirect.document != nullptr ? *redirect.document : redirect.target);
      if (redirect.document == nullptr) input.append("\n", here_);
      inputs_.push_back(std::move(input));
      reads = true;
    } else if (redirect.op == "<") {
      ShellText input;
      input.lack("$(cat " + expand_joined(redirect.target).chars + ")", false);
      inputs_.push_back(std::move(input));
      reads = true;
    } else if (redirect.op == ">" || redirect.op == ">>" || redirect.op == ">|" || redirect.op == "&>" ||
               redirect.op == "&>>") {
      const ShellText name = expand_joined(redirect.target);
      away = true;
      appends = redirect.op == ">>" || redirect.op == "&>>";
      file = name.chars.starts_with("/dev/") ? "" : name.chars;
    } else if (redirect.op == ">&" && redirect.target.plain() == "2") {
      away = true;
    }
  }
  if (away) outputs_.push_back(&written);
  const ShellTruth out = act();
  if (away) outputs_.pop_back();
  if (reads) inputs_.pop_back();
  if (file.empty()) return out;
  const auto old =
      std::find_if(run_.files.begin(), run_.files.end(), [&](const auto& one) { return one.first == file; });
  if (old == run_.files.end()) {
    if (!written.empty() && run_.files.size() < 100) run_.files.emplace_back(file, written.chars);
  } else {
    old->second = (appends ? old->second : std::string()) + written.chars;
  }
  return out;
}

ShellTruth ShellInterpreter::run_simple(const ShellNode& node) {
  here_ = node.at;
  if (node.words.empty()) {
    for (const ShellAssignment& assignment : node.assignments) assign(assignment);
    return last_ == ShellTruth::unknown ? ShellTruth::unknown : ShellTruth::yes;
  }
  std::vector<ShellField> fields = expand(node.words);
  // Variables in front of a command are set for it alone.
  std::map<std::string, std::optional<ShellVariable>> hidden;
  for (const ShellAssignment& assignment : node.assignments) {
    const auto old = state_.variables.find(assignment.name);
    hidden.emplace(assignment.name, old == state_.variables.end() ? std::optional<ShellVariable>{} : old->second);
    assign(assignment);
    state_.variables[assignment.name].exported = true;
  }
  const ShellTruth out = with_output(node.redirects, [&] { return run_words(node, std::move(fields)); });
  for (auto& [name, variable] : hidden) {
    if (variable) state_.variables[name] = std::move(*variable);
    if (!variable) state_.variables.erase(name);
  }
  return out;
}

ShellTruth ShellInterpreter::run_words(const ShellNode& node, std::vector<ShellField> fields) {
  while (!fields.empty() && fields.front().vanishes && fields.front().text.known()) fields.erase(fields.begin());
  if (fields.empty()) return ShellTruth::yes;
  here_ = fields.front().at;
  const std::string name = fields.front().text.chars;
  if (const auto function = functions_.find(name); function != functions_.end()) {
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
    return run_function(*body, std::move(parameters));
  }
  if (const auto out = builtin(node, fields)) return *out;
  if (const auto out = filter(name, standing(fields))) return *out;
  return external(std::move(fields));
}

ShellTruth ShellInterpreter::run_declare(const ShellNode& node) {
  here_ = node.at;
  bool exports = node.name == "export";
  bool removes = false;
  bool array = false;
  bool associative = false;
  std::vector<std::string> names;
  for (const ShellField& field : standing(expand(std::vector<ShellWord>(node.words.begin() + 1, node.words.end())))) {
    const std::string& word = field.text.chars;
    if (!word.starts_with('-') && !word.starts_with('+')) {
      const std::size_t equals = word.find('=');
      names.push_back(word.substr(0, equals));
      if (equals != std::string::npos) assign(names.back(), field.text.part(equals + 1));  // export "A=b"
      continue;
    }
    if (word.find('n') != std::string::npos && node.name == "export") removes = true;
    if (word.find('n') != std::string::npos && node.name != "export")
      fail(node.at, "names of names (declare -n) are not read");
    exports = exports || word.find('x') != std::string::npos;
    array = array || word.find('a') != std::string::npos;
    associative = associative || word.find('A') != std::string::npos;
    if (word.find('f') != std::string::npos || word.find('p') != std::string::npos) return ShellTruth::yes;
  }
  const bool local = !locals_.empty() && (node.name == "local" || node.name == "declare" || node.name == "typeset");
  const auto hide = [&](const std::string& name) {
    const auto old = state_.variables.find(name);
    if (!local || locals_.back().contains(name)) return;
    locals_.back().emplace(name, old == state_.variables.end() ? std::optional<ShellVariable>{} : old->second);
  };
  for (const std::string& name : names) {
    const bool fresh = local && !locals_.back().contains(name);
    hide(name);
    if (fresh) state_.variables.erase(name);
    ShellVariable& variable = state_.variables[name];
    variable.exported = (variable.exported || exports) && !removes;
    variable.array = variable.array || array || associative;
    variable.associative = variable.associative || associative;
  }
  for (const ShellAssignment& assignment : node.assignments) {
    hide(assignment.name);
    if (associative) {
      ShellVariable& variable = state_.variables[assignment.name];
      variable.associative = variable.array = true;
      if (assignment.array && !assignment.append) variable.items.clear();
    }
    ShellAssignment one = assignment;
    for (const ShellWord& value : braces(assignment.value)) {
      one.value = value;
      assign(one);
    }
    ShellVariable& variable = state_.variables[assignment.name];
    variable.exported = (variable.exported || exports) && !removes;
  }
  return ShellTruth::yes;
}

void ShellInterpreter::echo(const std::vector<ShellField>& fields) {
  bool newline = true;
  bool escapes = false;
  std::size_t first = 1;
  for (; first < fields.size(); ++first) {
    const std::string& word = fields[first].text.chars;
    if (word.size() < 2 || word[0] != '-' || word.find_first_not_of("neE", 1) != std::string::npos) break;
    newline = newline && word.find('n') == std::string::npos;
    escapes = escapes || word.find('e') != std::string::npos;
  }
  ShellText out;
  bool begun = false;
  for (std::size_t i = first; i < fields.size(); ++i) {
    if (begun && !fields[i].vanishes) out.append(" ", fields[i].at);
    begun = begun || !fields[i].vanishes;
    out.append(escapes ? unescaped(fields[i].text) : fields[i].text);
  }
  if (newline) out.append("\n", here_);
  write(out);
}

// %s, %d, %i, %% and widths of zero; another format is not known.
void ShellInterpreter::print_formatted(const std::vector<ShellField>& fields) {
  const std::vector<ShellField> words = standing(fields);
  std::size_t first = 1;
  std::string variable;
  if (words.size() > 2 && words[1].text.chars == "-v") {
    variable = words[2].text.chars;
    first = 3;
  }
  if (words.size() <= first) return;
  const ShellText format = unescaped(words[first].text);
  std::size_t next = first + 1;
  ShellText out;
  do {
    const std::size_t before = next;
    for (std::size_t i = 0; i < format.size(); ++i) {
      if (format.chars[i] != '%' || i + 1 == format.size()) {
        out.add(format.chars[i], format.at(i));
        continue;
      }
      std::string flags;
      while (++i < format.size() && std::string_view("0123456789-").find(format.chars[i]) != std::string_view::npos)
        flags += format.chars[i];
      const char kind = i < format.size() ? format.chars[i] : '%';
      if (kind == '%') {
        out.add('%', format.at(i));
        continue;
      }
      const ShellText value = next < words.size() ? words[next++].text : ShellText{};
      if (kind == 's' && flags.empty()) {
        out.append(value);
      } else if ((kind == 'd' || kind == 'i') && (flags.empty() || flags[0] == '0') && value.known()) {
        const auto number = value.empty() ? std::optional<std::int64_t>(0) : number_of(value.chars);
        if (!number) fail(words[first].at, "printf: expected a number");
        const auto width = static_cast<std::size_t>(std::min<std::int64_t>(64, number_of(flags).value_or(0)));
        std::string digits = std::to_string(*number);
        if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
        out.append(digits, words[first].at);
      } else {
        out.lack("$(printf ...)", false);
      }
    }
    if (next == before) break;
  } while (next < words.size());
  if (variable.empty()) return write(out);
  assign(variable, std::move(out));
}

std::optional<ShellText> ShellInterpreter::input_of(const ShellNode& node) {
  (void)node;
  if (inputs_.empty()) return std::nullopt;
  return inputs_.back();
}

// read -r -a NAME, read A B <<< "words"
ShellTruth ShellInterpreter::read_variables(const ShellNode& node, const std::vector<ShellField>& fields) {
  const bool lines = fields.front().text.chars != "read";
  bool array = lines;
  std::vector<std::string> names;
  for (std::size_t i = 1; i < fields.size(); ++i) {
    const std::string& word = fields[i].text.chars;
    if (!word.starts_with('-')) {
      names.push_back(word);
    } else if (word.find('a') != std::string::npos) {
      array = true;
    } else if (word.find_first_of("dpnutN") != std::string::npos && word.size() == 2) {
      ++i;
    }
  }
  if (names.empty()) names.emplace_back(lines ? "MAPFILE" : "REPLY");
  const std::optional<ShellText> input = input_of(node);
  if (!input || !input->known()) {
    for (const std::string& name : names) {
      ShellText text;
      text.lack(name, false);
      state_.variables[name].items.clear();
      assign(name, std::move(text));
    }
    return input ? ShellTruth::unknown : ShellTruth::no;
  }
  if (input->empty()) return ShellTruth::no;
  std::string between = lines ? "\n" : separators();
  ShellText rest = *input;
  if (!lines) rest = rest.part(0, rest.chars.find('\n'));
  if (!inputs_.empty() && !lines) {
    const std::size_t newline = inputs_.back().chars.find('\n');
    inputs_.back() = newline == std::string::npos ? ShellText{} : inputs_.back().part(newline + 1);
  }
  std::vector<ShellText> words;
  while (true) {
    const std::size_t begin = lines ? 0 : std::min(rest.chars.find_first_not_of(between), rest.size());
    rest = rest.part(begin);
    if (rest.empty()) break;
    const bool last = !array && words.size() + 1 == names.size();
    const std::size_t end = last ? rest.size() : std::min(rest.chars.find_first_of(between), rest.size());
    ShellText word = rest.part(0, end);
    while (last && !word.empty() && between.find(word.chars.back()) != std::string::npos)
      word = word.part(0, word.size() - 1);
    words.push_back(std::move(word));
    rest = rest.part(std::min(end + (lines ? 1 : 0), rest.size()));
    if (last) break;
  }
  if (array) {
    ShellVariable made;
    made.array = true;
    for (std::size_t i = 0; i < words.size(); ++i) made.items.emplace_back(std::to_string(i), words[i]);
    state_.variables[names.front()] = std::move(made);
    return ShellTruth::yes;
  }
  for (std::size_t i = 0; i < names.size(); ++i) assign(names[i], i < words.size() ? words[i] : ShellText{});
  return ShellTruth::yes;
}

// getopts: one letter of the script's parameters after the other.
ShellTruth ShellInterpreter::next_option(const std::vector<ShellField>& fields) {
  if (fields.size() < 3) return ShellTruth::no;
  const std::string letters = fields[1].text.chars;
  const std::string variable = fields[2].text.chars;
  const ShellText index_text = value("OPTIND");
  auto index = static_cast<std::size_t>(std::max<std::int64_t>(1, number_of(index_text.chars).value_or(1)));
  const auto put = [&](const std::string& name, const ShellText& text) { assign(name, text); };
  const auto ends = [&] {
    put(variable, shell_text("?", here_));
    put("OPTIND", shell_text(std::to_string(index), here_));
    return ShellTruth::no;
  };
  if (index > state_.parameters.size()) return ends();
  const ShellText& word = state_.parameters[index - 1];
  if (option_letter_ == 0) {
    if (word.chars == "--") {
      ++index;
      return ends();
    }
    if (word.size() < 2 || word.chars[0] != '-') return ends();
    option_letter_ = 1;
  }
  const char letter = word.chars[option_letter_];
  const std::size_t known = letter == ':' ? std::string::npos : letters.find(letter);
  const bool takes = known != std::string::npos && known + 1 < letters.size() && letters[known + 1] == ':';
  ShellText argument;
  if (takes && option_letter_ + 1 < word.size()) {
    argument = word.part(option_letter_ + 1);
  } else if (takes && index < state_.parameters.size()) {
    argument = state_.parameters[index++];
  }
  if (takes || option_letter_ + 1 >= word.size()) {
    ++index;
    option_letter_ = 0;
  } else {
    ++option_letter_;
  }
  put(variable, shell_text(known == std::string::npos ? "?" : std::string(1, letter), here_));
  put("OPTARG", argument);
  put("OPTIND", shell_text(std::to_string(index), here_));
  return ShellTruth::yes;
}

std::optional<ShellTruth> ShellInterpreter::builtin_on_parameters(const std::string& name,
                                                                  const std::vector<ShellField>& fields) {
  const auto number = [&]() -> std::int64_t {
    return fields.size() > 1 ? number_of(fields[1].text.chars).value_or(1) : 1;
  };
  if (name == "shift") {
    const auto count = static_cast<std::size_t>(std::max<std::int64_t>(0, number()));
    if (count > state_.parameters.size()) return ShellTruth::no;
    state_.parameters.erase(state_.parameters.begin(), state_.parameters.begin() + static_cast<std::ptrdiff_t>(count));
    return ShellTruth::yes;
  }
  if (name == "set") {
    std::size_t first = 1;
    bool replaces = false;
    for (; first < fields.size() && !replaces; ++first) {
      const std::string& word = fields[first].text.chars;
      if (word == "--") {
        replaces = true;
      } else if (word.size() > 1 && (word[0] == '-' || word[0] == '+') && word.back() == 'o') {
        ++first;
      } else if (!word.starts_with('-') && !word.starts_with('+')) {
        replaces = true;
        --first;
      }
    }
    if (!replaces) return ShellTruth::yes;
    state_.parameters.clear();
    for (; first < fields.size(); ++first) state_.parameters.push_back(fields[first].text);
    return ShellTruth::yes;
  }
  if (name == "break" || name == "continue") {
    flow_ = name == "break" ? ShellFlow::leave_loop : ShellFlow::next_round;
    levels_ = static_cast<int>(std::clamp<std::int64_t>(number(), 1, 100));
    return ShellTruth::yes;
  }
  if (name == "return" || name == "exit") {
    flow_ = name == "exit" ? ShellFlow::leave_script : ShellFlow::leave_function;
    returned_ = fields.size() > 1 ? (fields[1].text.chars == "0" ? ShellTruth::yes : ShellTruth::no) : last_;
    return returned_;
  }
  return std::nullopt;
}

std::optional<ShellTruth> ShellInterpreter::builtin(const ShellNode& node, const std::vector<ShellField>& all) {
  const std::string& name = all.front().text.chars;
  constexpr std::array<std::string_view, 17> nothing = {
      ":",     "cd",   "pushd",           "popd", "trap",   "wait", "ulimit",  "umask", "alias",
      "shopt", "hash", "builtin_nothing", "jobs", "disown", "bind", "unalias", "times"};
  if (one_of(name, nothing) || name == "true") return ShellTruth::yes;
  if (name == "false") return ShellTruth::no;
  if (name == "[" || name == "test") {
    std::vector<ShellField> words(all.begin() + 1, all.end());
    if (name == "[" && (words.empty() || words.back().text.chars != "]")) fail(node.at, "'[' without ']'");
    if (name == "[") words.pop_back();
    return test(words, node.at);
  }
  if (name == "echo") return echo(all), ShellTruth::yes;
  if (name == "printf") return print_formatted(all), ShellTruth::yes;
  const std::vector<ShellField> fields = standing(all);
  if (const auto out = builtin_on_parameters(name, fields)) return out;
  if (name == "read" || name == "mapfile" || name == "readarray") return read_variables(node, fields);
  if (name == "getopts") return next_option(fields);
  if (name == "unset") {
    for (std::size_t i = 1; i < fields.size(); ++i) {
      state_.variables.erase(fields[i].text.chars);
      if (fields[1].text.chars == "-f") functions_.erase(fields[i].text.chars);
    }
    return ShellTruth::yes;
  }
  if (name == "let") {
    ShellTruth out = ShellTruth::yes;
    for (std::size_t i = 1; i < fields.size(); ++i) out = truth_of(fields[i].text, node.at);
    return out;
  }
  if (name == "eval") {
    ShellText text;
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (i > 1) text.append(" ", all[i].at);
      text.append(all[i].text);
    }
    return run_text(text);
  }
  if ((name == "source" || name == ".") && fields.size() > 1) {
    std::vector<ShellText> parameters;
    for (std::size_t i = 2; i < fields.size(); ++i) parameters.push_back(fields[i].text);
    return run_file(fields[1], std::move(parameters), false);
  }
  if (name == "command" || name == "builtin" || name == "exec") {
    if (all.size() < 2) return ShellTruth::yes;
    if (all[1].text.chars == "-v" || all[1].text.chars == "-V") return ShellTruth::unknown;
    const ShellTruth out = run_words(node, std::vector<ShellField>(all.begin() + 1, all.end()));
    if (name == "exec") flow_ = ShellFlow::leave_script;
    return out;
  }
  return std::nullopt;
}

// Programs whose output follows from their words and their input.
std::optional<ShellTruth> ShellInterpreter::filter(const std::string& name, const std::vector<ShellField>& fields) {
  if (outputs_.empty() || outputs_.back() == nullptr) return std::nullopt;
  const std::uint32_t at = fields.empty() ? here_ : fields.front().at;
  const bool known =
      std::all_of(fields.begin(), fields.end(), [](const ShellField& field) { return field.text.known(); });
  if ((name == "basename" || name == "dirname") && fields.size() > 1 && known) {
    const ShellText& path = fields[1].text;
    const std::size_t slash = path.chars.rfind('/');
    ShellText out = path.part(slash == std::string::npos ? 0 : slash + 1);
    if (name == "dirname")
      out = slash == std::string::npos ? shell_text(".", at) : slash == 0 ? shell_text("/", at) : path.part(0, slash);
    if (name == "basename" && fields.size() > 2 && out.chars.size() > fields[2].text.size() &&
        out.chars.ends_with(fields[2].text.chars))
      out = out.part(0, out.size() - fields[2].text.size());
    out.append("\n", at);
    write(out);
    return ShellTruth::yes;
  }
  if (name == "seq" && fields.size() > 1 && fields.size() < 5 && known) {
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 1; i < fields.size(); ++i) {
      const auto number = number_of(fields[i].text.chars);
      if (!number) return std::nullopt;
      numbers.push_back(*number);
    }
    const std::int64_t first = numbers.size() > 1 ? numbers.front() : 1;
    const std::int64_t by = numbers.size() == 3 ? numbers[1] : 1;
    if (by == 0) return ShellTruth::no;
    ShellText out;
    for (std::int64_t i = first; by > 0 ? i <= numbers.back() : i >= numbers.back(); i += by) {
      step(at);
      out.append(std::to_string(i) + "\n", at);
    }
    write(out);
    return ShellTruth::yes;
  }
  if (name == "expr" && fields.size() > 1 && known) {
    ShellText expression;
    for (std::size_t i = 1; i < fields.size(); ++i) {
      expression.append(i > 1 ? " " : "", at);
      expression.append(fields[i].text);
    }
    if (expression.chars.find_first_not_of("0123456789+-*/%() ") != std::string::npos) return std::nullopt;
    ShellText out = evaluated(expression, at);
    out.append("\n", at);
    write(out);
    return ShellTruth::yes;
  }
  if (inputs_.empty() || !inputs_.back().known()) return std::nullopt;
  const ShellText& input = inputs_.back();
  if (name == "cat" && fields.size() == 1) return write(input), ShellTruth::yes;
  if (name == "bc" && input.chars.find_first_not_of("0123456789+-*/%() \n") == std::string::npos) {
    ShellText out = evaluated(input, at);
    out.append("\n", at);
    write(out);
    return ShellTruth::yes;
  }
  if (name == "wc" && fields.size() == 2 && (fields[1].text.chars == "-w" || fields[1].text.chars == "-l")) {
    std::size_t count = static_cast<std::size_t>(std::count(input.chars.begin(), input.chars.end(), '\n'));
    if (fields[1].text.chars == "-w") {
      count = 0;
      bool inside = false;
      for (const char sign : input.chars) {
        const bool blank = sign == ' ' || sign == '\n' || sign == '\t';
        if (!blank && !inside) ++count;
        inside = !blank;
      }
    }
    write(shell_text(std::to_string(count) + "\n", at));
    return ShellTruth::yes;
  }
  if (name == "tr" && fields.size() == 3 && fields[2].text.size() == 1 &&
      (fields[1].text.size() == 1 || fields[1].text.chars == "-d")) {
    ShellText out;
    const bool removes = fields[1].text.chars == "-d";
    const char sign = removes ? fields[2].text.chars[0] : fields[1].text.chars[0];
    for (std::size_t i = 0; i < input.size(); ++i) {
      const bool same = input.chars[i] == sign;
      if (!same) out.add(input.chars[i], input.at(i));
      if (same && !removes) out.add(fields[2].text.chars[0], input.at(i));
    }
    write(out);
    return ShellTruth::yes;
  }
  return std::nullopt;
}

// bash -c TEXT, sbatch --wrap TEXT, bash SCRIPT, behind whatever starts them (srun).
bool ShellInterpreter::nested_text(const std::vector<ShellField>& fields, ShellTruth& out) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string& word = fields[i].text.chars;
    const bool wraps = word.starts_with("--wrap");
    const bool shell = is_shell(last_part(word)) && i + 1 < fields.size();
    if (!wraps && !shell) {
      if (word.ends_with(".py")) return false;
      const bool script = i == 0 ? (word.ends_with(".sh") && word.find('/') != std::string::npos)
                                 : (word.ends_with(".sh") || word.ends_with(".slurm") || word.ends_with(".sbatch")) &&
                                       !fields[i - 1].text.chars.starts_with("--");
      if (!script) continue;
    }
    std::optional<ShellText> text;
    std::size_t next = i + 1;
    std::optional<ShellField> file;
    if (wraps) {
      const std::size_t equals = word.find('=');
      text = equals == std::string::npos ? (next < fields.size() ? fields[next].text : ShellText{})
                                         : fields[i].text.part(equals + 1);
    } else if (shell) {
      while (next < fields.size() && fields[next].text.chars.starts_with('-') && !runs_text(fields[next].text.chars))
        ++next;
      if (next >= fields.size()) return false;
      if (runs_text(fields[next].text.chars)) {
        if (++next < fields.size()) text = fields[next].text;
      } else {
        file = fields[next];
      }
    } else {
      file = fields[i];
    }
    std::vector<ShellText> parameters;
    for (std::size_t p = next + 1; p < fields.size(); ++p) parameters.push_back(fields[p].text);
    const std::size_t outer = outer_.size();
    outer_.insert(outer_.end(), fields.begin(), fields.begin() + static_cast<std::ptrdiff_t>(i));
    if (file) {
      if (!shell) parameters.clear();
      for (std::size_t p = i + 1; !shell && p < fields.size(); ++p) parameters.push_back(fields[p].text);
      out = run_file(*file, std::move(parameters), true);
    } else if (text) {
      const State saved = state_;
      std::erase_if(state_.variables, [](const auto& entry) { return !entry.second.exported; });
      state_.parameters.clear();
      if (!parameters.empty()) state_.script = parameters.front().chars;
      for (std::size_t p = 1; p < parameters.size(); ++p) state_.parameters.push_back(parameters[p]);
      if (++depth_ > 300) fail(fields[i].at, "nested too deep");
      out = run_text(*text);
      --depth_;
      state_ = saved;
      if (flow_ == ShellFlow::leave_script) flow_ = ShellFlow::on;
    }
    outer_.resize(outer);
    return true;
  }
  return false;
}

ShellTruth ShellInterpreter::external(std::vector<ShellField> fields) {
  ShellTruth nested = ShellTruth::unknown;
  if (nested_text(fields, nested)) return nested;
  if (!outputs_.empty() && outputs_.back() != nullptr) outputs_.back()->lack("$(" + joined_words(fields) + ")", false);
  ShellCommand command;
  command.where = sources_.where(fields.front().at);
  std::vector<ShellField> all = outer_;
  for (ShellField& field : fields) all.push_back(std::move(field));
  for (const ShellField& field : all) {
    ArgumentWord word{field.text.chars, sources_.where(field.at)};
    for (const ShellMissing& one : field.text.missing) word.missing.push_back(one.name);
    word.vanishes = field.vanishes;
    command.words.push_back(std::move(word));
  }
  for (const auto& [name, variable] : state_.variables) {
    const ShellText* text = variable.find("0");
    if (variable.exported && text != nullptr) command.environment.emplace(name, text->chars);
  }
  if (run_.commands.size() >= kMostCommands)
    fail(all.front().at, fmt::format("more than {} commands that are started", kMostCommands));
  run_.commands.push_back(std::move(command));
  // Of programs that are not shells nothing is known but that they usually succeed.
  constexpr std::array<std::string_view, 9> questions = {"grep", "egrep", "diff",  "cmp",    "which",
                                                         "type", "hash",  "pgrep", "command"};
  return one_of(all.empty() ? "" : all.front().text.chars, questions) ? ShellTruth::unknown : ShellTruth::yes;
}

}  // namespace mirfak
