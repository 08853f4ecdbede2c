#include "base/error.hpp"
#include "block/block_report.hpp"
#include "block/compile.hpp"
#include "block/operators.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/json_output.hpp"
#include "cli/options.hpp"
#include "graph/backward.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

namespace mirfak {

namespace {

namespace po = boost::program_options;

// A setting such as "hidden=4096": a number, or the name or path of a block that the block takes.
struct StatedSize {
  std::string name;
  std::string value;
};

StatedSize setting_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    fail_input({fmt::format("--set {}", text), 0, 0}, "expected size=number", "for example --set hidden=4096");
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

double stated_number(const StatedSize& setting) {
  const std::string at = fmt::format("--set {}={}", setting.name, setting.value);
  const Document document = Document::from_text(setting.value, at);
  return Node(document).as_number(0, 1e12);
}

// Returns the blocks that the settings give to the block, by name or path.
block::Definitions given_blocks(block::Library& library, const block::Block& block,
                                const std::vector<std::string>& settings) {
  block::Definitions out;
  for (const std::string& text : settings) {
    const StatedSize setting = setting_of(text);
    for (const block::Given& given : block.given) {
      if (given.block.empty() || given.name != setting.name) continue;
      out[given.name] = library.find(setting.value, {fmt::format("--set {}", text), 0, 0});
    }
  }
  return out;
}

// Returns the example sizes of every file that takes part: the block's own, and those of the blocks that it is given.
block::Sizes example_sizes(const block::Definition& definition) {
  block::Sizes out = definition.file->sizes();
  out.try_emplace("batch", 1);
  out.try_emplace("sequence", 2048);
  return out;
}

block::Sizes chosen_sizes(const block::Definition& definition, const block::Definitions& given,
                          const std::vector<std::string>& settings) {
  block::Sizes sizes = example_sizes(definition);
  const std::vector<std::string>& names = definition.sizes;
  std::erase_if(sizes, [&](const auto& entry) {
    const bool always = entry.first == "batch" || entry.first == "sequence";
    return !always && std::find(names.begin(), names.end(), entry.first) == names.end();
  });
  for (const std::string& text : settings) {
    const StatedSize setting = setting_of(text);
    if (!given.contains(setting.name)) sizes[setting.name] = stated_number(setting);
  }
  return sizes;
}

// Wraps a text to lines that fit a terminal, all of them indented.
std::string wrapped(const std::string& text, int indent) {
  constexpr std::size_t columns = 110;
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  std::istringstream words(text);
  std::string out;
  std::string line = margin;
  for (std::string word; words >> word; line += word) {
    if (line.size() + 1 + word.size() > columns) {
      out += line + '\n';
      line = margin;
    }
    if (line.size() > margin.size()) line += ' ';
  }
  return out + line + '\n';
}

// Returns the help of each operator: how it is written, and below that its meaning and the tensors that its backward
// pass needs.
std::string operator_help() {
  std::string out;
  for (const block::OperatorRow& row : block::operators()) {
    const char* const label = row.kept == "has no derivative" ? "" : "kept for backward: ";
    out += wrapped(std::string(row.use), 2) + wrapped(fmt::format("{}; {}{}", row.meaning, label, row.kept), 6);
  }
  return out;
}

}  // namespace

CommandOutput run_block(std::span<const std::string> arguments, const Surroundings& /*surroundings*/) {
  std::string file;
  std::vector<std::string> settings;
  std::string format_name;
  std::string data;
  CommandSyntax syntax("mirfak block FILE|NAME [OPTION]...",
                       "Shows what follows from the text of a block: shapes, the backward graph, what is kept for it,\n"
                       "parameters and FLOPs. The language is on one page, sim/description/block/README.md.\n"
                       "Its operators:\n\n" +
                           operator_help());
  syntax.operand = &file;
  auto add = syntax.options.add_options();
  add("set", po::value(&settings)->composing()->value_name("SIZE=NUMBER"),
      "set a size, or the name or path of a block that this block takes; may be repeated");
  add("format", po::value(&format_name)->default_value("text")->value_name("text|json"), "what to print");
  add("data", data_folder_option(data), "holds models/ and hw_profiles/");
  if (const auto help = read_arguments(syntax, arguments)) return {*help, {}};

  const OutputFormat format = format_choice(format_name);
  block::Library library(data_folders(data).models / "blocks");
  block::DefinitionPointer definition = library.find(file, {});
  const block::Definitions given = given_blocks(library, *definition->block, settings);
  if (!given.empty()) definition = library.find(file, {}, given);
  const Location asked_at = settings.empty() ? Location{} : Location{"--set", 0, 0};
  const block::Sizes sizes = block::complete_sizes(*definition, chosen_sizes(*definition, given, settings), asked_at);
  const OperatorGraph graph = with_backward(block::compile(*definition, sizes, {}), {.fused_accumulation = true});
  return {format == OutputFormat::text ? block_text(*definition, graph) : printed_json(block_json(*definition, graph)),
          {}};
}

}  // namespace mirfak
