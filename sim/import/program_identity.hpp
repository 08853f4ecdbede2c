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

// The program that a script or a file of settings belongs to, as hw_profiles/launch/programs.yaml tells it.
struct ProgramIdentity {
  std::string is;      // "Megatron-LM's server of generated text"; of a name that only sounds so: "a server"
  std::string kind;    // "text", "inference", "preference", ...: programs.yaml has them
  bool trains = true;  // else it runs no training at all
  std::string reason;  // why mirfak does not simulate it; "": it does
  std::string reader;  // of its options; "": none
  std::string by;      // what told it: the option or key, or the program's name
  Location where;      // of that
};

// Programs by the names of scripts, modules and commands, by options that only they have, and by keys of their files.
class KnownPrograms {
 public:
  explicit KnownPrograms(const ScenarioSources& sources);

  // nullopt: nothing tells what it is.
  std::optional<ProgramIdentity> of_launch(const LaunchCommand& launch) const;
  // The same of a file of settings; `root`: its mapping.
  std::optional<ProgramIdentity> of_settings(const Value& root) const;
  // A command line that starts a program by a name of its own ("llamafactory-cli train", "vllm serve"), behind
  // whatever stands in front of it.
  std::optional<LaunchCommand> command_by_name(std::span<const ArgumentWord> words) const;

 private:
  ProgramIdentity identity(const Value& program, std::string by, const Location& where) const;
  std::optional<ProgramIdentity> by_script(const LaunchCommand& launch) const;
  std::optional<ProgramIdentity> by_options(const LaunchCommand& launch) const;
  std::optional<ProgramIdentity> by_words(const LaunchCommand& launch) const;
  bool has_training_option(const LaunchCommand& launch) const;

  Document document_;
};

// "it seems to be vLLM: it generates text, and trains nothing"
std::string identity_text(const ProgramIdentity& identity);
// Says what a user can do about it.
std::string identity_hint(const ProgramIdentity& identity);

// Error(input) for a launch that trains nothing; an obstacle for one that trains what mirfak does not describe.
void judge_program(ImportDraft& draft, const LaunchCommand& launch, const ScenarioSources& sources);

// Error(input) for a file of settings that is another program's than mirfak reads, or trains nothing. Files of other
// kinds pass.
void refuse_foreign_settings(const ImportFile& file, const ScenarioSources& sources);

}  // namespace mirfak
