#include "import/import_draft.hpp"

#include "base/key_path.hpp"
#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/misspelt_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

void join(std::string& text, const std::string& more, std::string_view between) {
  if (more.empty()) return;
  text += (text.empty() ? "" : std::string(between)) + more;
}

std::size_t common_start(const std::string& a, const std::string& b) {
  std::size_t out = 0;
  while (out < std::min(a.size(), b.size()) && a[out] == b[out]) ++out;
  return out;
}

// Returns the option of "--tensor-model-paralel-size 8" or "tensor: 8".
std::string first_word_of(const std::string& text) {
  const std::string word = text.substr(0, text.find_first_of(" =\n"));
  return word.ends_with(':') ? word.substr(0, word.size() - 1) : word;
}

// Returns a name in the spelling of the file: with dashes on a command line, with underscores in YAML. A prefix before
// a colon belongs to the draft, which uses it to separate the settings of several programs.
std::string as_written(std::string name, const Setting& setting) {
  name.erase(0, name.rfind(':') == std::string::npos ? 0 : name.rfind(':') + 1);
  const bool dashed = name.starts_with("--");
  const bool line = setting.text.starts_with("--");
  if (line) return dashed ? name : "--" + name;
  if (!dashed) return name;
  name.erase(0, 2);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string key_and_value(std::string_view key, const Value& value) {
  return fmt::format("{}: {}", key, emit_flow_yaml(value));
}

}  // namespace

Value scalar_value(std::string_view text, const Location& where) {
  Value out;
  out.kind = Value::Kind::scalar;
  out.scalar = text;
  out.where = out.key_where = where;
  return out;
}

const Setting* last_of(const std::vector<Setting>& settings, std::string_view name) {
  const auto at =
      std::find_if(settings.rbegin(), settings.rend(), [&](const Setting& setting) { return setting.name == name; });
  return at == settings.rend() ? nullptr : &*at;
}

std::optional<std::int64_t> ImportedMachine::gpus() const {
  if (parts.empty()) return ImportedNodes::gpus();
  std::int64_t out = 0;
  for (const ImportedNodes& part : parts) {
    if (!part.gpus()) return std::nullopt;
    out += *part.gpus();
  }
  return out;
}

ImportDraft::ImportDraft(std::vector<Setting> settings) {
  root_.kind = Value::Kind::mapping;
  entries_.reserve(settings.size());
  for (Setting& setting : settings) entries_.push_back({std::move(setting), {}});
}

const Setting* ImportDraft::find(std::string_view name) { return find_any({name}); }

const Setting* ImportDraft::find_any(const std::vector<std::string_view>& names) {
  asked_.insert(names.begin(), names.end());
  return latest_of(names);
}

const Setting* ImportDraft::latest_of(const std::vector<std::string_view>& names) {
  const Setting* last = nullptr;
  for (std::size_t i = entries_.size(); i-- > 0;) {
    Entry& entry = entries_[i];
    if (std::find(names.begin(), names.end(), entry.setting.name) == names.end()) continue;
    if (last == nullptr) {
      last = &entry.setting;
    } else if (!entry.line) {
      entry.line = ImportLine{entry.setting.where, entry.setting.text, Verdict::superseded, "",
                              fmt::format("said again at {}", last->where.text())};
    }
  }
  return last;
}

ImportLine& ImportDraft::line_of(const Setting& setting, Verdict verdict) {
  const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& candidate) { return &candidate.setting == &setting; });
  if (entry == entries_.end()) fail_internal("a setting is not of this draft");
  if (!entry->line) entry->line = ImportLine{setting.where, setting.text, verdict, "", ""};
  entry->line->verdict = verdict;
  return *entry->line;
}

void ImportDraft::take(const Setting& setting, std::string_view key, Value value, const std::string& reason) {
  ImportLine& line = line_of(setting, Verdict::taken);
  if (!setting.where.known()) return assume(key, std::move(value), setting.text);
  const std::string said = key_and_value(key, value);
  if (line.key.find(said) == std::string::npos) join(line.key, said, ", ");
  join(line.reason, reason, "; ");
  origins_[std::string(key)] = fmt::format("{}: {}", setting.where.text(), setting.text);
  KeyPath(key, setting.where).assign(root_, std::move(value), setting.where);
}

