// Programs whose output follows from their words and their input. The output of any other use of them is not known.

#include "import/shell_interpreter.hpp"
#include "import/shell_substitution.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace mirfak {

namespace {

std::optional<std::int64_t> filter_number(std::string_view text) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// Returns the signs of a set of tr: ranges, classes, escapes. nullopt: another form.
std::optional<std::string> signs_of_set(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' && text.substr(i, 2) == "[:") {
      const std::size_t end = text.find(":]", i);
      if (end == std::string_view::npos) return std::nullopt;
      const std::string_view kind = text.substr(i + 2, end - i - 2);
      if (kind == "space") out += " \t\n\r\v\f";
      if (kind == "blank") out += " \t";
      for (char sign = 'A'; kind == "upper" && sign <= 'Z'; ++sign) out += sign;
      for (char sign = 'a'; kind == "lower" && sign <= 'z'; ++sign) out += sign;
      for (char sign = '0'; kind == "digit" && sign <= '9'; ++sign) out += sign;
      if (kind != "space" && kind != "blank" && kind != "upper" && kind != "lower" && kind != "digit")
        return std::nullopt;
      i = end + 1;
      continue;
    }
    char sign = text[i];
    if (sign == '\\' && i + 1 < text.size()) {
      const char next = text[++i];
      if (next != 'n' && next != 't' && next != '\\') return std::nullopt;
      sign = next == 'n' ? '\n' : next == 't' ? '\t' : '\\';
    } else if (i + 2 < text.size() && text[i + 1] == '-') {
      for (int one = static_cast<unsigned char>(sign); one <= static_cast<unsigned char>(text[i + 2]); ++one)
        out += static_cast<char>(one);
      i += 2;
      continue;
    }
    out += sign;
  }
  return out;
}

std::optional<ShellText> translated(const std::vector<ShellField>& fields, const ShellText& input) {
  bool removes = false;
  bool squeezes = false;
  std::size_t first = 1;
  for (; first < fields.size() && fields[first].text.size() > 1 && fields[first].text.chars[0] == '-'; ++first) {
    for (const char sign : fields[first].text.chars.substr(1)) {
      if (sign != 'd' && sign != 's') return std::nullopt;
      (sign == 'd' ? removes : squeezes) = true;
    }
  }
  if (first >= fields.size() || (removes && squeezes)) return std::nullopt;
  const auto from = signs_of_set(fields[first].text.chars);
  const auto to =
      first + 1 < fields.size() ? signs_of_set(fields[first + 1].text.chars) : std::optional<std::string>("");
  if (!from || !to || (!removes && !squeezes && to->empty())) return std::nullopt;
  const std::string& squeezed = to->empty() ? *from : *to;
  ShellText out;
  for (std::size_t i = 0; i < input.size(); ++i) {
    char sign = input.chars[i];
    const std::size_t place = from->rfind(sign);
    if (removes && place != std::string::npos) continue;
    if (!to->empty() && place != std::string::npos) sign = (*to)[std::min(place, to->size() - 1)];
    if (squeezes && squeezed.find(sign) != std::string::npos && !out.empty() && out.chars.back() == sign) continue;
    out.add(sign, input.at(i));
  }
  return out;
}

std::vector<ShellText> lines_of_text(const ShellText& text) {
  std::vector<ShellText> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.chars.find('\n', at), text.size());
    out.push_back(text.part(at, end - at));
    at = end + 1;
  }
  return out;
}

// Returns the first or last lines: -n 2, -2, -n2.
std::optional<ShellText> end_of_text(const std::string& name, const std::vector<ShellField>& fields,
                                     const ShellText& input) {
  std::int64_t count = 10;
  if (fields.size() > 3) return std::nullopt;
  if (fields.size() > 1) {
    std::string text = fields[1].text.chars;
    if (text == "-n" && fields.size() == 3) {
      text = fields[2].text.chars;
    } else if (fields.size() == 2 && text.starts_with("-n")) {
      text = text.substr(2);
    } else if (fields.size() == 2 && text.starts_with('-')) {
      text = text.substr(1);
    } else {
      return std::nullopt;
    }
    const auto number = filter_number(text);
    if (!number || *number < 0 || text.starts_with('-')) return std::nullopt;
    count = *number;
  }
  const std::vector<ShellText> lines = lines_of_text(input);
  const auto size = static_cast<std::int64_t>(lines.size());
  const std::int64_t begin = name == "tail" ? std::max<std::int64_t>(0, size - count) : 0;
  const std::int64_t end = name == "tail" ? size : std::min(size, count);
  ShellText out;
  for (std::int64_t i = begin; i < end; ++i) {
    out.append(lines[static_cast<std::size_t>(i)]);
    out.append("\n", input.at(0));
  }
  return out;
}

