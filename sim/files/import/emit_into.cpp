#include "import/emit_into.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "import/megatron_bridge.hpp"
#include "import/option_words.hpp"
#include "import/read_back.hpp"
#include "import/script_launch.hpp"
#include "import/script_patch.hpp"
#include "launch/launch_targets.hpp"
#include "launch/option_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace mirfak {

namespace {

namespace fs = std::filesystem;

// A program whose options are changed in place.
struct PatchedProgram {
  LaunchTarget target;
  OptionParser parser;
  std::string_view list;  // its options
  LaunchProgram (*written)(const Job& job, const fs::path& hardware);
};

constexpr std::array kPatched = {
    PatchedProgram{LaunchTarget::megatron, OptionParser::argparse, "megatron", megatron_program},
    PatchedProgram{LaunchTarget::megatron_bridge, OptionParser::hydra, "megatron-bridge", megatron_bridge_program},
    PatchedProgram{LaunchTarget::torchtitan, OptionParser::tyro, "torchtitan", torchtitan_program},
    PatchedProgram{LaunchTarget::torchtitan_toml, OptionParser::tyro, "torchtitan-toml", torchtitan_overrides},
};

const PatchedProgram& patched_program(LaunchTarget target, const Location& where) {
  const auto* const found = std::find_if(kPatched.begin(), kPatched.end(),
                                         [&](const PatchedProgram& program) { return program.target == target; });
  if (found != kPatched.end()) return *found;
  fail_input(
      where,
      fmt::format("options of {} are not changed in place", launch_target_names().at(static_cast<std::size_t>(target))),
      fmt::format("--emit {} --emit-dir FOLDER writes its files anew",
                  launch_target_names().at(static_cast<std::size_t>(target))));
}

bool has_option(const LaunchCommand& launch, std::string_view name) {
  return std::any_of(launch.arguments.begin(), launch.arguments.end(), [&](const ArgumentWord& word) {
    std::string said = word.text.substr(0, word.text.find('='));
    std::replace(said.begin(), said.end(), '_', '-');
    return said == name;
  });
}

[[noreturn]] void refuse(const Location& where, const std::string& what) {
  fail_input(where, fmt::format("{} is not changed in place", what),
             "give a script or a list of arguments of Megatron-LM, torchtitan or Megatron-Bridge; --emit TARGET writes "
             "new files for any program");
}

LaunchTarget target_of_launch(const LaunchCommand& launch, std::string_view reader) {
  if (reader == "megatron") {
    if (has_option(launch, "--yaml-cfg")) return LaunchTarget::megatron_yaml;
    return has_option(launch, "--deepspeed-config") ? LaunchTarget::deepspeed : LaunchTarget::megatron;
  }
  if (has_option(launch, "--job.config-file")) return LaunchTarget::torchtitan_toml;
  if (is_torchtitan_command(launch)) return LaunchTarget::torchtitan;
  if (is_bridge_command(launch)) return LaunchTarget::megatron_bridge;
  refuse(launch.program_where, fmt::format("a command of {}", excerpt(launch.program, 60)));
}

// Reads a text in place of the first file.
std::vector<ImportFile> with_text(std::span<const ImportFile> files, const std::string& text) {
  std::vector<ImportFile> out(files.begin(), files.end());
  out.front().text = text;
  return out;
}

std::string joined(std::span<const ArgumentWord> words) {
  std::string out;
  for (const ArgumentWord& word : words) out += word.vanishes ? "" : word.text + '\0';
  return out + '\n';
}

CommandReading reading_of_script(std::span<const ImportFile> files, const ImportContext& context) {
  const ScriptLaunch script = script_launch(files, context);
  CommandReading out;
  for (std::size_t i = 0; i < script.run.commands.size(); ++i) {
    const ShellCommand& command = script.run.commands[i];
    const bool chosen = i == script.commands[script.chosen];
    out.others += chosen ? joined(script.launch().launcher_words) + script.launch().program : joined(command.words);
  }
  out.arguments = script.launch().arguments;
  out.environment = script.command().environment;
  out.last = script.command().last;
  out.program = script.launch().program_where;
  return out;
}

CommandReading reading_of_list(const ImportFile& file) {
  CommandReading out;
  out.arguments = words_of_text(file.text, file.name);
  const std::optional<LaunchCommand> command = launch_command(out.arguments);
  if (!command) return out;
  out.others = joined(command->launcher_words) + command->program;
  out.program = command->program_where;
  out.arguments = command->arguments;
  return out;
}

bool is_script_file(const ImportFile& file) { return kLaunchScript.recognises(file); }

CommandReading reading_of(std::span<const ImportFile> files, const ImportContext& context) {
  return is_script_file(files.front()) ? reading_of_script(files, context) : reading_of_list(files.front());
}

// Returns the keys of differences: "strategy.tensor" of "strategy.tensor: 4, read again 2".
std::string key_of(const std::string& difference) { return difference.substr(0, difference.find(": ")); }

bool has_key(const std::vector<std::string>& differences, const std::string& key) {
  return std::any_of(differences.begin(), differences.end(),
                     [&](const std::string& one) { return key_of(one) == key; });
}

const LaunchOption* option_named(const LaunchOptions& options, const OptionNames& names, const std::string& name) {
  const std::vector<LaunchOption>& all = options.all();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const LaunchOption& one) { return names.stated(one).name == name; });
  return found == all.end() ? nullptr : &*found;
}

