// Files and folders: later lines of a script read the files that it writes, and other files are looked up by their
// path.

#include "import/shell_interpreter.hpp"
#include "import/shell_substitution.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

namespace mirfak {

namespace {

constexpr std::size_t kMostFiles = 1000;
constexpr std::size_t kMostFileBytes = 1U << 20;

std::string normal_path(const std::string& path) {
  std::string out = std::filesystem::path(path).lexically_normal().string();
  while (out.size() > 1 && out.back() == '/') out.pop_back();
  return out == "." ? std::string() : out;
}

// True if the unknown part of a path is at its start and is the folder in which the script starts.
bool from_start(const ShellText& path) {
  bool out = false;
  for (const ShellMissing& one : path.missing) {
    if (one.unset) continue;
    if (one.name != "PWD" || one.at != 0) return false;
    out = true;
  }
  return out;
}

}  // namespace

ShellText ShellInterpreter::folder_text() const {
  ShellText out;
  if (!state_.folder.starts_with('/')) {
    out.lack("PWD", false);
    if (!state_.folder.empty()) out.append("/" + state_.folder, here_);
  } else {
    out.append(state_.folder, here_);
  }
  return out;
}

std::string ShellInterpreter::path_of(const ShellText& name) const {
  if (from_start(name)) {
    const std::size_t begin = name.chars.find_first_not_of('/');
    return begin == std::string::npos ? std::string() : normal_path(name.chars.substr(begin));
  }
  if (name.chars.empty()) return {};
  if (name.chars[0] == '/' || state_.folder.empty()) return normal_path(name.chars);
  return normal_path(state_.folder + "/" + name.chars);
}

ShellTruth ShellInterpreter::go_to(const ShellText& folder, std::uint32_t at) {
  here_ = at;
  state_.last_folder = state_.folder;
  if (!folder.known() && !from_start(folder)) {
    state_.astray = true;
    state_.folder.clear();
    return ShellTruth::yes;
  }
  if (folder.empty() && !from_start(folder)) return ShellTruth::yes;
  state_.folder = path_of(folder);
  if (folder.chars.starts_with('/')) state_.astray = false;
  return ShellTruth::yes;
}

std::optional<ShellText> ShellInterpreter::text_of_file(const ShellText& name, std::uint32_t at) {
  const std::string path = path_of(name);
  if (path.empty() || name.chars.ends_with('/')) return std::nullopt;
  if (path == "/dev/null") return ShellText{};
  if (path == "/dev/stdin") return inputs_.empty() ? std::nullopt : std::optional<ShellText>(inputs_.back());
  if (const auto known = files_.find(path); known != files_.end()) return known->second;
  if (!setup_.find_file) return std::nullopt;
  std::optional<ShellFile> file = setup_.find_file(path);
  if (!file) return std::nullopt;
  if (file->elsewhere || state_.astray || (!name.known() && !from_start(name))) {
    note(at, fmt::format("{} is not here: {} is read in its place, which has the same name", excerpt(path),
                         excerpt(file->name)));
  }
  if (files_.size() >= kMostFiles) fail(at, "more than 1,000 files");
  return files_[path] = sources_.add(file->name, file->text);
}

void ShellInterpreter::write_file(const ShellText& name, ShellText text, bool appends, std::uint32_t at) {
  const std::string path = path_of(name);
  if (path.empty() || name.chars.starts_with("/dev/")) return;
  if (appends) {
    // A file of this name in another folder may hold something else.
    const auto known = files_.find(path);
    ShellText whole;
    if (known != files_.end()) {
      if (known->second) whole = *known->second;
    } else if (setup_.find_file) {
      const std::optional<ShellFile> file = setup_.find_file(path);
      if (file && !file->elsewhere) whole = sources_.add(file->name, file->text);
    }
    whole.append(text);
    text = std::move(whole);
  }
  spend(text.size(), at);
  if (text.size() > kMostFileBytes) fail(at, "a file of more than 1 MiB is written");
  if (files_.size() >= kMostFiles && !files_.contains(path)) fail(at, "more than 1,000 files");
  files_[path] = std::move(text);
  written_.insert(path);
}

std::optional<ShellText> ShellInterpreter::input_from(const ShellRedirect& redirect) {
  if (redirect.document != nullptr) return expand_joined(*redirect.document);
  ShellText text = expand_joined(redirect.target);
  if (redirect.op == "<<<") {
    text.append("\n", here_);
    return text;
  }
  if (redirect.op != "<") return std::nullopt;
  if (text.chars == "/dev/null") return ShellText{};
  if (auto found = text_of_file(text, here_)) return found;
  ShellText out;
  out.lack("$(cat " + excerpt(text.chars, 40) + ")", false);
  return out;
}

// Runs `act` with redirected output: output to a file is not printed, and a written file is kept.
ShellTruth ShellInterpreter::with_output(const std::vector<ShellRedirect>& redirects,
                                         const std::function<ShellTruth()>& act) {
  ShellText printed;
  std::optional<ShellText> file;
  bool away = false;
  bool appends = false;
  std::size_t reads = 0;
  for (const ShellRedirect& redirect : redirects) {
    const std::string& number = redirect.descriptor;
    const std::string& op = redirect.op;
    if (op.starts_with('<') && op != "<&" && op != "<>") {
      if (!number.empty() && number != "0") continue;
      if (auto input = input_from(redirect)) {
        inputs_.push_back(std::move(*input));
        ++reads;
      }
      continue;
    }
    if (op == ">&" || op == "<&") {
      const std::string to = redirect.target.plain().value_or("");
      if (op == ">&" && (number.empty() || number == "1") && to != "1" && to != "-") away = true;
      const bool names = op == ">&" && number.empty() && to.find_first_not_of("0123456789-") != std::string::npos;
      if (names) file = expand_joined(redirect.target);
      continue;
    }
    if (!number.empty() && number != "1") continue;
    file = expand_joined(redirect.target);
    away = true;
    appends = op == ">>" || op == "&>>";
    if (!appends) write_file(*file, {}, false, here_);
  }
  const std::uint32_t at = here_;
  if (away) outputs_.push_back(&printed);
  const ShellTruth out = act();
  if (away) outputs_.pop_back();
  for (; reads > 0; --reads) inputs_.pop_back();
  if (file && (!printed.empty() || !printed.missing.empty() || appends))
    write_file(*file, std::move(printed), true, at);
  return out;
}

void ShellInterpreter::copy_file(const ShellText& from, const ShellText& to, bool moves, std::uint32_t at) {
  const std::string source = path_of(from);
  std::optional<ShellText> text = text_of_file(from, at);
  const std::string name = source.substr(source.rfind('/') + 1);
  ShellText target = to;
  if (to.chars.ends_with('/')) target.append(name, at);
  const std::string path = path_of(target);
  if (path.empty()) return;
  if (text) {
    // The target may be a folder or a file: later lines name the copy by either path.
    write_file(target, *text, false, at);
    const bool folder = path.substr(path.rfind('/') + 1).find('.') == std::string::npos && !to.chars.ends_with('/');
    if (folder) {
      ShellText inside = target;
      inside.append("/" + name, at);
      write_file(inside, *text, false, at);
    }
  } else {
    ShellText unknown;
    unknown.lack("$(cat " + excerpt(from.chars, 40) + ")", false);
    if (files_.contains(path)) write_file(target, std::move(unknown), false, at);
  }
  if (moves) files_[source] = std::nullopt;
}

// Runs programs that change files; a use that is not supported makes a known file unknown.
std::optional<ShellTruth> ShellInterpreter::change_files(const std::string& name,
                                                         const std::vector<ShellField>& fields) {
  constexpr std::array<std::string_view, 7> names = {"cp", "mv", "ln", "rm", "tee", "touch", "install"};
  const std::uint32_t at = fields.front().at;
  const bool edits = name == "sed" && std::any_of(fields.begin() + 1, fields.end(), [](const ShellField& field) {
                       return field.text.chars.starts_with("-i") || field.text.chars.starts_with("--in-place");
                     });
  if (!edits && std::find(names.begin(), names.end(), name) == names.end()) return std::nullopt;
  std::vector<ShellText> words;
  bool appends = false;
  for (std::size_t i = 1; i < fields.size(); ++i) {
    const std::string& word = fields[i].text.chars;
    if (word.size() > 1 && word[0] == '-') {
      appends = appends || word == "-a" || word == "--append";
      continue;
    }
    words.push_back(fields[i].text);
  }
  if (name == "tee") {
    ShellText text;
    if (!inputs_.empty()) text = inputs_.back();
    if (inputs_.empty()) text.lack("$(tee)", false);
    for (const ShellText& word : words) write_file(word, text, appends, at);
    write(text);
    return ShellTruth::yes;
  }
  if (name == "rm") {
    for (const ShellText& word : words) {
      const std::string path = path_of(word);
      if (!path.empty()) files_[path] = std::nullopt;
      std::erase_if(files_, [&](const auto& file) { return !path.empty() && file.first.starts_with(path + "/"); });
    }
    return ShellTruth::yes;
  }
  if (name == "touch") {
    for (const ShellText& word : words) write_file(word, {}, true, at);
    return ShellTruth::yes;
  }
  if (edits) {
    const bool known =
        std::all_of(fields.begin(), fields.end(), [](const ShellField& field) { return field.text.known(); });
    const std::optional<ShellSubstitutions> by = known ? substitutions_of(fields) : std::nullopt;
    for (const ShellText& word : by ? by->files : words) {
      const std::optional<ShellText> text = text_of_file(word, at);
      if (!text) continue;
      if (by && text->known()) {
        spend(64 * text->size() * (by->list.size() + 1), at);
        if (auto edited = substituted(*text, *by)) {
          write_file(word, std::move(*edited), false, at);
          continue;
        }
      }
      ShellText unknown;
      unknown.lack("$(sed -i " + excerpt(word.chars, 40) + ")", false);
      write_file(word, std::move(unknown), false, at);
    }
    return ShellTruth::yes;
  }
  if (words.size() < 2) return ShellTruth::yes;
  ShellText target = words.back();
  if (words.size() > 2 && !target.chars.ends_with('/')) target.append("/", at);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) copy_file(words[i], target, name == "mv", at);
  return ShellTruth::yes;
}

}  // namespace mirfak
