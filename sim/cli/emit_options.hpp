#pragma once

#include "cli/data_folders.hpp"
#include "cli/options.hpp"
#include "launch/launch_arguments.hpp"
#include "scenario/scenario_sources.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// What commands take that write a job for a training program.
struct EmitOptions {
  std::string target;    // --emit
  std::string launcher;  // --launcher
  std::string folder;    // --emit-dir

  // `which`: what is written, "the job" or "the best strategy".
  void add_to(CommandSyntax& syntax, const std::string& which);
  bool given() const { return !target.empty(); }
  // Error(input) for a target or launcher that is not there, for an option that nothing is done with, and for a
  // --format beside them that is not text.
  void check(OutputFormat format) const;
};

// What --emit prints: the text; with --emit-dir the names of the files, which are all written or none. The error of a
// key that the program cannot express has the place of the key in `document`, and what `remedy` says behind its hint.
std::string emitted(const Job& job, const EmitOptions& options, const ScenarioSources& sources,
                    const Document& document, const std::string& remedy = "");

}  // namespace mirfak