// Applies cut -d, -f2 to each line.
std::optional<ShellText> cut_fields(const std::vector<ShellField>& fields, const ShellText& input) {
  std::string between = "\t";
  std::optional<std::int64_t> wanted;
  for (std::size_t i = 1; i < fields.size(); ++i) {
    const std::string& word = fields[i].text.chars;
    if (word.size() < 2 || word[0] != '-' || (word[1] != 'd' && word[1] != 'f')) return std::nullopt;
    std::string text = word.substr(2);
    if (text.empty()) {
      if (++i >= fields.size()) return std::nullopt;
      text = fields[i].text.chars;
    }
    if (word[1] == 'd') between = text;
    if (word[1] == 'f') wanted = filter_number(text);
    if (word[1] == 'f' && !wanted) return std::nullopt;
  }
  if (!wanted || *wanted < 1 || between.size() != 1) return std::nullopt;
  ShellText out;
  for (const ShellText& line : lines_of_text(input)) {
    if (line.chars.find(between[0]) == std::string::npos) {
      out.append(line);
    } else {
      std::size_t at = 0;
      for (std::int64_t i = 1; i < *wanted && at <= line.size(); ++i)
        at = std::min(line.chars.find(between[0], at), line.size()) + 1;
      if (at <= line.size()) out.append(line.part(at, std::min(line.chars.find(between[0], at), line.size()) - at));
    }
    out.append("\n", line.at(0));
  }
  return out;
}

std::string counted(const std::string& option, const std::string& text) {
  if (option == "-c") return std::to_string(text.size());
  if (option == "-l") return std::to_string(std::count(text.begin(), text.end(), '\n'));
  std::size_t count = 0;
  bool inside = false;
  for (const char sign : text) {
    const bool blank = sign == ' ' || sign == '\n' || sign == '\t';
    if (!blank && !inside) ++count;
    inside = !blank;
  }
  return std::to_string(count);
}

}  // namespace

std::optional<ShellTruth> ShellInterpreter::filter(const std::string& name, const std::vector<ShellField>& fields) {
  if (outputs_.empty() || outputs_.back() == nullptr) return std::nullopt;
  if (const auto out = filter_of_paths(name, fields)) return out;
  const bool known =
      std::all_of(fields.begin(), fields.end(), [](const ShellField& field) { return field.text.known(); });
  if (!known) return std::nullopt;
  if (const auto out = filter_of_words(name, fields)) return out;
  return filter_of_input(name, fields);
}

