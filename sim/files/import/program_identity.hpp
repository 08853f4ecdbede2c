#pragma once

#include "base/document.hpp"
#include "import/import_formats.hpp"
#include "import/launch_command.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// The program that a script or a file of settings belongs to, by hw_profiles/launch/programs.yaml.
struct ProgramIdentity {
  std::string is;             // "Megatron-LM's server of generated text"; for a name that only sounds so: "a server"
  std::string kind;           // "text", "inference", "preference", ...: a kind of programs.yaml
  bool trains = true;         // false: the program runs no training at all
  std::string reason;         // why mirfak does not simulate the program; "": mirfak does
  std::string hint;           // what to do, in place of what is said of all; "": nothing of its own
  bool unless_tower = false;  // the reason holds only of models without a tower for images
  std::string reader;         // reader of the program's options; "": none
  std::string by;             // the evidence: the option or key, or the program's name
  Location where;             // place of the evidence
};

// Known programs, found by the names of scripts, modules and commands, by options that only one program has, and by
// keys of their files.
class KnownPrograms {
 public:
  explicit KnownPrograms(const ScenarioSources& sources);

  // Identifies the program of a launch; nullopt: nothing identifies it.
  std::optional<ProgramIdentity> of_launch(const LaunchCommand& launch) const;
  // Identifies the program of a file of settings; `root`: the file's mapping. nullopt: nothing identifies it.
  std::optional<ProgramIdentity> of_settings(const Value& root) const;
  // Returns a command line that starts a program by a name of its own ("llamafactory-cli train", "vllm serve"), after
  // any other words.
  std::optional<LaunchCommand> command_by_name(std::span<const ArgumentWord> words) const;

 private:
  ProgramIdentity identity(const Value& program, std::string by, const Location& where) const;
  std::optional<ProgramIdentity> by_script(const LaunchCommand& launch) const;
  std::optional<ProgramIdentity> by_options(const LaunchCommand& launch) const;
  std::optional<ProgramIdentity> by_words(const LaunchCommand& launch) const;
  bool has_training_option(const LaunchCommand& launch) const;

  const Document& document_;
};

// Returns true if the name of a program has one of these words: "finetune_lora.py" has finetune and lora.
bool name_has_word(std::string_view program, const std::vector<Value>& among);

// Returns "it seems to be vLLM: it generates text, and trains nothing".
std::string identity_text(const ProgramIdentity& identity);
// Returns a hint for the user about such a program.
std::string identity_hint(const ProgramIdentity& identity);

// Throws Error(input) for a launch that trains nothing; adds an obstacle for a launch that trains in a way that mirfak
// does not describe.
void judge_program(ImportDraft& draft, const LaunchCommand& launch, const ScenarioSources& sources);

// Throws Error(input) for a file of settings of a program that mirfak does not read, or that trains nothing. Files of
// other kinds pass.
void refuse_foreign_settings(const ImportFile& file, const ScenarioSources& sources);

}  // namespace mirfak
