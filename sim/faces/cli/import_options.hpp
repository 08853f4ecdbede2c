#pragma once

#include "cli/options.hpp"
#include "import/imported_files.hpp"
#include "import/measured_steps.hpp"

#include <span>
#include <string>
#include <vector>

namespace mirfak {

// Options of commands that read files of training programs.
struct ImportOptions : ImportWishes {
  void add_to(CommandSyntax& syntax);
  bool given() const;
};

// Reads a scenario, or makes one from the files of a training program or from a capture on --nodes, and applies the
// overrides. Error(input) at the first setting that mirfak does not describe, as the simulated training would be
// another one; for keys that neither files nor overrides state; and for a scenario among several files. Two files may
// be a log and what started its run, a scenario too.
Document scenario_document(std::span<const std::string> paths, const ImportOptions& options,
                           const std::vector<std::string>& overrides, const ScenarioSources& sources);
Document scenario_document(const std::string& path, const ImportOptions& options,
                           const std::vector<std::string>& overrides, const ScenarioSources& sources);

// Adds options of commands that take logs: --with and --run.
void add_log_options(CommandSyntax& syntax, std::string& with, int& run);

// The measured run of a log, and the scenario that ran.
struct LoggedJob {
  LoggedRun run;
  Document scenario;
  MeasuredSteps measured;
  std::vector<std::string> notes;  // on the log, and on what contradicts `with`
};
// Reads the log `paths.front()`. What the log does not state comes from `with`, a scenario or a file that starts
// trainings; "": from `options` alone. Error(input) if something is still missing.
LoggedJob logged_job(const std::vector<std::string>& paths, const ImportOptions& options, const std::string& with,
                     const ScenarioSources& sources);

// True if a file is one of a training program, or defines a model. A file that begins as a scenario does is never one.
bool is_import_file(const std::string& path, const ScenarioSources& sources);

}  // namespace mirfak