// Runs basename, dirname, realpath, cat: a path that begins in the start folder of the script counts as a path too.
std::optional<ShellTruth> ShellInterpreter::filter_of_paths(const std::string& name,
                                                            const std::vector<ShellField>& fields) {
  const std::uint32_t at = fields.front().at;
  std::vector<ShellText> words;
  bool plain = true;  // no option changes the output
  for (std::size_t i = 1; i < fields.size(); ++i) {
    const std::string& word = fields[i].text.chars;
    if (word.size() > 1 && word[0] == '-') {
      plain = plain &&
              (word == "--" || name == "realpath" || name == "cat" || word == "-f" || word == "-e" || word == "-m");
      continue;
    }
    words.push_back(fields[i].text);
  }
  if (!plain || words.empty()) return std::nullopt;
  const auto at_begin = [](const ShellText& text) {
    return std::all_of(text.missing.begin(), text.missing.end(),
                       [](const ShellMissing& one) { return one.unset || one.at == 0; });
  };
  if ((name == "basename" || name == "dirname") &&
      (at_begin(words[0]) && words[0].chars.find('/') != std::string::npos ? true : words[0].known())) {
    if (words.size() > (name == "basename" ? 2U : 1U)) return std::nullopt;
    const ShellText path = words[0].part(0, without_slashes(words[0].chars).size());
    const std::size_t slash = path.chars.rfind('/');
    ShellText out = slash == std::string::npos || path.size() == 1 ? path : path.part(slash + 1);
    if (name == "dirname") {
      out = slash == std::string::npos   ? shell_text(".", at)
            : slash == 0 && path.known() ? shell_text("/", at)
                                         : path.part(0, without_slashes(path.chars.substr(0, slash)).size());
      if (slash == 0 && !path.known()) out = ShellText{}, out.missing = path.missing;
      if (slash != std::string::npos && slash > 0 && out.missing.empty()) out.missing = path.part(0, 1).missing;
    }
    if (name == "basename" && words.size() > 1 && out.size() > words[1].size() && out.chars.ends_with(words[1].chars))
      out = out.part(0, out.size() - words[1].size());
    out.append("\n", at);
    write(out);
    return ShellTruth::yes;
  }
  const bool real = name == "realpath" || (name == "readlink" && fields.size() > 2);
  if (real && words.size() == 1) {
    const std::string path = path_of(words[0]);
    ShellText out;
    if (path.starts_with('/')) {
      out.append(path, words[0].at(0));
    } else if (words[0].known() || !path.empty()) {
      out.lack("PWD", false);
      if (!path.empty()) out.append("/" + path, words[0].at(0));
    } else {
      return std::nullopt;
    }
    out.append("\n", at);
    write(out);
    return ShellTruth::yes;
  }
  if (name == "which") {
    ShellText out;
    out.lack("$(which " + words[0].chars + ")", false);
    out.append(words[0].chars, words[0].at(0));
    out.append("\n", at);
    write(out);
    return ShellTruth::yes;
  }
  if (name == "cat") {
    ShellText out;
    for (const ShellText& word : words) {
      const auto text = word.chars == "-" ? (inputs_.empty() ? std::nullopt : std::optional<ShellText>(inputs_.back()))
                                          : text_of_file(word, at);
      if (!text) return std::nullopt;
      out.append(*text);
    }
    write(out);
    return ShellTruth::yes;
  }
  return std::nullopt;
}

std::optional<ShellTruth> ShellInterpreter::filter_of_words(const std::string& name,
                                                            const std::vector<ShellField>& fields) {
  const std::uint32_t at = fields.front().at;
  if (name == "seq" && fields.size() > 1 && fields.size() < 5) {
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 1; i < fields.size(); ++i) {
      const auto number = filter_number(fields[i].text.chars);
      if (!number || std::abs(*number) > 1'000'000'000'000) return std::nullopt;
      numbers.push_back(*number);
    }
    const std::int64_t first = numbers.size() > 1 ? numbers.front() : 1;
    const std::int64_t by = numbers.size() == 3 ? numbers[1] : 1;
    if (by == 0) return failed(1);
    ShellText out;
    for (std::int64_t i = first; by > 0 ? i <= numbers.back() : i >= numbers.back(); i += by) {
      step(at);
      out.append(std::to_string(i) + "\n", at);
    }
    write(out);
    return ShellTruth::yes;
  }
  if (name == "printenv" && fields.size() == 2) {
    const ShellVariable* variable = find(fields[1].text.chars);
    if (variable == nullptr || !variable->exported) return std::nullopt;
    ShellText out = value(fields[1].text.chars);
    out.append("\n", at);
    write(out);
    return ShellTruth::yes;
  }
  if (name == "expr" && fields.size() > 1) {
    // Each number and sign must be a word of its own.
    ShellText expression;
    for (std::size_t i = 1; i < fields.size(); ++i) {
      const std::string& word = fields[i].text.chars;
      const bool sign = word.size() == 1 && std::string_view("+-*/%()").find(word[0]) != std::string_view::npos;
      const auto number = filter_number(word);
      if (!sign && !number) return std::nullopt;
      expression.append(i > 1 ? " " : "", at);
      expression.append(sign ? word : std::to_string(*number), fields[i].at);
    }
    if (fields.size() % 2 == 1 && fields.size() != 2) return std::nullopt;
    std::vector<ShellMissing> missing;
    const std::optional<std::int64_t> number = evaluate(expression, at, missing);
    if (!number) return std::nullopt;
    write(shell_text(std::to_string(*number) + "\n", at));
    return *number != 0 ? ShellTruth::yes : failed(1);
  }
  return std::nullopt;
}

