#include "base/document.hpp"
#include "base/error.hpp"
#include "base/key_path.hpp"
#include "base/placeholder.hpp"
#include "base/staged_file.hpp"
#include "base/text.hpp"
#include "base/written_number.hpp"
#include "base/yaml.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/options.hpp"
#include "import/number_words.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
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

using Json = nlohmann::json;

// Returns the JSON Schema of a template that is a scenario; null for another one.
Json schema_of(const std::string& what, const std::string& data) {
  if (what != "scenario" && what != "search") return nullptr;
  return Json::parse(text_of(fs::path(data) / "scenarios" / "schemas" / "scenario.schema.json"));
}

// True if the schema has a number at this key, and only that.
bool takes_number(const Json& schema, const std::string& key) {
  const Json* at = &schema;
  const auto enter = [&](const char* part) {
    const auto found = at->find(part);
    at = found == at->end() ? nullptr : &*found;
    return at != nullptr;
  };
  const KeyPath path(key, {});
  for (const KeyPath::Step& step : path.steps()) {
    const bool known = step.index ? enter("items") : enter("properties") && enter(step.key.c_str());
    if (!known) return false;
  }
  const std::string reference = at->value("$ref", "");
  return reference == "#/$defs/number" || reference == "#/$defs/integer";
}

// Returns the reason why a word cannot be the value of a key; "": it can.
std::string fault_of(const Json& schema, const std::string& key, const std::string& word) {
  if (schema.is_null() || !takes_number(schema, key)) return "";
  if (number_of(word) || written_number(word, key)) return "";
  return fmt::format("{}: expected a number, found '{}'", key, excerpt(word));
}

// Refuses values of another kind than their keys have.
void check_kinds(const Json& schema, const std::vector<std::string>& assignments) {
  for (const std::string& assignment : assignments) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos) continue;  // filled_template() says what is missing
    const std::string key = assignment.substr(0, equals);
    const std::string fault = fault_of(schema, key, assignment.substr(equals + 1));
    if (!fault.empty())
      fail_input({"--set " + assignment, 0, 0}, fault,
                 fmt::format("a plain number, or one with a unit such as {}", units_of_written_number(key)));
  }
}

// Asks for the values to fill in, once more where an answer is of another kind; an empty answer leaves the placeholder.
std::string asked(std::string text, const std::string& name, const Json& schema, const Surroundings& surroundings) {
  if (!surroundings.ask) return text;
  for (const Placeholder& one : placeholders(parse_yaml(text, name), text)) {
    const std::string question = fmt::format("{} ({}): ", one.key, one.meaning);
    std::string answer = surroundings.ask(question);
    for (std::string fault; !trimmed(answer).empty();) {
      fault = fault_of(schema, one.key, std::string(trimmed(answer)));
      if (fault.empty()) break;
      answer = surroundings.ask(fmt::format("{}\n{}", fault, question));
    }
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
      "mirfak init scenario|search|sweep|gpu|node|prices [OPTION]...",
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
  const Json schema = schema_of(options.what, options.data);
  check_kinds(schema, options.values);
  std::error_code unknown;
  if (!options.out.empty() && fs::exists(options.out, unknown)) {
    fail_input({options.out, 0, 0}, "this file exists, and is not replaced", "choose another name");
  }
  std::string text = filled_template(text_of(folder / name), name, options.values);
  if (options.out.empty()) return {text, {}};
  text = asked(std::move(text), name, schema, surroundings);
  write_text_file(options.out, text);
  CommandOutput output{fmt::format("{} is written.\n", options.out) + what_is_left(text, options.out), {}};
  output.confirms = true;
  return output;
}

}  // namespace mirfak
