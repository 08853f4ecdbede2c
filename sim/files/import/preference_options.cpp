#include "import/preference_options.hpp"

#include "base/text.hpp"
#include "import/head_options.hpp"
#include "import/program_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace mirfak {

namespace {

class PreferenceReader {
 public:
  PreferenceReader(OptionReader& options, const Value& section, const Value& kind)
      : options_(options), section_(section), kind_(kind) {}

  void read() {
    put("answers", text_under(kind_, "answers"));
    put("reference", reference());
    if (mismatched()) put("mismatched", "true");
    if (const std::string note = text_under(kind_, "note"); !note.empty()) options_.draft().notes.push_back({{}, note});
    judge_section(options_.draft(), "", section_);
  }

 private:
  void put(const std::string& key, const std::string& value) {
    const std::string whole = "training.preferences." + key;
    const std::string by = text_under(section_, "option");
    if (!by.empty() && !options_.option(by).is_none()) return options_.put(options_.option(by), whole, value);
    options_.draft().assume(whole, value, "what the program does");
  }

  // True if one of the options that an entry has by name has one of its words. Such options are used.
  bool says(std::string_view entry, const std::string& reason) {
    const Value* const found = kind_.find(entry);
    bool said = false;
    for (const Value::Field& field : found == nullptr ? std::vector<Value::Field>{} : found->fields) {
      const Option option = options_.option(field.key);
      if (option.is_none() || option.value.kind != Value::Kind::scalar) continue;
      const bool has = std::any_of(field.value.items.begin(), field.value.items.end(),
                                   [&](const Value& word) { return same_but_case(word.scalar, option.value.scalar); });
      if (has) options_.use(option, reason);
      said = said || has;
    }
    return said;
  }

  // True if a model of its own is named to be the reference.
  bool names_copy(bool adapters) {
    const Value* const names = kind_.find("copy");
    bool out = false;
    for (const Value& name : names == nullptr ? std::vector<Value>{} : names->items) {
      const Option option = options_.option(name.scalar);
      const bool off = option.value.kind == Value::Kind::scalar && same_but_case(option.value.scalar, "false");
      if (option.setting == nullptr || option.is_none()) continue;
      if (off) {
        options_.leave(option, "off");
        continue;
      }
      if (const std::string refused = text_under(kind_, "no_copy"); adapters && !refused.empty()) {
        options_.draft().obstruct(option.value.where, fmt::format("{}: {}", option.setting->text, refused));
      }
      options_.use(option, "the reference is a model of its own, taken to have the same shape");
      out = true;
    }
    return out;
  }

  std::string reference() {
    const std::string whole = text_under(kind_, "reference");
    const std::string beside = text_under(kind_, "beside_adapters");
    const bool adapters = !options_.said("training.lora.rank").empty();
    const bool copy = names_copy(adapters);
    const bool before = is_computed_before();
    if (whole.empty() || says("without", "the loss compares with no reference")) return "none";
    if (before) return "computed-before";
    return adapters && !copy && !beside.empty() ? beside : whole;
  }

  bool is_computed_before() {
    const std::string name = text_under(kind_, "before");
    if (name.empty()) return false;
    const Option option = options_.option(name);
    if (option.is_none()) return false;
    if (options_.flag(option)) options_.use(option, "the reference reads all data once, in front of the training");
    if (!options_.flag(option)) options_.leave(option, "off");
    return options_.flag(option);
  }

  bool mismatched() {
    return text_under(kind_, "mismatched") == "true" && !says("matched", "no mismatched answers are read");
  }

  OptionReader& options_;
  const Value& section_;
  const Value& kind_;
};

// Returns the name of the kind that a switch chooses; null: all are off.
const Value* switched_kind(OptionReader& options, const Value& section) {
  const Value* const switches = section.find("switches");
  for (const Value::Field& field : switches == nullptr ? std::vector<Value::Field>{} : switches->fields) {
    const Option option = options.option(field.key);
    if (option.is_none() || !options.flag(option)) continue;
    options.use(option, "answers are scored");
    return switches->find(field.key);
  }
  return nullptr;
}

}  // namespace

const Value* preference_kind(OptionReader& options, const Value& section, std::string_view program) {
  const Value* const kinds = section.find("kinds");
  if (kinds == nullptr) return nullptr;
  const std::string by = text_under(section, "option");
  if (by.empty()) return kinds->find(program);
  const Option option = options.option(by);
  if (const Value* const switched = switched_kind(options, section)) {
    if (!option.is_none()) {
      options.draft().obstruct(option.value.where,
                               fmt::format("{} beside a switch that says another method: leave one out", by));
    }
    return kinds->find(switched->scalar);
  }
  return option.is_none() || option.value.kind != Value::Kind::scalar ? nullptr : kinds->find(option.value.scalar);
}

void read_preferences(OptionReader& options, const Value& section, const Value& kind, const ScenarioSources& sources) {
  PreferenceReader(options, section, kind).read();
  if (text_under(kind, "scores") == "true") put_head(options, 1, sources);
}

}  // namespace mirfak
