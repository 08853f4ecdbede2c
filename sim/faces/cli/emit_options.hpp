#pragma once

#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/import_options.hpp"
#include "cli/options.hpp"
#include "launch/launch_arguments.hpp"
#include "scenario/scenario_sources.hpp"

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// Options of commands that write a job for a training program.
struct EmitOptions {
  std::string target;    // --emit
  std::string launcher;  // --launcher
  std::string folder;    // --emit-dir
  std::string into;      // --emit-into

  // Adds the options to `syntax`.
  void add_to(CommandSyntax& syntax);
  bool given() const { return !target.empty() || !into.empty(); }
  // Throws Error(input) for an unknown target or launcher, for an option without effect (--launcher or --emit-dir
  // without --emit), for options that exclude each other, and for a --format other than text.
  void check(OutputFormat format) const;
  // Completes the options: --emit of the program that the job's only file starts changes this file, if it is a script
  // or a list of arguments and no new files are asked for; --emit-into decides the target.
  void complete(std::span<const std::string> job_files, const ImportOptions& import, const ScenarioSources& sources);
  // The request that the options make; only if they are given and complete. `hardware`: the folder hw_profiles/.
  LaunchRequest request(const std::filesystem::path& hardware) const;
};

// The origin of a job that is written for a training program.
struct EmitSource {
  const Document& document;     // scenario: errors name the places of its keys
  const ImportOptions& import;  // what launch files leave to the environment
  std::string out = {};         // file for the changed script; "": it is printed
};

// Gives the output of --emit: the text, or with --emit-dir the names of the files, all or none of which are written.
// With --emit-into, and with --emit of the program that the job's own script starts, the text is the changed script;
// the changes are listed on standard error. `notes`: further comments.
void emit(const Job& job, const EmitOptions& options, const ScenarioSources& sources, const EmitSource& source,
          const std::vector<std::string>& notes, CommandOutput& output);

}  // namespace mirfak