std::optional<ShellTruth> ShellInterpreter::filter_by_substitutions(const std::vector<ShellField>& fields) {
  const std::uint32_t at = fields.front().at;
  const std::optional<ShellSubstitutions> by = substitutions_of(fields);
  if (!by || by->in_place) return std::nullopt;
  ShellText input;
  for (const ShellText& file : by->files) {
    const std::optional<ShellText> text = text_of_file(file, at);
    if (!text) return std::nullopt;
    input.append(*text);
  }
  if (by->files.empty() && inputs_.empty()) return std::nullopt;
  if (by->files.empty()) input = inputs_.back();
  if (!input.known()) return std::nullopt;
  spend(64 * input.size() * (by->list.size() + 1), at);
  const std::optional<ShellText> out = substituted(input, *by);
  if (!out) return std::nullopt;
  write(*out);
  return ShellTruth::yes;
}

std::optional<ShellTruth> ShellInterpreter::filter_of_input(const std::string& name,
                                                            const std::vector<ShellField>& fields) {
  if (name == "sed") return filter_by_substitutions(fields);
  const std::uint32_t at = fields.front().at;
  std::vector<ShellField> words = fields;
  std::optional<ShellText> input;
  const bool reads_file = (name == "head" || name == "tail" || name == "wc" || name == "cut") && words.size() > 1 &&
                          words.back().text.size() > 0 && words.back().text.chars[0] != '-';
  if (reads_file) {
    input = text_of_file(words.back().text, at);
    if (input) words.pop_back();
  }
  if (!input && !inputs_.empty()) input = inputs_.back();
  if (!input || !input->known()) return std::nullopt;
  spend(16 * input->size(), at);
  if (name == "cat" && words.size() == 1) return write(*input), ShellTruth::yes;
  if (name == "bc" && words.size() == 1) {
    const std::string& text = input->chars;
    const std::size_t newline = text.find('\n');
    if (text.find_first_not_of("0123456789+-*/%() \n") != std::string::npos || newline + 1 < text.size())
      return std::nullopt;
    // Numbers with a leading zero are octal in a shell, and not here.
    for (std::size_t i = 0; i + 1 < text.size(); ++i) {
      const bool begins = i == 0 || std::isdigit(static_cast<unsigned char>(text[i - 1])) == 0;
      if (text[i] == '0' && begins && std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0) return std::nullopt;
    }
    std::vector<ShellMissing> missing;
    const std::optional<std::int64_t> number = evaluate(*input, at, missing);
    if (!number) return std::nullopt;
    write(shell_text(std::to_string(*number) + "\n", at));
    return ShellTruth::yes;
  }
  if (name == "wc" && words.size() == 2) {
    const std::string& option = words[1].text.chars;
    if ((option != "-w" && option != "-l" && option != "-c") || reads_file) return std::nullopt;
    write(shell_text(counted(option, input->chars) + "\n", at));
    return ShellTruth::yes;
  }
  std::optional<ShellText> out;
  if (name == "xargs" && words.size() == 1 && input->chars.find_first_of("'\"\\") == std::string::npos) {
    out.emplace();
    for (std::size_t i = 0; i < input->size();) {
      const std::size_t begin = std::min(input->chars.find_first_not_of(" \t\n", i), input->size());
      i = std::min(input->chars.find_first_of(" \t\n", begin), input->size());
      if (begin < i && !out->empty()) out->append(" ", at);
      out->append(input->part(begin, i - begin));
    }
    out->append("\n", at);
  }
  if (name == "tr") out = translated(words, *input);
  if (name == "head" || name == "tail") out = end_of_text(name, words, *input);
  if (name == "cut") out = cut_fields(words, *input);
  if (!out) return std::nullopt;
  write(*out);
  return ShellTruth::yes;
}

}  // namespace mirfak
