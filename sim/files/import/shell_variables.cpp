// Variables: their attributes, elements of arrays, and the commands that declare them.

#include "import/shell_interpreter.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace mirfak {

namespace {

constexpr std::size_t kMostElements = 100'000;

std::int64_t index_number(const std::string& text) {
  std::int64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

// Returns the list of an associative array's hash table that holds a key, as in bash since 5.0.
std::uint32_t hash_list(const std::string& key) {
  constexpr std::uint32_t lists = 1024;
  std::uint32_t hash = 2166136261U;
  for (const char sign : key) hash = (hash * 16777619U) ^ static_cast<std::uint32_t>(static_cast<unsigned char>(sign));
  return hash & (lists - 1);
}

bool is_name(const std::string& text) {
  const auto letter = [](char sign) {
    return (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z') || sign == '_';
  };
  return !text.empty() && letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char sign) { return letter(sign) || (sign >= '0' && sign <= '9'); });
}

}  // namespace

const ShellText* ShellVariable::find(const std::string& index) const {
  if (!associative) {
    const std::int64_t number = index_number(index);
    if (number < 0) return nullptr;
    const auto place = static_cast<std::size_t>(number);
    if (place < items.size() && items[place].first == index) return &items[place].second;
  }
  const auto found = std::find_if(items.begin(), items.end(), [&](const auto& item) { return item.first == index; });
  return found == items.end() ? nullptr : &found->second;
}

ShellText& ShellVariable::at(const std::string& index) {
  const bool behind = !associative && (items.empty() || index_number(index) > index_number(items.back().first));
  if (behind) return items.emplace_back(index, ShellText{}).second;
  if (const ShellText* found = find(index)) return const_cast<ShellText&>(*found);
  auto place = items.end();
  if (!associative) {
    place = std::find_if(items.begin(), items.end(),
                         [&](const auto& item) { return index_number(index) < index_number(item.first); });
  }
  return items.insert(place, {index, {}})->second;
}

std::int64_t ShellVariable::end() const { return items.empty() ? 0 : index_number(items.back().first) + 1; }

std::vector<std::pair<std::string, ShellText>> ShellVariable::listed() const {
  std::vector<std::pair<std::string, ShellText>> out = items;
  if (!associative) return out;
  std::reverse(out.begin(), out.end());  // a list begins with its newest element
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return hash_list(a.first) < hash_list(b.first); });
  return out;
}

const ShellVariable* ShellInterpreter::find(const std::string& name) const {
  const auto found = state_.variables.find(name);
  if (found == state_.variables.end()) return nullptr;
  return found->second.items.empty() && !found->second.array ? nullptr : &found->second;
}

std::optional<std::string> ShellInterpreter::index_of(const ShellVariable* variable, const ShellWord& index,
                                                      std::vector<ShellMissing>& missing) {
  const ShellText text = expand_joined(index);
  if (variable != nullptr && variable->associative) {
    missing = text.missing;
    return text.known() ? std::optional<std::string>(text.chars) : std::nullopt;
  }
  std::optional<std::int64_t> number = evaluate(text, index.at, missing);
  if (!number) return std::nullopt;
  if (*number < 0) *number += variable == nullptr ? 0 : variable->end();
  return std::to_string(*number);
}

std::string ShellInterpreter::sure_index_of(const ShellVariable* variable, const ShellWord& index) {
  std::vector<ShellMissing> missing;
  const std::optional<std::string> out = index_of(variable, index, missing);
  if (!out) fail(index.at, "the element that is assigned is known only when the script runs");
  if (out->starts_with('-') && (variable == nullptr || !variable->associative))
    fail(index.at, "an index in front of the first element");
  return *out;
}

ShellVariable& ShellInterpreter::writable(const std::string& name, std::uint32_t at) {
  ShellVariable& out = state_.variables[name];
  if (out.fixed) fail(at, fmt::format("{} is read-only: bash does not assign it", name));
  out.assigned_at = at;
  out.exported = out.exported || state_.exports_all;
  return out;
}

