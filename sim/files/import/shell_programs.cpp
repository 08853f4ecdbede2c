// Programs that a script starts: shells and scripts are interpreted, tools start nothing, all other programs are
// commands of the run.

#include "import/shell_programs.hpp"

#include "base/document.hpp"
#include "base/text.hpp"
#include "import/argument_words.hpp"
#include "import/shell_interpreter.hpp"

#include "launch/option_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mirfak {

ShellPrograms read_shell_programs(const std::filesystem::path& hardware) {
  const Document& document = launch_facts(hardware, "commands");
  Mapping root((Node(document)));
  root.ignore("source");
  ShellPrograms out;
  const auto names = [&](const char* key) {
    std::set<std::string> found;
    for (const Node& name : root.require(key).as_items()) found.insert(name.as_string());
    return found;
  };
  out.tools = names("tools");
  out.asking = names("asking");
  out.runners = names("runners");
  out.remote = names("remote");
  root.finish();
  return out;
}

namespace {

constexpr std::size_t kMostCommands = 10'000;

bool is_shell(const std::string& name) {
  return name == "bash" || name == "sh" || name == "zsh" || name == "dash" || name == "ksh";
}

// True for -c, -lc, -ec: the next word is a text to run.
bool runs_text(const std::string& word) {
  return word.size() >= 2 && word.size() <= 5 && word[0] == '-' && word[1] != '-' && word.back() == 'c';
}

bool has_script_ending(const std::string& word) {
  for (const std::string_view ending : {".sh", ".slurm", ".sbatch", ".bash"}) {
    if (word.size() > ending.size() && word.ends_with(ending)) return true;
  }
  return false;
}

bool is_assignment(const std::string& word) {
  const std::size_t equals = word.find('=');
  return equals != std::string::npos && equals > 0 &&
         std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals),
                     [](char sign) { return std::isalnum(static_cast<unsigned char>(sign)) != 0 || sign == '_'; });
}

// True for options of bash itself that take the next word.
bool shell_option_takes_word(const std::string& word) { return word == "-o" || word == "-O" || word == "--rcfile"; }

std::string joined_words(const std::vector<ShellField>& fields) {
  std::string out;
  for (const ShellField& field : fields) out += (out.empty() ? "" : " ") + field.text.chars;
  return excerpt(out, 40);
}

}  // namespace

ShellTruth ShellInterpreter::with_environment(const std::vector<ShellField>& fields, std::size_t& first,
                                              const std::function<ShellTruth()>& act) {
  std::map<std::string, std::optional<ShellVariable>> hidden;
  for (; first < fields.size(); ++first) {
    const std::string& word = fields[first].text.chars;
    if (word == "-u" || word == "-C") {
      ++first;
    } else if (is_assignment(word)) {
      const std::size_t equals = word.find('=');
      const std::string name = word.substr(0, equals);
      const auto old = state_.variables.find(name);
      hidden.emplace(name, old == state_.variables.end() ? std::optional<ShellVariable>{} : old->second);
      here_ = fields[first].at;
      assign(name, fields[first].text.part(equals + 1));
      state_.variables[name].exported = true;
    } else if (!word.starts_with('-')) {
      break;
    }
  }
  const ShellTruth out = act();
  for (auto& [name, variable] : hidden) {
    if (variable) state_.variables[name] = std::move(*variable);
    if (!variable) state_.variables.erase(name);
  }
  return out;
}

ShellTruth ShellInterpreter::started(const std::vector<ShellField>& fields) {
  std::vector<ShellField> there;
  for (const ShellField& field : fields) {
    if (!field.vanishes) there.push_back(field);
  }
  if (fields.front().vanishes) {
    note(fields.front().at, "the program that is started here is known only when the script runs");
    if (!outputs_.empty() && outputs_.back() != nullptr) outputs_.back()->lack("the output of a program", false);
    if (there.empty()) return ShellTruth::unknown;
    return external(fields);
  }
  const std::string name = base_name(there.front().text.chars);
  if (name == "env") {
    std::size_t first = 1;
    return with_environment(fields, first, [&] {
      if (first >= fields.size()) return ShellTruth::yes;
      return started(std::vector<ShellField>(fields.begin() + static_cast<std::ptrdiff_t>(first), fields.end()));
    });
  }
  if (const auto out = filter(name, there)) return *out;
  if (const auto out = change_files(name, there)) return *out;
  if (setup_.programs.remote.contains(name)) return remote_text(there);
  if (setup_.programs.tools.contains(name) || setup_.programs.asking.contains(name)) {
    if (!outputs_.empty() && outputs_.back() != nullptr) outputs_.back()->lack("$(" + joined_words(there) + ")", false);
    assumed_ = !setup_.programs.asking.contains(name);
    return assumed_ ? ShellTruth::yes : ShellTruth::unknown;
  }
  return external(fields);
}

