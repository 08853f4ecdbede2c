#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/json_output.hpp"
#include "cli/options.hpp"
#include "validation/calibrated_trace.hpp"
#include "validation/recorded_run_report.hpp"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace mirfak {

CommandOutput run_trace(std::span<const std::string> arguments, const Surroundings& /*surroundings*/) {
  namespace po = boost::program_options;
  std::string trace;
  std::string format;
  std::string data;
  CommandSyntax syntax(
      "mirfak trace TRACE [OPTION]...",
      "Shows what a profiler recorded of a training: the GPU's time by class of kernel, communication and how much of\n"
      "it is hidden, the steps, the host's work, and how well half of the steps predict the others. TRACE is of "
      "PyTorch's\n"
      "profiler (JSON, plain or compressed by gzip) or of Nsight Systems (SQLite), or a folder with one of each rank.");
  syntax.operand = &trace;
  auto add = syntax.options.add_options();
  add("format", po::value(&format)->default_value("text")->value_name("text|json"), "what to print");
  add("data", data_folder_option(data), "holds hw_profiles/");
  if (const std::optional<std::string> help = read_arguments(syntax, arguments)) return {*help, {}};
  const OutputFormat chosen = format_choice(format);
  const CalibratedTrace found = calibrate_by_trace({trace, std::nullopt, {}, {}}, data_folders(data));
  if (chosen == OutputFormat::json) return {printed_json(calibrated_trace_json(found)), {}};
  return {calibrated_trace_text(found), {}};
}

}  // namespace mirfak