// Stores a text after the variable's attributes were applied to it.
void ShellInterpreter::store(const std::string& name, const std::string& index, ShellText text, bool append) {
  ShellVariable& variable = writable(name, here_);
  if (variable.associative) spend(16 * variable.items.size(), here_);  // a key is searched among all items
  if (variable.integer) {
    std::vector<ShellMissing> missing;
    std::optional<std::int64_t> number = evaluate(text, here_, missing);
    const ShellText* const old = append ? state_.variables[name].find(index) : nullptr;
    if (number && old != nullptr) {
      const std::optional<std::int64_t> before = evaluate(ShellText(*old), here_, missing);
      number = before ? std::optional<std::int64_t>(*before + *number) : std::nullopt;
    }
    ShellText made = number ? shell_text(std::to_string(*number), text.at(0)) : ShellText{};
    for (const ShellMissing& one : missing) made.lack(one.name, one.unset);
    text = std::move(made);
    append = false;
  }
  for (char& sign : text.chars) {
    if (variable.letters == 'l') sign = static_cast<char>(std::tolower(static_cast<unsigned char>(sign)));
    if (variable.letters == 'u') sign = static_cast<char>(std::toupper(static_cast<unsigned char>(sign)));
  }
  ShellText& into = state_.variables[name].at(index);
  if (append) {
    into.append(text);
  } else {
    into = std::move(text);
  }
  constexpr std::size_t most = 1U << 20;
  if (into.size() > most) fail(into.at(0), "a variable of more than 1 MiB");
  if (state_.variables[name].items.size() > kMostElements) fail(here_, "an array of more than 100,000 elements");
}

void ShellInterpreter::assign(const std::string& name, ShellText text, bool append) {
  const ShellVariable* variable = find(name);
  if (variable != nullptr && variable->associative && !variable->items.empty())
    fail(here_, fmt::format("{} is an associative array: expected {}[KEY]=", name, name));
  store(name, "0", std::move(text), append);
}

void ShellInterpreter::assign_named(const std::string& name, ShellText text) {
  const std::size_t open = name.find('[');
  if (open == std::string::npos || !name.ends_with(']')) {
    if (!is_name(name)) fail(here_, fmt::format("'{}' is not the name of a variable", excerpt(name)));
    return assign(name, std::move(text));
  }
  const std::string array = name.substr(0, open);
  if (!is_name(array)) fail(here_, fmt::format("'{}' is not the name of a variable", excerpt(name)));
  ShellWord index;
  index.at = here_;
  index.pieces.push_back({});
  index.pieces.back().text = shell_text(name.substr(open + 1, name.size() - open - 2), here_);
  const std::string key = sure_index_of(find(array), index);
  state_.variables[array].array = true;
  store(array, key, std::move(text), false);
}

// Expands the elements between the parentheses; `begin`: the index of the first element.
ShellVariable ShellInterpreter::elements_of(const ShellAssignment& assignment, bool associative, std::int64_t begin) {
  ShellVariable fresh;
  fresh.associative = associative;
  std::int64_t next = begin;
  std::optional<std::string> key;  // key of an associative array without brackets: key, value, key, value
  for (const ShellAssignment::Element& element : assignment.elements) {
    step(assignment.at);
    if (element.key != nullptr) {
      ShellVariable none;
      none.associative = associative;
      const std::string index = sure_index_of(&none, *element.key);
      ShellText text = expand_joined(element.value);
      if (element.append) {
        ShellText whole = fresh.find(index) != nullptr ? *fresh.find(index) : ShellText{};
        whole.append(text);
        text = std::move(whole);
      }
      fresh.at(index) = std::move(text);
      if (!associative) next = index_number(index) + 1;
      continue;
    }
    for (ShellField& field : expand({element.value})) {
      if (field.seeks && !associative) {
        note(field.at,
             fmt::format("names of files are not sought: '{}' stays as it stands", excerpt(field.text.chars, 40)));
      }
      if (field.vanishes && field.text.known()) {
        std::vector<ShellMissing>& behind = fresh.items.empty() ? fresh.lacks : fresh.items.back().second.behind;
        behind.insert(behind.end(), field.text.missing.begin(), field.text.missing.end());
        continue;
      }
      // The field counts as one element, as far as is known.
      fresh.uncertain = fresh.uncertain || field.vanishes;
      if (associative && !key) {
        key = field.text.chars;
        fresh.at(*key) = {};
      } else if (associative) {
        fresh.at(*std::exchange(key, std::nullopt)) = std::move(field.text);
      } else {
        fresh.at(std::to_string(next++)) = std::move(field.text);
      }
    }
    if (fresh.items.size() > kMostElements) fail(assignment.at, "an array of more than 100,000 elements");
  }
  return fresh;
}

