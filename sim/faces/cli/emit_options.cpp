#include "cli/emit_options.hpp"

#include "base/error.hpp"
#include "base/staged_file.hpp"
#include "import/emit_into.hpp"
#include "import/read_back.hpp"
#include "scenario/sections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <deque>
#include <filesystem>

namespace mirfak {

namespace {

namespace po = boost::program_options;
namespace fs = std::filesystem;

LaunchRequest request_of(const EmitOptions& options) {
  LaunchRequest out;
  out.target = static_cast<LaunchTarget>(choice("--emit", options.target, launch_target_names()));
  if (!options.launcher.empty())
    out.launcher = static_cast<Launcher>(1 + choice("--launcher", options.launcher, launcher_names()));
  return out;
}

// Writes all files or none.
void write_all(const fs::path& folder, const std::vector<LaunchFile>& files) {
  std::deque<StagedFile> staged;
  for (const LaunchFile& file : files) {
    staged.emplace_back(folder / file.name);
    staged.back().write(file.text);
  }
  commit_all(staged);
}

Location place_of_key(const Document& document, const std::string& message) {
  const std::string key = message.substr(0, message.find(": "));
  return key.size() == message.size() ? Location{} : locate(document, key).where();
}

// Returns the names of all targets, those that only add to the one before in brackets: "megatron[-yaml][-bridge]".
std::string target_names_in_short() {
  std::string out;
  std::string before;
  for (const std::string& name : launch_target_names()) {
    if (!before.empty() && name.starts_with(before + "-")) {
      out += "[" + name.substr(before.size()) + "]";
      continue;
    }
    out += (out.empty() ? "" : ", ") + name;
    before = name;
  }
  return out;
}

}  // namespace

void EmitOptions::add_to(CommandSyntax& syntax) {
  auto add = syntax.options.add_options();
  add("emit", po::value(&target)->value_name("TARGET"), fmt::format("as {}", target_names_in_short()).c_str());
  syntax.add_file(FileRole::input, "emit-into", into, "SCRIPT", "change the options in this script, keep the rest");
  add("launcher", po::value(&launcher)->value_name(fmt::format("{}", fmt::join(launcher_names(), "|"))),
      "with --emit: a script that starts the job");
  syntax.add_file(FileRole::as_added, "emit-dir", folder, "FOLDER", "with --emit: write the files here");
  syntax.more_files = [this, before = syntax.more_files](std::vector<FileArgument>& files) {
    if (before) before(files);
    if (folder.empty() || !given()) return;
    for (const std::string& name : launch_file_names(request_of(*this))) {
      files.push_back({FileRole::output, "--emit-dir", fs::path(folder) / name});
    }
  };
}

void EmitOptions::check(OutputFormat format) const {
  if (!into.empty()) {
    for (const auto& [value, name] : {std::pair(&launcher, "--launcher"), {&folder, "--emit-dir"}}) {
      if (!value->empty())
        fail_input({}, fmt::format("{} writes new files, and --emit-into changes one", name), "leave one of them out");
    }
  }
  if (!given()) {
    for (const auto& [value, name] : {std::pair(&launcher, "--launcher"), {&folder, "--emit-dir"}}) {
      if (!value->empty()) fail_input({}, fmt::format("{} needs --emit", name), "say for which program");
    }
    return;
  }
  if (!target.empty()) request_of(*this);
  if (format == OutputFormat::json) fail_input({}, "--emit prints text, not JSON", "leave out --format json");
  if (format == OutputFormat::csv) fail_input({}, "--emit prints text, not CSV", "leave out --format csv");
}

LaunchRequest EmitOptions::request(const fs::path& hardware) const {
  LaunchRequest out = request_of(*this);
  out.hardware = hardware;
  return out;
}

void EmitOptions::complete(std::span<const std::string> job_files, const ImportOptions& import,
                           const ScenarioSources& sources) {
  if (!given() || (into.empty() && job_files.size() > 1)) return;
  const std::string& file = job_files.front();
  const bool anew = !launcher.empty() || !folder.empty();
  const std::string& changed = into.empty() ? file : into;
  if (anew || (into.empty() && !is_import_file(file, sources))) return;
  const std::vector<ImportFile> files = {read_import_file(changed)};
  std::string name;
  try {
    name = launch_target_names().at(static_cast<std::size_t>(target_of_files(files, import_context(import, sources))));
  } catch (const Error& error) {
    if (!into.empty() || error.kind() == ErrorKind::internal) throw;
    return;
  }
  if (into.empty() && name == target) into = file;
  if (into.empty()) return;
  if (!target.empty() && target != name) {
    fail_input({"--emit " + target, 0, 0}, fmt::format("{} starts a program of the target {}", into, name),
               "leave out --emit, or --emit-into");
  }
  target = name;
}

namespace {

std::vector<LaunchFile> new_files(const Job& job, const EmitOptions& options, const ScenarioSources& sources,
                                  const std::vector<std::string>& notes) {
  return noted_launch_files(job, options.request(sources.folders.hardware), sources, notes);
}

void write_new_files(const std::vector<LaunchFile>& files, const EmitOptions& options, CommandOutput& output) {
  output.text = launch_text(files);
  if (options.folder.empty()) return;
  write_all(options.folder, files);
  output.text.clear();
  for (const LaunchFile& file : files) output.text += (fs::path(options.folder) / file.name).string() + "\n";
}

void write_changed(EmittedInto changed, const EmitOptions& options, const EmitSource& source,
                   const std::vector<std::string>& notes, CommandOutput& output) {
  const fs::path target = source.out.empty() ? options.into : source.out;
  std::vector<LaunchFile> files = {{target.filename().string(), std::move(changed.text)}};
  files.insert(files.end(), changed.files.begin(), changed.files.end());
  changed.notes.insert(changed.notes.end(), notes.begin(), notes.end());
  std::string said = changed.edits.empty() ? options.into + " states this strategy already\n" : "";
  for (const std::string& edit : changed.edits) said += edit + "\n";
  for (const std::string& note : changed.notes) said += "note: " + note + "\n";
  if (source.out.empty()) {
    output.text = launch_text(files);
    output.remarks = std::move(said);
  } else {
    write_all(target.parent_path(), files);
    output.text = std::move(said);
  }
}

}  // namespace

void emit(const Job& job, const EmitOptions& options, const ScenarioSources& sources, const EmitSource& source,
          const std::vector<std::string>& notes, CommandOutput& output) {
  try {
    if (options.into.empty()) return write_new_files(new_files(job, options, sources, notes), options, output);
    const std::vector<ImportFile> files = {read_import_file(options.into)};
    write_changed(emit_into(job, files, import_context(source.import, sources)), options, source, notes, output);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::infeasible) throw;
    const Location where = error.where().known() ? error.where() : place_of_key(source.document, error.message());
    fail_infeasible(where, error.message(), error.hint());
  }
}

}  // namespace mirfak
