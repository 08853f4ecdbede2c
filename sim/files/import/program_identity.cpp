// A reader must know that a file is its own: servers, evaluations and converters take the options of the trainings
// whose models they load, and a key such as gradient_accumulation_steps stands in the files of ten programs. So a
// program is identified by its name first, then by options that only it has, and last by the sound of its name.

#include "import/program_identity.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/hub_model.hpp"
#include "import/json_file.hpp"
#include "import/program_facts.hpp"
#include "import/yaml_settings.hpp"
#include "launch/option_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace mirfak {

namespace {

bool is_true(const Value& mapping, std::string_view key) { return text_under(mapping, key) == "true"; }

const std::vector<Value>& items_of(const Value& mapping, std::string_view key) {
  static const std::vector<Value> none;
  const Value* found = mapping.find(key);
  return found == nullptr ? none : found->items;
}

// True if a text matches the pattern, in which a star stands for any characters.
bool is_like(std::string_view pattern, std::string_view text) {
  constexpr std::size_t longest = 300;
  if (text.size() > longest) return false;
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  text.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (is_like(pattern, text.substr(at))) return true;
  }
  return false;
}

// Returns the end of a path that has as many parts as the pattern.
std::string_view tail_of(std::string_view path, std::string_view pattern) {
  const auto slashes = std::count(pattern.begin(), pattern.end(), '/');
  std::size_t at = path.size();
  for (std::ptrdiff_t i = 0; i <= slashes; ++i) {
    at = at == 0 ? std::string_view::npos : path.rfind('/', at - 1);
    if (at == std::string_view::npos) return path;
  }
  return path.substr(at + 1);
}