void ShellInterpreter::put_elements(const ShellAssignment& assignment, ShellVariable elements) {
  here_ = assignment.at;
  ShellVariable& variable = writable(assignment.name, assignment.at);
  variable.array = true;
  if (!assignment.append) {
    variable.items.clear();
    variable.lacks.clear();
    variable.uncertain = false;
  }
  variable.uncertain = variable.uncertain || elements.uncertain;
  if (variable.items.empty() && elements.items.empty()) variable.lacks = elements.lacks;
  for (auto& [index, text] : elements.items) store(assignment.name, index, std::move(text), false);
}

void ShellInterpreter::assign_elements(const ShellAssignment& assignment) {
  const auto old = state_.variables.find(assignment.name);
  const bool associative = old != state_.variables.end() && old->second.associative;
  const std::int64_t begin = assignment.append && !associative && old != state_.variables.end() ? old->second.end() : 0;
  put_elements(assignment, elements_of(assignment, associative, begin));
}

void ShellInterpreter::assign(const ShellAssignment& assignment) {
  here_ = assignment.at;
  if (assignment.array) return assign_elements(assignment);
  ShellText text = expand_joined(assignment.value);
  here_ = assignment.at;
  if (assignment.index == nullptr) return assign(assignment.name, std::move(text), assignment.append);
  const std::string index = sure_index_of(find(assignment.name), *assignment.index);
  state_.variables[assignment.name].array = true;
  store(assignment.name, index, std::move(text), assignment.append);
}

// --- declare, export, readonly, local

void ShellInterpreter::hide(const std::string& name) {
  if (locals_.back().contains(name)) return;
  const auto old = state_.variables.find(name);
  locals_.back().emplace(name, old == state_.variables.end() ? std::optional<ShellVariable>{} : old->second);
  const bool exported = old != state_.variables.end() && old->second.exported;
  if (old != state_.variables.end()) state_.variables.erase(old);
  if (exported) state_.variables[name].exported = true;
}

namespace {

// The attributes that options of declare request.
struct Attributes {
  bool exports = false;
  bool removes = false;  // export -n
  bool global = false;
  bool array = false;
  bool associative = false;
  bool fixed = false;
  bool integer = false;
  char letters = '\0';
  bool prints = false;
  std::string unknown;

  void take(const std::string& word, bool of_export) {
    for (const char sign : word.substr(1)) {
      if (word[0] == '+' || sign == 'n') {
        removes = removes || (word[0] == '-' && of_export) || sign == 'x';
        if (word[0] == '-' && !of_export) unknown = "names of names (-n) are not read";
        if (word[0] == '+' && sign != 'x') unknown = "attributes that are taken off are not read";
        continue;
      }
      exports = exports || sign == 'x';
      global = global || sign == 'g';
      array = array || sign == 'a';
      associative = associative || sign == 'A';
      fixed = fixed || sign == 'r';
      integer = integer || sign == 'i';
      prints = prints || sign == 'p' || sign == 'f' || sign == 'F';
      if (sign == 'l' || sign == 'u') letters = sign;
      if (sign == 'c') unknown = "-c is not read";
    }
  }
  void give(ShellVariable& variable) const {
    variable.exported = (variable.exported || exports) && !removes;
    variable.array = variable.array || array || associative;
    variable.associative = variable.associative || associative;
    variable.integer = variable.integer || integer;
    if (letters != '\0') variable.letters = letters;
  }
};

}  // namespace

