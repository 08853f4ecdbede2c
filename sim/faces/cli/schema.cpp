#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/options.hpp"

#include <fmt/ranges.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace mirfak {

namespace {

constexpr std::array kKinds = {"scenario", "sweep",    "comparison", "simulate", "jobs",
                               "search",   "frontier", "train",      "compare",  "diff"};

}  // namespace

CommandOutput run_schema(std::span<const std::string> arguments, const Surroundings& /*surroundings*/) {
  const std::vector<std::string> names(kKinds.begin(), kKinds.end());
  std::string what;
  std::string data;
  CommandSyntax syntax(
      fmt::format("mirfak schema {} [OPTION]...", fmt::join(names, "|")),
      "Prints a JSON Schema: of a scenario, sweep or comparison, by which editors complete and check what is written,\n"
      "or of what a command prints with --format json, by which programs check what they read (jobs: simulate, of\n"
      "several jobs).");
  syntax.operand = &what;
  syntax.options.add_options()("data", data_folder_option(data), "holds models/, hw_profiles/ and scenarios/");
  if (const auto help = read_arguments(syntax, arguments)) return {*help, {}};
  const std::filesystem::path file =
      std::filesystem::path(data) / "scenarios" / "schemas" / (names[choice("schema", what, names)] + ".schema.json");
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in)
    fail_input({file.string(), 0, 0}, "cannot read this schema", "name the folder that holds scenarios/ with --data");
  return {text, {}};
}

}  // namespace mirfak
