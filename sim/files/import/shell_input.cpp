// Commands that read input: read, mapfile, getopts.

#include "import/shell_interpreter.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace mirfak {

namespace {

// Options of one letter, some of which take a value, in the same word or in the next word.
struct Letters {
  std::map<char, std::string> values;
  std::size_t next = 1;  // the first word that is no option
};

Letters letters_of(const std::vector<ShellField>& fields, std::string_view with_value) {
  Letters out;
  for (; out.next < fields.size(); ++out.next) {
    const std::string& word = fields[out.next].text.chars;
    if (word == "--") {
      ++out.next;
      break;
    }
    if (word.size() < 2 || word[0] != '-') break;
    for (std::size_t i = 1; i < word.size(); ++i) {
      std::string& value = out.values[word[i]];
      if (with_value.find(word[i]) == std::string_view::npos) continue;
      if (i + 1 < word.size()) {
        value = word.substr(i + 1);
      } else if (out.next + 1 < fields.size()) {
        value = fields[++out.next].text.chars;
      }
      break;
    }
  }
  return out;
}

std::int64_t count_in(const std::string& text) {
  std::int64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return std::max<std::int64_t>(0, out);
}

bool is_blank_separator(char sign, const std::string& between) {
  return (sign == ' ' || sign == '\t' || sign == '\n') && between.find(sign) != std::string::npos;
}

// A line as read takes it: without -r a backslash makes the next sign literal; `plain` marks such signs.
struct ReadLine {
  ShellText text;
  std::vector<bool> plain;
};

// Returns the next word of the line from `at` on; the last name takes the rest of the line.
ShellText next_word(const ReadLine& line, std::size_t& at, const std::string& between, bool last) {
  const std::string& all = line.text.chars;
  const auto separates = [&](std::size_t i) { return !line.plain[i] && between.find(all[i]) != std::string::npos; };
  const auto blank = [&](std::size_t i) { return !line.plain[i] && is_blank_separator(all[i], between); };
  while (at < all.size() && blank(at)) ++at;
  const std::size_t begin = at;
  if (last) {
    std::size_t end = all.size();
    while (end > begin && blank(end - 1)) --end;
    // One separator after a single word is left out.
    std::size_t first = begin;
    while (first < end && !separates(first)) ++first;
    if (first + 1 == end && first < end) end = first;
    at = all.size();
    return line.text.part(begin, end - begin);
  }
  while (at < all.size() && !separates(at)) ++at;
  ShellText out = line.text.part(begin, at - begin);
  while (at < all.size() && blank(at)) ++at;
  if (at < all.size() && separates(at) && !blank(at)) {
    ++at;
    while (at < all.size() && blank(at)) ++at;
  }
  return out;
}

}  // namespace

// Runs read -r -a NAME, read A B <<< "words".
ShellTruth ShellInterpreter::read_variables(const std::vector<ShellField>& fields) {
  const Letters letters = letters_of(fields, "adinNptu");
  const bool array = letters.values.contains('a');
  std::vector<std::string> names;
  for (std::size_t i = letters.next; i < fields.size(); ++i) names.push_back(fields[i].text.chars);
  if (array) names = {letters.values.at('a')};
  const bool whole = names.empty();
  if (whole) names.emplace_back("REPLY");
  const bool other = letters.values.contains('u') && letters.values.at('u') != "0";
  if (other || inputs_.empty() || !inputs_.back().known()) {
    for (const std::string& name : names) {
      ShellText text;
      text.lack(name, false);
      if (array) state_.variables[name].items.clear();
      assign_named(name, std::move(text));
    }
    return ShellTruth::unknown;
  }
  ShellText& input = inputs_.back();
  char end = '\n';
  if (letters.values.contains('d')) end = letters.values.at('d').empty() ? '\0' : letters.values.at('d')[0];
  const bool counts = letters.values.contains('n') || letters.values.contains('N');
  const auto most = counts ? static_cast<std::size_t>(count_in(letters.values.contains('n') ? letters.values.at('n')
                                                                                            : letters.values.at('N')))
                           : std::string::npos;
  ReadLine line;
  std::size_t at = 0;
  bool ended = false;
  const bool raw = letters.values.contains('r');
  for (; at < input.size() && !ended && line.text.size() < most; ++at) {
    const char sign = input.chars[at];
    if (sign == '\\' && !raw) {
      if (++at >= input.size()) break;
      if (input.chars[at] == '\n') continue;
      line.text.add(input.chars[at], input.at(at));
      line.plain.push_back(true);
    } else if (sign == end) {
      ended = true;
    } else {
      line.text.add(sign, input.at(at));
      line.plain.push_back(false);
    }
  }
  spend(input.size() + 256, here_);
  input = input.part(at);
  const ShellTruth out = ended || (counts && line.text.size() == most) ? ShellTruth::yes : failed(1);
  if (whole) {
    assign("REPLY", std::move(line.text));
    return out;
  }
  const std::string between = separators();
  std::size_t place = 0;
  if (array) {
    ShellVariable& made = writable(names.front(), here_);
    made.array = true;
    made.items.clear();
    while (place < line.text.size()) {
      while (place < line.text.size() && !line.plain[place] && is_blank_separator(line.text.chars[place], between))
        ++place;
      if (place >= line.text.size()) break;
      store(names.front(), std::to_string(state_.variables[names.front()].end()),
            next_word(line, place, between, false), false);
    }
    return out;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    assign_named(names[i], next_word(line, place, between, i + 1 == names.size()));
  }
  return out;
}

