#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/options.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace mirfak {

CommandOutput run_schema(std::span<const std::string> arguments, const Surroundings& /*surroundings*/) {
  std::string what;
  std::string data;
  CommandSyntax syntax(
      "mirfak schema scenario|sweep|comparison [OPTION]...",
      "Prints the JSON Schema of a kind of file, by which editors complete and check what is written.");
  syntax.operand = &what;
  syntax.options.add_options()("data", data_folder_option(data), "holds models/, hw_profiles/ and scenarios/");
  if (const auto help = read_arguments(syntax, arguments)) return {*help, {}};
  const std::vector<std::string> names = {"scenario", "sweep", "comparison"};
  const std::filesystem::path file =
      std::filesystem::path(data) / "scenarios" / "schemas" / (names[choice("schema", what, names)] + ".schema.json");
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in)
    fail_input({file.string(), 0, 0}, "cannot read this schema", "name the folder that holds scenarios/ with --data");
  return {text, {}};
}

}  // namespace mirfak