// Finds the shell or the script among the words, after whatever starts it (srun).
std::optional<std::size_t> ShellInterpreter::nested_at(const std::vector<ShellField>& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string& word = fields[i].text.chars;
    if (fields[i].vanishes) continue;
    if (word.ends_with(".py")) return std::nullopt;
    if (is_shell(base_name(word)) || (i > 0 && word.starts_with("--wrap"))) return i;
    const bool path = word.find('/') != std::string::npos;
    if (has_script_ending(word) && (i == 0 ? path : !fields[i - 1].text.chars.starts_with("--"))) return i;
    // A file is a script if its first line says so.
    const bool option = i > 0 && fields[i - 1].text.chars.starts_with('-');
    const bool plain =
        path && !option && word.find('=') == std::string::npos && base_name(word).find('.') == std::string::npos;
    if (!plain || !setup_.find_file) continue;
    const auto file = setup_.find_file(path_of(fields[i].text));
    if (file && !file->elsewhere && file->text.starts_with("#!") &&
        nth_line(file->text, 1).find("sh") != std::string::npos)
      return i;
  }
  return std::nullopt;
}

// Runs bash -c TEXT, sbatch --wrap TEXT, bash SCRIPT, and bash << END, after any program that starts them.
bool ShellInterpreter::nested_text(const std::vector<ShellField>& fields, ShellTruth& out) {
  const std::string program = base_name(fields.front().text.chars);
  const std::optional<std::size_t> found = nested_at(fields);
  const bool no_python = std::any_of(fields.begin(), fields.end(), [](const ShellField& field) {
    return field.text.chars == "--no_python" || field.text.chars == "--no-python";
  });
  const bool runs = setup_.programs.runners.contains(program) || no_python || (found && *found == 0);
  if (!found || !runs) {
    if (runs && program == "sbatch" && !inputs_.empty() && inputs_.back().known() && !inputs_.back().empty()) {
      const ShellText text = std::exchange(inputs_.back(), {});
      out = run_apart([&] { return run_text(text); });
      return true;
    }
    if (found) {
      note(fields[*found].at, fmt::format("it is not known if {} runs {}, which is not read", excerpt(program, 40),
                                          excerpt(fields[*found].text.chars, 60)));
    }
    return false;
  }
  const std::size_t i = *found;
  const std::string& word = fields[i].text.chars;
  std::optional<ShellText> text;
  std::optional<ShellField> file;
  std::size_t next = i + 1;
  if (word.starts_with("--wrap")) {
    const std::size_t equals = word.find('=');
    text = equals == std::string::npos ? (next < fields.size() ? fields[next].text : ShellText{})
                                       : fields[i].text.part(equals + 1);
  } else if (is_shell(base_name(word))) {
    while (next < fields.size() && fields[next].text.chars.starts_with('-') && !runs_text(fields[next].text.chars))
      next += shell_option_takes_word(fields[next].text.chars) ? 2 : 1;
    if (next >= fields.size()) {
      if (inputs_.empty()) return false;
      text = std::exchange(inputs_.back(), {});
    } else if (runs_text(fields[next].text.chars)) {
      if (++next < fields.size()) text = fields[next].text;
    } else {
      file = fields[next];
    }
  } else {
    file = fields[i];
    next = i;
  }
  std::vector<ShellText> parameters;
  for (std::size_t p = next + 1; p < fields.size(); ++p) {
    if (!fields[p].vanishes) parameters.push_back(fields[p].text);
  }
  const std::size_t outer = outer_.size();
  outer_.insert(outer_.end(), fields.begin(), fields.begin() + static_cast<std::ptrdiff_t>(i));
  if (file) {
    out = run_file(*file, std::move(parameters), true);
  } else if (text) {
    if (!text->known())
      note(fields[i].at, "a part of the text that a shell runs here is known only when the script runs");
    if (++depth_ > 300) fail(fields[i].at, "nested too deep");
    out = run_apart([&] {
      std::erase_if(state_.variables, [](const auto& entry) { return !entry.second.exported; });
      state_.functions.clear();
      state_.ends_on_error = state_.needs_set = state_.any_of_pipeline = false;
      state_.parameters.clear();
      if (!parameters.empty()) state_.script = parameters.front().chars;
      for (std::size_t p = 1; p < parameters.size(); ++p) state_.parameters.push_back(parameters[p]);
      return run_text(*text);
    });
    --depth_;
  }
  failed_code_ = code_;
  outer_.resize(outer);
  return true;
}