void ImportDraft::take(const Setting& setting, std::string_view key, std::string_view scalar,
                       const std::string& reason) {
  take(setting, key, scalar_value(scalar, setting.where), reason);
}

void ImportDraft::use(const Setting& setting, const std::string& reason) {
  join(line_of(setting, Verdict::taken).reason, reason, "; ");
}

void ImportDraft::assume(std::string_view key, std::string_view scalar, std::string reason) {
  assume(key, scalar_value(scalar, {}), std::move(reason));
}

void ImportDraft::assume(std::string_view key, Value value, std::string reason) {
  ImportLine line;
  line.verdict = Verdict::assumed;
  line.key = key_and_value(key, value);
  origins_[std::string(key)] = "assumed: " + reason;
  line.reason = std::move(reason);
  assumed_.push_back(std::move(line));
  const Location where = value.where;
  KeyPath(key, where).assign(root_, std::move(value), where);
}

void ImportDraft::leave(const Setting& setting, const std::string& reason) {
  std::string& said = line_of(setting, Verdict::no_effect).reason;
  if (said != reason) join(said, reason, "; ");
}

void ImportDraft::doubt(const Setting& setting, const std::string& reason) {
  ImportLine& line = line_of(setting, Verdict::unknown);
  join(line.reason, reason, "; ");
  line.left_out = true;
}

void ImportDraft::suggest(const Setting& setting, const std::string& reason) {
  join(line_of(setting, Verdict::unknown).reason, reason, "; ");
}

// Prefers names that count to names that do not; of two equally like names, the one with the longer common start.
std::string ImportDraft::name_like(const std::string& name) const {
  Likeness best = Likeness::none;
  std::string out;
  for (const std::string& counts : asked_) {
    const Likeness like = likeness(name, counts);
    if (like > best || like == Likeness::none || counts == name) continue;
    if (like == best && common_start(name, counts) <= common_start(name, out)) continue;
    best = like;
    out = counts;
  }
  if (!out.empty()) return out;
  for (const std::string& other : known_) {
    if (likeness(name, other) == Likeness::same_letters) return other;
  }
  return out;
}

void ImportDraft::judge_unknown() {
  std::vector<ImportObstacle> misspelt;
  for (const Setting* setting : open()) {
    if (!setting->where.known() || setting->name.starts_with('$') || setting->name.starts_with('#')) continue;
    if (setting->name.starts_with(kUnset)) {
      doubt(*setting, fmt::format("its value is not known: it depends on {}", fmt::join(setting->missing, ", ")));
      continue;
    }
    if (known_.contains(setting->name)) {
      doubt(*setting, "an option of the program, of which predictions know nothing");
      continue;
    }
    const std::string like = name_like(setting->name);
    const std::string shown = as_written(like, *setting);
    if (like.empty()) {
      doubt(*setting, "not an option that mirfak knows");
    } else if (own_options_ && !asked_.contains(like) && setting->name.find(':') == std::string::npos) {
      doubt(*setting, fmt::format("not an option that mirfak knows; did you mean {}?", shown));
    } else {
      doubt(*setting, fmt::format("not an option that mirfak knows: did you mean {}?", shown));
      misspelt.push_back(
          {setting->where, fmt::format("{}: not an option that mirfak knows, and like {}: write it so, or "
                                       "leave it out",
                                       excerpt(first_word_of(setting->text)), shown)});
    }
  }
  obstacles_.insert(obstacles_.begin(), misspelt.begin(), misspelt.end());
}

void ImportDraft::obstruct(const Location& where, std::string reason) {
  obstacles_.push_back({where, std::move(reason)});
}

void ImportDraft::lack(const Location& where, std::string key, std::string reason) {
  obstacles_.push_back({where, std::move(reason), std::move(key)});
}

std::vector<const Setting*> ImportDraft::open() const {
  std::vector<const Setting*> out;
  for (const Entry& entry : entries_) {
    if (!entry.line) out.push_back(&entry.setting);
  }
  return out;
}

std::vector<ImportLine> ImportDraft::lines() const {
  std::vector<ImportLine> out;
  for (const Entry& entry : entries_) {
    const Setting& setting = entry.setting;
    if (!setting.where.known()) continue;
    out.push_back(entry.line.value_or(ImportLine{setting.where, setting.text, Verdict::unknown, "", ""}));
  }
  out.insert(out.end(), assumed_.begin(), assumed_.end());
  return out;
}

}  // namespace mirfak