// The job of the files, and what is read of them.
struct FilesJob {
  ImportDraft draft;
  Job job;
};

class IntoFiles {
 public:
  IntoFiles(const Job& job, std::span<const ImportFile> files, ImportContext context)
      : job_(job),
        files_(files),
        context_(std::move(context)),
        hardware_(context_.sources.folders.hardware),
        program_(patched_program(target_of_files(files, context_), {files.front().name, 1, 1})),
        names_(program_.parser, option_list(hardware_, program_.list)),
        fresh_(program_.written(job, hardware_)) {
    context_.gpus = job.cluster.gpus();
    said_ = names_.stated(read(files.front().text).arguments);
    std::string why;
    const std::vector<LaunchFile> anew = launch_files(job, {program_.target, Launcher::none, hardware_});
    if (const std::optional<Job> again = job_read_again(job, anew, context_.sources, why))
      open_ = job_differences(job, *again);
  }

  EmittedInto emit() {
    const FilesJob before = job_of(files_);
    const LaunchProgram old = program_.written(before.job, hardware_);
    const std::vector<std::string> changed = job_differences(job_, before.job);
    // A program derives sizes of a model that stays, such as the padded one of its vocabulary: these are left to it.
    if (!has_key(changed, "model")) open_.emplace_back("model: ");
    const CommandPromise promise = promise_of(old, before.draft, changed);
    // An option that nobody states may follow from one that changes: the global batch from the number of replicas.
    const CommandPromise needed = keeps_promise(promise) ? promise : with_unsaid(promise);
    EmittedInto out = patched(without_idle(needed));
    check(out);
    note_machine(before.draft, out);
    return out;
  }

 private:
  CommandReading read(const std::string& text) const { return reading_of(with_text(files_, text), context_); }

  EmittedInto patched(const CommandPromise& promise) const {
    ScriptPatch patch =
        patch_script(files_.front(), promise, names_, [&](const std::string& text) { return read(text); });
    return {std::move(patch.text), fresh_.files, std::move(patch.edits), {}};
  }

  bool says(const std::string& name) const {
    return std::any_of(said_.begin(), said_.end(), [&](const StatedOption& one) { return one.name == name; });
  }

  // Adds the options that a writer states and the file does not.
  CommandPromise with_unsaid(CommandPromise promise) const {
    for (const LaunchOption& option : fresh_.options.all()) {
      const std::string name = names_.stated(option).name;
      if (!says(name) && !is_promised(promise, name)) promise.options.push_back({name, option});
    }
    return promise;
  }

  // Returns the promise without the new options that decide nothing: those that a writer states and the program
  // derives, such as the padded size of a vocabulary.
  CommandPromise without_idle(CommandPromise promise) const {
    for (std::size_t i = promise.options.size(); i-- > 0;) {
      const CommandPromise::Option option = promise.options[i];
      if (says(option.name) || !option.option) continue;
      promise.options.erase(promise.options.begin() + static_cast<std::ptrdiff_t>(i));
      if (!keeps_promise(promise))
        promise.options.insert(promise.options.begin() + static_cast<std::ptrdiff_t>(i), option);
    }
    return promise;
  }

  bool keeps_promise(const CommandPromise& promise) const {
    try {
      EmittedInto out = patched(promise);
      check(out);
      return true;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      return false;
    }
  }

  FilesJob job_of(std::span<const ImportFile> files) const {
    const ImportFormat* format = format_of(files.front());
    ImportDraft draft = format->read(files, context_);
    draft.judge_unknown();
    if (!draft.obstacles().empty()) {
      const ImportObstacle& first = draft.obstacles().front();
      fail_input(first.where, first.reason, "mirfak import says what was read of the file");
    }
    Job job = job_of_draft(draft, job_, files.front().name, context_.sources);
    return {std::move(draft), std::move(job)};
  }

  static bool is_promised(const CommandPromise& promise, const std::string& name) {
    return std::any_of(promise.options.begin(), promise.options.end(),
                       [&](const CommandPromise::Option& one) { return one.name == name; });
  }

