#include "launch/option_entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace mirfak {

namespace {

constexpr std::array<std::string_view, 4> kVerdicts = {"use", "leave", "doubt", "hold"};

// Reads a verdict with its reason, with {take: WORD} next to it or alone.
OptionMeaning read_meaning(Mapping& in) {
  OptionMeaning out;
  out.word = in.string_or("take", "");
  for (std::size_t i = 0; i < kVerdicts.size(); ++i) {
    const std::optional<Node> reason = in.find(kVerdicts.at(i));
    if (reason) out = {out.word, static_cast<OptionVerdict>(i + 1), reason->as_string()};
  }
  return out;
}

OptionMeaning read_word(const Node& node) {
  if (!node.is_mapping()) return {node.as_string()};
  Mapping in(node);
  OptionMeaning out = read_meaning(in);
  if (const auto because = in.find("because")) out.reason = because->as_string();
  in.finish();
  return out;
}

OptionCondition read_condition(Mapping& in) {
  OptionCondition out;
  out.key = in.string_or("key", "");
  out.is = in.words("is");
  out.isnt = in.words("isnt");
  out.has = in.string_or("has", "");
  if (const auto above = in.find("above")) out.above = above->as_number(0, 1e9);
  out.with = in.string_or("with", "");
  out.without = in.string_or("without", "");
  return out;
}

std::vector<OptionCondition> read_conditions(const std::optional<Node>& list) {
  std::vector<OptionCondition> out;
  if (!list) return out;
  for (const Node& item : list->as_items()) {
    Mapping in(item);
    out.push_back(read_condition(in));
    out.back().otherwise = read_meaning(in);
    in.finish();
  }
  return out;
}

OptionEntry::Form read_form(Mapping& in) {
  const std::optional<Node> form = in.find("form");
  if (!form) return in.has("sets") ? OptionEntry::Form::flag : OptionEntry::Form::word;
  return static_cast<OptionEntry::Form>(
      form->as_choice({"word", "first", "list", "groups", "count", "number", "flag", "subcommand"}));
}

std::optional<std::pair<double, double>> read_range(const std::optional<Node>& range) {
  if (!range) return std::nullopt;
  const std::vector<Node> ends = range->as_items();
  if (ends.size() != 2) range->fail("expected the least and the most");
  return std::pair(ends[0].as_number(-1e15, 1e15), ends[1].as_number(-1e15, 1e15));
}

std::vector<OptionConsequence> read_consequences(const std::optional<Node>& also) {
  std::vector<OptionConsequence> out;
  if (!also) return out;
  Mapping all(*also);
  for (const std::string& key : all.keys()) {
    Mapping in(all.require(key));
    OptionConsequence one{key, read_meaning(in)};
    one.meaning.reason = in.string_or("because", one.meaning.reason);
    one.only = read_conditions(in.find("only"));
    in.finish();
    out.push_back(std::move(one));
  }
  return out;
}

void read_default(Mapping& in, OptionEntry& out) {
  out.why = in.string_or("why", "the program's default");
  const std::optional<Node> node = in.find("default");
  if (!node) return;
  if (!node->is_mapping()) {
    out.fallback = node->as_string();
    return;
  }
  Mapping like(*node);
  out.like = like.require("like").as_string();
  like.finish();
}

void read_meanings(Mapping& in, OptionEntry& out) {
  if (const auto sets = in.find("sets")) out.words.emplace_back("true", read_word(*sets));
  if (const auto words = in.find("words")) {
    Mapping all(*words);
    for (const std::string& word : all.keys()) {
      const Node meaning = all.require(word);
      const std::vector<Node> several = meaning.is_sequence() ? meaning.as_items() : std::vector<Node>{meaning};
      for (const Node& one : several) out.words.emplace_back(word, read_word(one));
    }
  }
  const OptionMeaning own = read_meaning(in);
  if (!own.reason.empty()) out.otherwise = own;
  if (const auto otherwise = in.find("otherwise")) out.otherwise = read_word(*otherwise);
}

std::optional<double> number_in(std::string_view text) {
  double out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

}  // namespace

bool same_but_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return (x | 0x20) == (y | 0x20); });
}

