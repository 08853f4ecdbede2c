#pragma once

#include "cli/data_folders.hpp"
#include "cli/options.hpp"
#include "launch/launch_arguments.hpp"
#include "scenario/scenario_sources.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// Options of commands that write a job for a training program.
struct EmitOptions {
  std::string target;    // --emit
  std::string launcher;  // --launcher
  std::string folder;    // --emit-dir

  // Adds the options to `syntax`. `which`: the thing that is written, "the job" or "the best strategy".
  void add_to(CommandSyntax& syntax, const std::string& which);
  bool given() const { return !target.empty(); }
  // Throws Error(input) for an unknown target or launcher, for an option without effect (--launcher or --emit-dir
  // without --emit), and for a --format other than text.
  void check(OutputFormat format) const;
  // The request that the options make; only if they are given. `hardware`: the folder hw_profiles/.
  LaunchRequest request(const std::filesystem::path& hardware) const;
};

// Returns the text that --emit prints; with --emit-dir, writes all files or none and returns their names. If the
// program cannot express a key, the error has the place of the key in `document`. `notes`: further comments.
std::string emitted(const Job& job, const EmitOptions& options, const ScenarioSources& sources,
                    const Document& document, const std::vector<std::string>& notes = {});

}  // namespace mirfak
