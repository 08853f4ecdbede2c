#pragma once

#include "import/import_formats.hpp"
#include "launch/launch_arguments.hpp"
#include "program/job.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// A file that starts a training, changed so that it starts another job.
struct EmittedInto {
  std::string text;
  std::vector<LaunchFile> files;   // files that the new options name: "schedule.csv"
  std::vector<std::string> edits;  // a line for each change, with its place in the new text
  std::vector<std::string> notes;  // what the file and its options leave open
};

// Returns the target whose options the first of `files` states: the program of its training. Error(input) at files
// whose options are not changed in place, with what to do instead.
LaunchTarget target_of_files(std::span<const ImportFile> files, const ImportContext& context);

// Changes the options in which a job differs from the job of `files`, in the first of them (script_patch.hpp); learning
// rate, data, comments and form stay. What is read from the new text is the promised job: Error(infeasible) at the key
// that would be another one. `context`: what the files leave to the environment; the number of GPUs is the job's.
// Errors as of launch_files() and patch_script().
EmittedInto emit_into(const Job& job, std::span<const ImportFile> files, ImportContext context);

}  // namespace mirfak