OptionEntry read_option_entry(const std::string& name, const Node& node) {
  OptionEntry out;
  out.name = name;
  if (!node.is_mapping()) {
    if (!node.is_null()) out.takes = node.as_words();
    return out;
  }
  Mapping in(node);
  out.takes = in.words("takes");
  out.older = in.words("older");
  if (const auto written = in.find("written"))
    out.written = static_cast<OptionEntry::Written>(written->as_choice({"true", "rule", "false"}));
  out.part = in.string_or("part", "");
  out.key = in.string_or("key", "");
  out.form = read_form(in);
  read_meanings(in, out);
  read_default(in, out);
  if (const auto unsaid = in.find("unsaid")) out.unsaid = unsaid->value();
  out.range = read_range(in.find("range"));
  out.also = read_consequences(in.find("also"));
  out.any_case = in.string_or("any_case", "false") == "true";
  out.agrees = in.string_or("agrees", "false") == "true";
  out.only = read_conditions(in.find("only"));
  out.written_if = read_conditions(in.find("written_if"));
  out.writes = in.string_or("writes", "");
  out.unless = in.string_or("unless", "");
  if (const auto refused = in.find("refused")) {
    Mapping error(*refused);
    out.refused = {error.string_or("hint", ""), OptionVerdict::leave, error.require("reason").as_string()};
    error.finish();
  }
  in.finish();
  return out;
}

OptionRefusal read_option_refusal(const Node& node) {
  Mapping in(node);
  OptionRefusal out{in.require("key").as_string(), {}, in.require("reason").as_string(), ""};
  const OptionCondition own = read_condition(in);
  if (!own.is.empty() || !own.isnt.empty() || !own.has.empty() || own.above) out.conditions.push_back(own);
  for (OptionCondition& more : read_conditions(in.find("and"))) out.conditions.push_back(std::move(more));
  out.hint = in.string_or("hint", "");
  in.finish();
  return out;
}

bool OptionCondition::holds(const std::function<std::string(std::string_view key)>& value_of) const {
  const std::string value = value_of(key);
  const auto among = [&](const std::vector<std::string>& values) {
    return std::any_of(values.begin(), values.end(), [&](const std::string& one) {
      const bool other_key = one.find('.') != std::string::npos && !number_in(one);
      return (other_key ? value_of(one) : one) == value;
    });
  };
  if (above && number_in(value).value_or(0) <= *above) return false;
  if (!has.empty()) {
    const std::string listed = fmt::format(", {},", value.substr(0, value.find(']')).substr(value.starts_with('[')));
    if (listed.find(fmt::format(", {},", has)) == std::string::npos) return false;
  }
  return (is.empty() || among(is)) && !among(isnt);
}

OptionEntry OptionEntry::taking(std::vector<std::string> words_taken) const {
  OptionEntry out = *this;
  out.takes = std::move(words_taken);
  if (written == Written::never) out.written = Written::table;
  return out;
}

std::vector<std::string_view> OptionEntry::names() const {
  std::vector<std::string_view> out = {std::string_view(name).substr(name.find_first_not_of('-'))};
  out.insert(out.end(), older.begin(), older.end());
  return out;
}

bool OptionEntry::is_number() const { return form == Form::count || form == Form::number; }

std::optional<OptionMeaning> OptionEntry::meaning_of(const std::string& word) const {
  const auto at = std::find_if(words.begin(), words.end(), [&](const auto& one) {
    return one.first == word || (any_case && same_but_case(one.first, word));
  });
  if (at != words.end()) return at->second;
  if (otherwise) return otherwise;
  const bool itself = !key.empty() && (words.empty() || is_number());
  return itself ? std::optional(OptionMeaning{word}) : std::nullopt;
}

std::optional<std::string> OptionEntry::word_for(const std::string& value) const {
  const auto at = std::find_if(words.begin(), words.end(), [&](const auto& one) { return one.second.word == value; });
  if (at != words.end()) return at->first;
  return words.empty() || is_number() ? std::optional(value) : std::nullopt;
}

}  // namespace mirfak