// Returns the name of an option as in Python: without dashes before it, underscores between words.
std::string plain_option(std::string_view option) {
  while (option.starts_with('-')) option.remove_prefix(1);
  std::string out(option.substr(0, option.find('=')));
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

const ArgumentWord* option_named(const LaunchCommand& launch, const std::string& name) {
  const auto found = std::find_if(launch.arguments.begin(), launch.arguments.end(), [&](const ArgumentWord& word) {
    return word.text.starts_with("--") && plain_option(word.text) == name;
  });
  return found == launch.arguments.end() ? nullptr : &*found;
}

// Returns the words of a program's name: "run_text_generation_server.py" has run, text, generation and server.
std::vector<std::string> words_of_name(std::string_view program) {
  if (program.ends_with(".py")) program.remove_suffix(3);
  std::vector<std::string> out(1);
  for (const char sign : program) {
    const auto letter = static_cast<unsigned char>(sign);
    if (std::isalnum(letter) != 0) out.back() += static_cast<char>(std::tolower(letter));
    if (std::isalnum(letter) == 0 && !out.back().empty()) out.emplace_back();
  }
  return out;
}

bool has_word(const std::vector<std::string>& words, const std::vector<Value>& among) {
  return std::any_of(among.begin(), among.end(), [&](const Value& word) {
    return std::find(words.begin(), words.end(), word.scalar) != words.end();
  });
}

std::string file_name(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

// Returns the key of the file with this name, where hyphens equal underscores.
const Value::Field* key_named(const Value& root, const std::string& name) {
  const auto found = std::find_if(root.fields.begin(), root.fields.end(),
                                  [&](const Value::Field& field) { return plain_option(field.key) == name; });
  return found == root.fields.end() ? nullptr : &*found;
}

// Returns the key that identifies the file as one of this program; nullptr: the file is none.
const Value::Field* telling_key(const Value& root, const Value& keys) {
  const Value::Field* telling = nullptr;
  for (const Value& name : items_of(keys, "all")) {
    const Value::Field* found = key_named(root, name.scalar);
    if (found == nullptr) return nullptr;
    telling = found;
  }
  for (const Value& name : items_of(keys, "none")) {
    if (key_named(root, name.scalar) != nullptr) return nullptr;
  }
  const std::vector<Value>& any = items_of(keys, "any");
  if (any.empty()) return telling;
  for (const Value& name : any) {
    if (const Value::Field* found = key_named(root, name.scalar)) return found;
  }
  return nullptr;
}

}  // namespace

bool name_has_word(std::string_view program, const std::vector<Value>& among) {
  return has_word(words_of_name(program), among);
}

KnownPrograms::KnownPrograms(const ScenarioSources& sources)
    : document_(launch_facts(sources.folders.hardware, "programs")) {}

ProgramIdentity KnownPrograms::identity(const Value& program, std::string by, const Location& where) const {
  ProgramIdentity out;
  out.is = text_under(program, "is");
  out.kind = text_under(program, "kind");
  out.reader = text_under(program, "reader");
  out.by = std::move(by);
  out.where = where;
  const Value* kinds = document_.root().find("kinds");
  const Value* kind = kinds == nullptr ? nullptr : kinds->find(out.kind);
  if (kind == nullptr) fail_internal("programs.yaml has no kind " + out.kind);
  out.trains = is_true(*kind, "trains");
  out.unless_tower = text_under(*kind, "unless") == "tower";
  const std::string own = text_under(program, "reason");
  out.reason = own.empty() ? text_under(*kind, "reason") : own;
  out.hint = text_under(program, "hint");
  return out;
}

std::optional<ProgramIdentity> KnownPrograms::by_script(const LaunchCommand& launch) const {
  const std::string pair = launch.program + (launch.arguments.empty() ? "" : " " + launch.arguments.front().text);
  for (const Value& program : items_of(document_.root(), "programs")) {
    for (const Value& script : items_of(program, "scripts")) {
      if (is_like(script.scalar, tail_of(launch.program_path, script.scalar)))
        return identity(program, launch.program, launch.program_where);
    }
    for (const Value& command : items_of(program, "commands")) {
      if (launch.program == command.scalar || pair == command.scalar)
        return identity(program, launch.program, launch.program_where);
    }
  }
  return std::nullopt;
}

std::optional<ProgramIdentity> KnownPrograms::by_options(const LaunchCommand& launch) const {
  for (const Value& program : items_of(document_.root(), "programs")) {
    for (const Value& option : items_of(program, "options")) {
      const ArgumentWord* found = option_named(launch, option.scalar);
      if (found != nullptr) return identity(program, found->text.substr(0, found->text.find('=')), found->where);
    }
  }
  return std::nullopt;
}

bool KnownPrograms::has_training_option(const LaunchCommand& launch) const {
  const std::vector<Value>& names = items_of(document_.root(), "training_options");
  return std::any_of(names.begin(), names.end(),
                     [&](const Value& name) { return option_named(launch, name.scalar) != nullptr; });
}

std::optional<ProgramIdentity> KnownPrograms::by_words(const LaunchCommand& launch) const {
  const std::vector<std::string> words = words_of_name(launch.program);
  const bool training = has_word(words, items_of(document_.root(), "training")) || has_training_option(launch);
  for (const Value& rule : items_of(document_.root(), "words")) {
    if (training && is_true(rule, "unless_training")) continue;
    if (!has_word(words, items_of(rule, "words"))) continue;
    ProgramIdentity out = identity(rule, launch.program, launch.program_where);
    out.is = "a program of " + out.kind;
    return out;
  }
  return std::nullopt;
}

std::optional<ProgramIdentity> KnownPrograms::of_launch(const LaunchCommand& launch) const {
  if (auto found = by_script(launch)) return found;
  if (auto found = by_options(launch)) return found;
  return by_words(launch);
}

std::optional<ProgramIdentity> KnownPrograms::of_settings(const Value& root) const {
  for (const Value& program : items_of(document_.root(), "programs")) {
    const Value* keys = program.find("keys");
    const Value::Field* found = keys == nullptr ? nullptr : telling_key(root, *keys);
    if (found != nullptr) return identity(program, found->key, found->value.key_where);
  }
  return std::nullopt;
}

std::optional<LaunchCommand> KnownPrograms::command_by_name(std::span<const ArgumentWord> words) const {
  constexpr std::size_t furthest = 60;  // words of a wrapper
  const std::vector<Value>& wrappers = items_of(document_.root(), "wrappers");
  const bool wrapped = !words.empty() && has_word({file_name(words.front().text)}, wrappers);
  const std::size_t places = wrapped ? std::min(words.size(), furthest) : std::min<std::size_t>(words.size(), 1);
  for (std::size_t i = 0; i < places; ++i) {
    const std::string name = file_name(words[i].text);
    if (name.ends_with(".py") || name == "-m" || name == "--module" || name == "-c") break;  // a program of Python
    const std::string pair = i + 1 < words.size() ? name + " " + words[i + 1].text : name;
    for (const Value& program : items_of(document_.root(), "programs")) {
      for (const Value& command : items_of(program, "commands")) {
        if (command.scalar != name && command.scalar != pair) continue;
        LaunchCommand out;
        out.launcher = name;
        out.where = words.front().where;
        out.program = out.program_path = command.scalar;
        out.program_where = words[i].where;
        out.launcher_words.assign(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i));
        const std::size_t behind = i + (command.scalar == name ? 1 : 2);
        out.arguments.assign(words.begin() + static_cast<std::ptrdiff_t>(behind), words.end());
        return out;
      }
    }
  }
  return std::nullopt;
}

std::string identity_text(const ProgramIdentity& identity) {
  const std::string reason =
      identity.reason.empty() ? "mirfak does not read its settings in this form" : identity.reason;
  return fmt::format("it seems to be {}: {}", identity.is, reason);
}

std::string identity_hint(const ProgramIdentity& identity) {
  if (!identity.hint.empty()) return identity.hint;
  if (!identity.trains) return "mirfak simulates trainings: give the script or the settings that start one";
  return "describe the training as a scenario of its own: mirfak init writes one to begin with";
}

void judge_program(ImportDraft& draft, const LaunchCommand& launch, const ScenarioSources& sources) {
  const std::optional<ProgramIdentity> known = KnownPrograms(sources).of_launch(launch);
  if (!known || known->reason.empty()) return;
  const std::string text = fmt::format("{}: {}", excerpt(known->by), identity_text(*known));
  if (!known->trains) fail_input(known->where, text, identity_hint(*known));
  if (known->unless_tower && has_tower(draft, sources)) return;
  draft.obstruct(known->where, text);
}

void refuse_foreign_settings(const ImportFile& file, const ScenarioSources& sources) {
  const std::optional<Value> root = configuration_in(file);
  if (!root) return;
  const std::optional<ProgramIdentity> found = KnownPrograms(sources).of_settings(*root);
  if (!found || !found->reader.empty()) return;
  fail_input(found->where, fmt::format("{}: {}", found->by, identity_text(*found)), identity_hint(*found));
}

}  // namespace mirfak
