#include "base/document.hpp"
#include "base/error.hpp"
#include "base/placeholder.hpp"
#include "base/staged_file.hpp"
#include "base/text.hpp"
#include "base/yaml.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace mirfak {

namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

struct InitOptions {
  std::string what;
  std::vector<std::string> values;
  std::string out;
  std::string data;
};

// Returns the folder of templates. Each kind of file is a template in it.
fs::path templates_of(const std::string& data) { return fs::path(data) / "scenarios" / "templates"; }

std::vector<std::string> template_names(const fs::path& folder) {
  std::vector<std::string> out;
  std::error_code unknown;
  for (const auto& entry : fs::directory_iterator(folder, unknown)) {
    if (entry.path().extension() == ".yaml") out.push_back(entry.path().stem().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) fail_input({file.string(), 0, 0}, "cannot read this template");
  return text;
}

// Asks for the values to fill in; an empty answer leaves the placeholder.
std::string asked(std::string text, const std::string& name, const Surroundings& surroundings) {
  if (!surroundings.ask) return text;
  for (const Placeholder& one : placeholders(parse_yaml(text, name), text)) {
    const std::string answer = surroundings.ask(fmt::format("{} ({}): ", one.key, one.meaning));
    const std::string_view word = trimmed(answer);
    if (!word.empty()) text = filled_template(std::move(text), name, {{one.key + "=" + std::string(word)}});
  }
  return text;
}

std::string what_is_left(const std::string& text, const std::string& name) {
  const std::vector<Placeholder> left = placeholders(parse_yaml(text, name), text);
  if (left.empty()) return "";
  std::string out =
      fmt::format("\n{} still to be filled in, in place of {}:\n",
                  left.size() == 1 ? "One value is" : fmt::format("{} values are", left.size()), kPlaceholder);
  for (const Placeholder& one : left) out += fmt::format("  line {}: {}: {}\n", one.where.line, one.key, one.meaning);
  return out;
}

}  // namespace

CommandOutput run_init(std::span<const std::string> arguments, const Surroundings& surroundings) {
  InitOptions options;
  CommandSyntax syntax(
      "mirfak init scenario|search|sweep|gpu|node [OPTION]...",
      "Starts a file of your own from a template, with a comment at every value. In a terminal it asks for\n"
      "the values that have no default. Values left open are listed now, and by every command that reads the file.");
  syntax.operand = &options.what;
  auto add = syntax.options.add_options();
  add("set", po::value(&options.values)->value_name("KEY=VALUE"),
      "fill in a value, such as model=llama3-8b; may be repeated");
  syntax.add_file(FileRole::output, "out", options.out, "FILE.yaml", "write the file there, not to standard output");
  add("data", data_folder_option(options.data), "holds models/, hw_profiles/ and scenarios/");
  if (const auto help = read_arguments(syntax, arguments)) return {*help, {}};
  const fs::path folder = templates_of(options.data);
  const std::vector<std::string> names = template_names(folder);
  if (names.empty()) fail_input({folder.string(), 0, 0}, "there are no templates in this folder");
  const std::string name = names[choice("init", options.what, names)] + ".yaml";
  std::error_code unknown;
  if (!options.out.empty() && fs::exists(options.out, unknown)) {
    fail_input({options.out, 0, 0}, "this file exists, and is not replaced", "choose another name");
  }
  std::string text = filled_template(text_of(folder / name), name, options.values);
  if (options.out.empty()) return {text, {}};
  text = asked(std::move(text), name, surroundings);
  write_text_file(options.out, text);
  return {fmt::format("{} is written.\n", options.out) + what_is_left(text, options.out), {}};
}

}  // namespace mirfak