// Runs mapfile -t NAME.
ShellTruth ShellInterpreter::read_lines(const std::vector<ShellField>& fields) {
  const Letters letters = letters_of(fields, "dnOsuCc");
  for (const char sign : std::string_view("uCcO")) {
    if (letters.values.contains(sign)) fail(here_, "mapfile: -u, -C, -c and -O are not read");
  }
  const std::string name = letters.next < fields.size() ? fields[letters.next].text.chars : "MAPFILE";
  ShellVariable& made = writable(name, here_);
  made.array = true;
  made.items.clear();
  if (inputs_.empty() || !inputs_.back().known()) {
    made.uncertain = true;
    ShellText text;
    text.lack(name, false);
    made.at("0") = std::move(text);
    return ShellTruth::unknown;
  }
  const ShellText input = std::exchange(inputs_.back(), {});
  const char end = !letters.values.contains('d')    ? '\n'
                   : letters.values.at('d').empty() ? '\0'
                                                    : letters.values.at('d')[0];
  std::int64_t skip = letters.values.contains('s') ? count_in(letters.values.at('s')) : 0;
  const std::int64_t most = letters.values.contains('n') ? count_in(letters.values.at('n')) : 0;
  std::int64_t index = 0;
  for (std::size_t at = 0; at < input.size();) {
    const std::size_t close = std::min(input.chars.find(end, at), input.size());
    const std::size_t behind = std::min(close + 1, input.size());
    if (skip > 0) {
      --skip;
    } else if (most == 0 || index < most) {
      store(name, std::to_string(index++), input.part(at, (letters.values.contains('t') ? close : behind) - at), false);
    }
    at = behind;
    step(here_);
  }
  return ShellTruth::yes;
}

// Runs getopts: one letter of the script's parameters after another.
ShellTruth ShellInterpreter::next_option(const std::vector<ShellField>& fields) {
  if (fields.size() < 3) return failed(2);
  std::string letters = fields[1].text.chars;
  const bool silent = letters.starts_with(':');
  if (silent) letters.erase(0, 1);
  const std::string variable = fields[2].text.chars;
  std::vector<ShellText> words = state_.parameters;
  if (fields.size() > 3) {
    words.clear();
    for (std::size_t i = 3; i < fields.size(); ++i) words.push_back(fields[i].text);
  }
  auto index = static_cast<std::size_t>(std::max<std::int64_t>(1, count_in(value("OPTIND").chars)));
  const auto put = [&](const std::string& name, const ShellText& text) { assign_named(name, text); };
  const auto ends = [&] {
    option_letter_ = 0;
    put(variable, shell_text("?", here_));
    put("OPTIND", shell_text(std::to_string(index), here_));
    state_.variables.erase("OPTARG");
    return failed(1);
  };
  if (index > words.size()) return ends();
  const ShellText word = words[index - 1];
  if (option_letter_ == 0 || option_letter_ >= word.size()) {
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
  std::optional<ShellText> argument;
  std::string found = known == std::string::npos ? "?" : std::string(1, letter);
  if (takes && option_letter_ + 1 < word.size()) {
    argument = word.part(option_letter_ + 1);
  } else if (takes && index < words.size()) {
    argument = words[index++];
  } else if (takes) {
    found = silent ? ":" : "?";
    if (silent) argument = shell_text(std::string(1, letter), here_);
  } else if (known == std::string::npos && silent) {
    argument = shell_text(std::string(1, letter), here_);
  }
  if (takes || option_letter_ + 1 >= word.size()) {
    ++index;
    option_letter_ = 0;
  } else {
    ++option_letter_;
  }
  put(variable, shell_text(found, here_));
  state_.variables.erase("OPTARG");
  if (argument) put("OPTARG", *argument);
  put("OPTIND", shell_text(std::to_string(index), here_));
  return ShellTruth::yes;
}

}  // namespace mirfak
