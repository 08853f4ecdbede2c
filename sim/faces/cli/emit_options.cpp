#include "cli/emit_options.hpp"

#include "base/error.hpp"
#include "base/staged_file.hpp"
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

}  // namespace

void EmitOptions::add_to(CommandSyntax& syntax, const std::string& which) {
  auto add = syntax.options.add_options();
  add("emit", po::value(&target)->value_name("TARGET"),
      fmt::format("print {} for a training program: {}", which, fmt::join(launch_target_names(), ", ")).c_str());
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
  if (!given()) {
    for (const auto& [value, name] : {std::pair(&launcher, "--launcher"), {&folder, "--emit-dir"}}) {
      if (!value->empty()) fail_input({}, fmt::format("{} needs --emit", name), "say for which program");
    }
    return;
  }
  request_of(*this);
  if (format == OutputFormat::json) fail_input({}, "--emit prints text, not JSON", "leave out --format json");
  if (format == OutputFormat::csv) fail_input({}, "--emit prints text, not CSV", "leave out --format csv");
}

LaunchRequest EmitOptions::request(const fs::path& hardware) const {
  LaunchRequest out = request_of(*this);
  out.hardware = hardware;
  return out;
}

std::string emitted(const Job& job, const EmitOptions& options, const ScenarioSources& sources,
                    const Document& document, const std::vector<std::string>& notes) {
  std::vector<LaunchFile> files;
  try {
    files = noted_launch_files(job, options.request(sources.folders.hardware), sources, notes);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::infeasible) throw;
    const Location where = error.where().known() ? error.where() : place_of_key(document, error.message());
    fail_infeasible(where, error.message(), error.hint());
  }
  if (options.folder.empty()) return launch_text(files);
  write_all(options.folder, files);
  std::string out;
  for (const LaunchFile& file : files) out += (fs::path(options.folder) / file.name).string() + "\n";
  return out;
}

}  // namespace mirfak
