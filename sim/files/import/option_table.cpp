#include "import/option_table.hpp"

#include "base/error.hpp"
#include "base/yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mirfak {

std::string word_under(const ImportDraft& draft, std::string_view key) {
  const Value* at = &draft.scenario();
  while (at != nullptr && !key.empty()) {
    if (at->kind != Value::Kind::mapping) return "";
    const std::size_t dot = std::min(key.find('.'), key.size());
    at = at->find(key.substr(0, dot));
    key.remove_prefix(std::min(dot + 1, key.size()));
  }
  return at == nullptr ? std::string() : emit_flow_yaml(*at);
}

void give_meaning(ImportDraft& draft, const Setting& setting, std::string_view key, const OptionMeaning& meaning) {
  const bool takes = meaning.verdict == OptionVerdict::take;
  if (!meaning.word.empty()) draft.take(setting, key, meaning.word, takes ? meaning.reason : "");
  if (takes || meaning.reason.empty()) return;
  if (meaning.verdict == OptionVerdict::use) return draft.use(setting, meaning.reason);
  if (meaning.verdict == OptionVerdict::leave) return draft.leave(setting, meaning.reason);
  draft.doubt(setting, meaning.reason);
}

OptionTable::OptionTable(const OptionList& list, OptionSource& source, std::string dashes)
    : list_(list), source_(source), dashes_(std::move(dashes)) {}

const OptionEntry& OptionTable::entry(std::string_view name) const {
  const OptionEntry* found = list_.find(dashes_ + std::string(name));
  if (found == nullptr) fail_internal(fmt::format("no entry for the option {}", name));
  return *found;
}

std::string OptionTable::read(std::string_view name) { return read(entry(name)); }

std::string OptionTable::read(std::string_view name, std::string fallback, std::string why) {
  OptionEntry changed = entry(name);
  changed.like.clear();
  changed.fallback = std::move(fallback);
  if (!why.empty()) changed.why = std::move(why);
  return read(changed);
}

void OptionTable::read_part(std::string_view part) {
  for (const OptionEntry& entry : list_.entries()) {
    if (entry.part == part) read(entry);
  }
}

// Returns the first condition that does not hold.
const OptionCondition* OptionTable::unmet(const OptionEntry& entry) {
  const auto value_of = [&](std::string_view key) { return word_under(source_.draft(), key); };
  const auto at = std::find_if(entry.only.begin(), entry.only.end(), [&](const OptionCondition& one) {
    if (!one.key.empty()) return !one.holds(value_of);
    return one.with.empty() ? source_.states(this->entry(one.without)) : !source_.states(this->entry(one.with));
  });
  return at == entry.only.end() ? nullptr : &*at;
}

// Sets the key of an option that no file states to the default, unless another option has set the key.
std::string OptionTable::assume(const OptionEntry& entry) {
  const OptionCondition* broken = unmet(entry);
  if (!entry.has_default() || (broken != nullptr && broken->otherwise.reason.empty())) return "";
  std::string word = word_under(source_.draft(), entry.key);
  if (!word.empty()) return word;
  word = entry.like.empty() ? entry.fallback : word_under(source_.draft(), entry.like);
  if (!word.empty()) source_.draft().assume(entry.key, word, entry.why);
  return word;
}

std::string OptionTable::read(const OptionEntry& entry) {
  const std::optional<OptionValue> said = source_.value_of(entry);
  if (!said) return assume(entry);
  OptionMeaning meaning{said->word};
  if (const OptionCondition* broken = unmet(entry)) {
    meaning = broken->otherwise;
  } else if (entry.key.empty() || !entry.words.empty() || entry.otherwise) {
    const OptionMeaning* known = entry.meaning_of(said->word);
    if (known == nullptr) return "";
    meaning = *known;
  }
  give_meaning(source_.draft(), *said->setting, entry.key, meaning);
  return meaning.word;
}

}  // namespace mirfak