  // Returns the options that a writer states differently for the two jobs; `changed`: the keys in which the jobs
  // differ.
  CommandPromise promise_of(const LaunchProgram& old, const ImportDraft& draft,
                            const std::vector<std::string>& changed) const {
    CommandPromise out;
    for (const LaunchOption& option : fresh_.options.all()) {
      const StatedOption stated = names_.stated(option);
      const LaunchOption* was = option_named(old.options, names_, stated.name);
      if (was == nullptr || names_.stated(*was).values != stated.values) out.options.push_back({stated.name, option});
    }
    const auto goes = [&](const std::string& name) {
      if (!is_promised(out, name) && option_named(fresh_.options, names_, name) == nullptr)
        out.options.push_back({name, {}});
    };
    for (const LaunchOption& option : old.options.all()) goes(names_.stated(option).name);
    // Another option of the file may decide a changed key, in words that are not written today.
    for (const ImportLine& line : draft.lines()) {
      if (line.verdict != Verdict::taken) continue;
      const bool decides = std::any_of(changed.begin(), changed.end(), [&](const std::string& one) {
        return line.key.find(key_of(one) + ": ") != std::string::npos;
      });
      const std::vector<StatedOption> stated =
          decides ? names_.stated(words_of_text(line.text, "")) : std::vector<StatedOption>{};
      if (!stated.empty()) goes(stated.front().name);
    }
    // Variables that the program needs before and after are the user's choice.
    for (const auto& variable : fresh_.environment) {
      const auto& known = old.environment;
      if (std::find(known.begin(), known.end(), variable) == known.end()) out.environment.insert(variable);
    }
    for (const std::string& name : fresh_.unset) {
      if (std::find(old.unset.begin(), old.unset.end(), name) == old.unset.end()) out.unset.push_back(name);
    }
    return out;
  }

  void note_machine(const ImportDraft& draft, EmittedInto& out) const {
    const std::optional<std::int64_t> gpus = draft.machine.gpus();
    if (!gpus || *gpus == job_.cluster.gpus()) return;
    out.notes.push_back(
        fmt::format("{}: the launch is of {} GPUs ({}), and the strategy is for {}: start it on as many",
                    files_.front().name, *gpus, excerpt(draft.machine.said_by, 100), job_.cluster.gpus()));
  }

  // Checks that the new text is read as the promised job. Keys that new files of the program leave open too are noted,
  // if time or memory follow from them.
  void check(EmittedInto& out) const {
    std::vector<ImportFile> files = with_text(files_, out.text);
    for (const LaunchFile& file : out.files) files.push_back({file.name, file.text});
    const Location where{files_.front().name, 1, 1};
    std::optional<FilesJob> after;
    try {
      after = job_of(files);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      fail_infeasible(error.where().line > 0 ? error.where() : where,
                      "once its options are changed: " + error.message(), error.hint());
    }
    const std::vector<std::string> differences = job_differences(job_, after->job);
    for (const std::string& one : differences) {
      if (has_key(open_, key_of(one))) continue;
      fail_infeasible(
          where, fmt::format("{}, however its options are changed", excerpt(one, 200)),
          "the file decides this key in a way of its own: change it by hand, or write a new file with --emit "
          "TARGET --launcher slurm");
    }
    const std::string how = figures_changed(job_, after->job);
    if (how.empty()) return;
    out.notes.push_back(fmt::format("the options do not say all of the scenario ({} with them alone):", how));
    for (const std::string& one : differences) out.notes.push_back("  " + excerpt(one, 200));
  }

  const Job& job_;
  std::span<const ImportFile> files_;
  ImportContext context_;
  fs::path hardware_;
  const PatchedProgram& program_;
  OptionNames names_;
  LaunchProgram fresh_;
  std::vector<StatedOption> said_;  // by the file
  std::vector<std::string> open_;   // differences that new files of the program leave, too
};

}  // namespace

LaunchTarget target_of_files(std::span<const ImportFile> files, const ImportContext& context) {
  const ImportFile& file = files.front();
  const ImportFormat* format = format_of(file);
  const std::string_view name = format == nullptr ? std::string_view{} : format->name;
  if (name == kMegatronArguments.name) return LaunchTarget::megatron;
  if (name == kTorchtitanToml.name) {
    fail_input(
        {file.name, 1, 1}, "a TOML file is not changed in place",
        "give the script whose --job.config_file it is: options of its command count instead of the file; or write "
        "a new file with --emit torchtitan-toml");
  }
  if (name == kLaunchScript.name) {
    const ScriptLaunch script = script_launch(files, context);
    return target_of_launch(script.launch(), script.program->reader);
  }
  if (name == kConfigCommand.name) {
    const std::optional<LaunchCommand> command = config_command(file);
    if (command) return target_of_launch(*command, "config");
  }
  refuse({file.name, 1, 1}, name.empty() ? std::string("this file") : fmt::format("a file of the format {}", name));
}

EmittedInto emit_into(const Job& job, std::span<const ImportFile> files, ImportContext context) {
  return IntoFiles(job, files, std::move(context)).emit();
}

}  // namespace mirfak