ShellTruth ShellInterpreter::run_declare(const ShellNode& node) {
  here_ = node.at;
  Attributes asked;
  asked.exports = node.name == "export";
  asked.fixed = node.name == "readonly";
  std::vector<std::pair<std::string, std::optional<ShellText>>> names;
  for (const ShellField& field : expand(std::vector<ShellWord>(node.words.begin() + 1, node.words.end()))) {
    const std::string& word = field.text.chars;
    if (field.vanishes) continue;
    if (word.size() > 1 && (word[0] == '-' || word[0] == '+')) {
      asked.take(word, node.name == "export");
      continue;
    }
    const std::size_t equals = word.find('=');
    names.emplace_back(word.substr(0, equals), std::nullopt);
    if (equals != std::string::npos) names.back().second = field.text.part(equals + 1);  // export "A=b"
  }
  if (!asked.unknown.empty()) fail(node.at, fmt::format("{}: {}", node.name, asked.unknown));
  if (asked.prints || (names.empty() && node.assignments.empty())) {
    if (!outputs_.empty() && outputs_.back() != nullptr) outputs_.back()->lack("$(" + node.name + ")", false);
    return ShellTruth::yes;
  }
  const bool local = !locals_.empty() && !asked.global && node.name != "export" && node.name != "readonly";
  if (node.name == "local" && locals_.empty()) return failed(1);
  for (auto& [name, text] : names) {
    if (!is_name(name)) {
      if (name.find('[') == std::string::npos) fail(node.at, fmt::format("'{}' is not a name", excerpt(name)));
      if (text) assign_named(name, std::move(*text));
      continue;
    }
    if (local) hide(name);
    asked.give(state_.variables[name]);
    here_ = node.at;
    if (text) assign(name, std::move(*text));
    if (asked.fixed) state_.variables[name].fixed = true;
  }
  // All values are expanded before any name is assigned or hidden: local A=$A B=$A.
  std::vector<std::vector<ShellText>> texts;
  std::vector<ShellVariable> elements;
  for (const ShellAssignment& assignment : node.assignments) {
    texts.emplace_back();
    const auto old = state_.variables.find(assignment.name);
    const bool known = old != state_.variables.end() && !local;
    const bool associative = asked.associative || (known && old->second.associative);
    const std::int64_t begin = assignment.append && !associative && known ? old->second.end() : 0;
    elements.push_back(assignment.array ? elements_of(assignment, associative, begin) : ShellVariable{});
    if (assignment.array) continue;
    for (const ShellWord& value : braces(assignment.value)) texts.back().push_back(expand_joined(value));
  }
  for (std::size_t i = 0; i < node.assignments.size(); ++i) {
    const ShellAssignment& assignment = node.assignments[i];
    if (local) hide(assignment.name);
    asked.give(state_.variables[assignment.name]);
    here_ = assignment.at;
    if (assignment.array) put_elements(assignment, std::move(elements[i]));
    for (ShellText& text : texts[i]) {
      if (assignment.index == nullptr) {
        assign(assignment.name, std::move(text), assignment.append);
      } else {
        const std::string index = sure_index_of(find(assignment.name), *assignment.index);
        state_.variables[assignment.name].array = true;
        store(assignment.name, index, std::move(text), assignment.append);
      }
    }
    if (asked.fixed) state_.variables[assignment.name].fixed = true;
  }
  return ShellTruth::yes;
}

ShellTruth ShellInterpreter::unset(const std::vector<ShellField>& fields) {
  bool functions = false;
  for (std::size_t i = 1; i < fields.size(); ++i) {
    const std::string& word = fields[i].text.chars;
    if (word.starts_with('-')) {
      functions = word.find('f') != std::string::npos;
      continue;
    }
    const std::size_t open = word.find('[');
    const std::string name = word.substr(0, open);
    if (functions || (!state_.variables.contains(name) && open == std::string::npos)) {
      state_.functions.erase(word);
      continue;
    }
    const auto found = state_.variables.find(name);
    if (found == state_.variables.end()) continue;
    if (found->second.fixed) fail(fields[i].at, fmt::format("{} is read-only: bash does not unset it", name));
    if (open == std::string::npos || !word.ends_with(']')) {
      state_.variables.erase(found);
      continue;
    }
    ShellWord index;
    index.at = fields[i].at;
    index.pieces.push_back({});
    index.pieces.back().text = fields[i].text.part(open + 1, word.size() - open - 2);
    const std::string key = sure_index_of(&found->second, index);
    std::erase_if(found->second.items, [&](const auto& item) { return item.first == key; });
  }
  return ShellTruth::yes;
}

}  // namespace mirfak
