#include "import/option_table.hpp"

#include "base/error.hpp"
#include "base/yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mirfak {

const Value* value_under(const Value& root, std::string_view key, Location* nearest) {
  const Value* at = &root;
  while (at != nullptr && !key.empty()) {
    const std::size_t dot = std::min(key.find('.'), key.size());
    at = at->kind == Value::Kind::mapping ? at->find(key.substr(0, dot)) : nullptr;
    if (at != nullptr && nearest != nullptr && at->where.known()) *nearest = at->where;
    key.remove_prefix(std::min(dot + 1, key.size()));
  }
  return at;
}

std::string word_under(const Value& root, std::string_view key) {
  const Value* value = value_under(root, key);
  return value == nullptr ? std::string() : emit_flow_yaml(*value);
}

std::string word_under(const ImportDraft& draft, std::string_view key) { return word_under(draft.scenario(), key); }

OptionTable::OptionTable(ImportDraft& draft, const OptionList& list, std::string dashes)
    : draft_(draft), list_(list), dashes_(std::move(dashes)) {}

void OptionTable::give(const OptionEntry& entry, const OptionValue& value, std::string_view key,
                       const OptionMeaning& meaning) {
  const Setting& setting = *value.setting;
  const bool takes = meaning.verdict == OptionVerdict::take;
  if (!meaning.word.empty()) draft_.take(setting, key, meaning.word, takes ? meaning.reason : "");
  if (takes || meaning.reason.empty()) return;
  if (meaning.verdict == OptionVerdict::use) return draft_.use(setting, meaning.reason);
  if (meaning.verdict == OptionVerdict::leave) return draft_.leave(setting, meaning.reason);
  draft_.doubt(setting, meaning.reason);
  if (meaning.verdict == OptionVerdict::hold) {
    draft_.obstruct(setting.where, fmt::format("{}: {}", entry.name, meaning.reason));
  }
}

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
const OptionCondition* OptionTable::unmet(const std::vector<OptionCondition>& conditions) {
  const auto at = std::find_if(conditions.begin(), conditions.end(), [&](const OptionCondition& one) {
    if (!one.key.empty()) return !one.holds([&](std::string_view key) { return word_under(draft_, key); });
    return one.with.empty() ? states(entry(one.without)) : !states(entry(one.with));
  });
  return at == conditions.end() ? nullptr : &*at;
}

// Sets the key of an option that no file states to the default, unless another option has set the key.
std::string OptionTable::assume(const OptionEntry& entry) {
  const OptionCondition* broken = unmet(entry.only);
  if (!entry.has_default() || (broken != nullptr && broken->otherwise.reason.empty())) return "";
  std::string word = word_under(draft_, entry.key);
  if (!word.empty()) return word;
  word = entry.like.empty() ? entry.fallback : word_under(draft_, entry.like);
  if (!word.empty()) draft_.assume(entry.key, word, entry.why);
  return word;
}

std::string OptionTable::read(const OptionEntry& entry) {
  const std::optional<OptionValue> value = value_of(entry);
  if (!value) return assume(entry);
  const OptionCondition* broken = unmet(entry.only);
  const std::optional<OptionMeaning> meaning =
      broken != nullptr ? std::optional(broken->otherwise) : entry.meaning_of(value->word);
  if (!meaning) return "";
  give(entry, *value, entry.key, *meaning);
  for (const OptionConsequence& other : entry.also) {
    if (!meaning->word.empty() && unmet(other.only) == nullptr) give(entry, *value, other.key, other.meaning);
  }
  return meaning->word;
}

}  // namespace mirfak
