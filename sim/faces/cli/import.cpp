#include "base/origin.hpp"
#include "base/staged_file.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/import_options.hpp"
#include "cli/json_output.hpp"
#include "cli/options.hpp"
#include "import/import_report.hpp"

#include <nlohmann/json.hpp>

namespace mirfak {

namespace {

namespace po = boost::program_options;

struct ImportCommand {
  std::vector<std::string> files;
  ImportOptions import;
  std::string out;
  std::string format;
  std::string data;
};

CommandSyntax syntax_for(ImportCommand& options) {
  CommandSyntax syntax(
      "mirfak import FILE... [OPTION]...",
      "Reads what a training is started with (a launch script, arguments, a configuration file) and says of every\n"
      "setting what it means. The first FILE may be followed by files that it refers to, and by output of the "
      "cluster's\n"
      "tools: sinfo, scontrol show node or nvidia-smi topo -m, or a SkyPilot task. Nothing is executed.");
  syntax.operands = &options.files;
  options.import.add_to(syntax);
  auto add = syntax.options.add_options();
  syntax.add_file(FileRole::output, "out", options.out, "FILE.yaml", "write the scenario, each key with its origin");
  add("format", po::value(&options.format)->default_value("text")->value_name("text|json"), "what to print");
  add("data", data_folder_option(options.data), "holds models/ and hw_profiles/");
  return syntax;
}

}  // namespace

CommandOutput run_import(std::span<const std::string> arguments, const Surroundings& /*surroundings*/) {
  ImportCommand options;
  const CommandSyntax syntax = syntax_for(options);
  if (const std::optional<std::string> help = read_arguments(syntax, arguments)) return {*help, {}};
  const OutputFormat format = format_choice(options.format);
  const ScenarioSources sources(data_folders(options.data));
  const ImportedJob job = import_files(options.files, options.import, sources);
  if (!options.out.empty()) write_text_file(options.out, origin_comment() + imported_yaml(job));
  if (format == OutputFormat::json) return {printed_json(import_json(job)), {}};
  return {import_text(job), {}};
}

}  // namespace mirfak
