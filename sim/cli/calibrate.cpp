#include "calibration/calibration.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "calibration/profile_text.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/options.hpp"
#include "report/calibration_report.hpp"
#include "report/staged_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace mirfak {

namespace {

namespace po = boost::program_options;

struct CalibrateOptions {
  std::vector<std::string> files;
  std::string gpu;
  std::string link;
  std::string precision;
  std::vector<std::string> only;
  std::string out;
  std::string source;
  bool score = false;
  std::string format;
  std::string data;
};

CommandSyntax syntax_for(CalibrateOptions& options) {
  CommandSyntax syntax(
      "mirfak calibrate TABLE.csv... --gpu NAME [OPTION]...",
      "Fits the constants of the cost models to tables of measured kernels or collectives, recognised\n"
      "by their columns. A third of the shapes, chosen by a hash, is kept out of the fit and scored.\n"
      "The tables are described in sim/calibration/README.md.");
  syntax.operands = &options.files;
  auto add = syntax.options.add_options();
  add("gpu", po::value(&options.gpu)->value_name("NAME"), "what the kernels ran on");
  add("link", po::value(&options.link)->value_name("NAME"), "what the collectives ran over");
  add("precision", po::value(&options.precision)->value_name("NAME"), "of the rows, where the table does not say");
  add("only", po::value(&options.only)->value_name("COLUMN=VALUE"), "leave out all other rows; may be repeated");
  add("out", po::value(&options.out)->value_name("PROFILE.yaml"),
      "put the constants, their source and errors into this profile; a new file gets nothing else");
  add("source", po::value(&options.source)->value_name("TEXT"), "where the tables are from, for the profile");
  add("score", po::bool_switch(&options.score), "fit nothing: score the constants that the profile has");
  add("format", po::value(&options.format)->default_value("text")->value_name("text|json"), "what to print");
  add("data", po::value(&options.data)->default_value(default_data_folder().string())->value_name("FOLDER"),
      "holds models/ and hw_profiles/");
  return syntax;
}

RowFilter filter_of(const std::string& text) {
  const std::size_t sign = text.find('=');
  if (sign == std::string::npos || sign == 0) {
    fail_input({}, fmt::format("--only {}: expected COLUMN=VALUE", excerpt(text)));
  }
  return {text.substr(0, sign), text.substr(sign + 1)};
}

std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_profile(const std::filesystem::path& path, const std::vector<FittedSection>& sections) {
  StagedFile file(path);
  std::error_code ignored;
  const std::string before = std::filesystem::exists(path, ignored) ? text_of_file(path) : std::string();
  std::ofstream out(file.path(), std::ios::binary);
  out << with_sections(before, sections);
  out.close();
  if (!out) fail_internal(fmt::format("cannot write '{}': is the disk full?", path.string()));
  file.commit();
}

}  // namespace

CommandOutput run_calibrate(std::span<const std::string> arguments, const Surroundings& /*surroundings*/) {
  CalibrateOptions options;
  if (const auto help = read_arguments(syntax_for(options), arguments)) return {*help, {}};
  const OutputFormat format = format_choice(options.format);
  const Catalog catalog(data_folders(options.data).hardware);
  CalibrationTarget target{catalog, options.gpu, options.link, {}, {}, options.source, options.score};
  if (!options.precision.empty()) {
    target.precision = static_cast<Precision>(choice("--precision", options.precision, precision_names()));
  }
  for (const std::string& text : options.only) target.filters.push_back(filter_of(text));

  if (options.score && !options.out.empty()) fail_input({}, "--score writes nothing: leave out --out");

  std::vector<CsvTable> tables;
  for (const std::string& file : options.files) tables.push_back(CsvTable::from_file(file));
  const std::vector<FittedSection> sections = calibrate(std::move(tables), target);
  if (!options.out.empty()) write_profile(options.out, sections);
  return {format == OutputFormat::json ? calibration_json(sections).dump(2) + "\n" : calibration_text(sections), {}};
}

}  // namespace mirfak