// Runs ssh HOST TEXT, without the variables of this shell.
ShellTruth ShellInterpreter::remote_text(const std::vector<ShellField>& fields) {
  constexpr std::string_view with_value = "bcDEeFIiJLlmOopQRSWwxfN";
  std::size_t first = 1;
  for (; first < fields.size() && fields[first].text.chars.starts_with('-'); ++first) {
    const std::string& word = fields[first].text.chars;
    if (word.size() == 2 && with_value.find(word[1]) != std::string_view::npos) ++first;
  }
  if (base_name(fields.front().text.chars) == "ssh") ++first;
  ShellText text;
  for (std::size_t i = first; i < fields.size(); ++i) {
    if (i > first) text.append(" ", fields[i].at);
    text.append(fields[i].text);
  }
  if (text.empty() && !inputs_.empty()) text = std::exchange(inputs_.back(), {});
  if (++depth_ > 300) fail(fields.front().at, "nested too deep");
  const ShellTruth out = run_apart([&] {
    state_.variables.clear();
    state_.functions.clear();
    state_.parameters.clear();
    return run_text(text);
  });
  --depth_;
  if (!outputs_.empty() && outputs_.back() != nullptr && text.empty()) outputs_.back()->lack("$(ssh)", false);
  return out;
}

ShellTruth ShellInterpreter::external(std::vector<ShellField> fields) {
  ShellTruth nested = ShellTruth::unknown;
  if (nested_text(fields, nested)) return nested;
  if (!outputs_.empty() && outputs_.back() != nullptr) outputs_.back()->lack("$(" + joined_words(fields) + ")", false);
  ShellCommand command;
  command.where = sources_.where(fields.front().at);
  command.last = sources_.where(last_byte_);
  std::vector<ShellField> all = outer_;
  for (ShellField& field : fields) all.push_back(std::move(field));
  for (const ShellField& field : all) {
    ArgumentWord word{field.text.chars, sources_.where(field.at)};
    for (const ShellMissing& one : field.text.missing) word.missing.push_back(one.name);
    word.vanishes = field.vanishes;
    word.parts = sources_.parts(field.text);
    command.words.push_back(std::move(word));
  }
  for (const auto& [name, variable] : state_.variables) {
    const ShellText* text = variable.find("0");
    if (!variable.exported || text == nullptr) continue;
    command.environment[name] = {text->chars, sources_.where(variable.assigned_at), sources_.parts(*text)};
  }
  // mpirun passes variables by -x NAME=VALUE.
  for (std::size_t i = 1; i < all.size(); ++i) {
    const std::string& word = all[i].text.chars;
    if (all[i - 1].text.chars != "-x" || !is_assignment(word)) continue;
    const std::size_t equals = word.find('=');
    command.environment[word.substr(0, equals)] = {word.substr(equals + 1), sources_.where(all[i].at),
                                                   sources_.parts(all[i].text.part(equals + 1))};
  }
  if (run_.commands.size() >= kMostCommands)
    fail(all.front().at, fmt::format("more than {} commands that are started", kMostCommands));
  run_.commands.push_back(std::move(command));
  assumed_ = true;
  return ShellTruth::yes;  // programs are only assumed to succeed usually
}

}  // namespace mirfak
