#include "cli/options.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/written_number.hpp"
#include "import/number_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mirfak {

namespace {

constexpr std::string_view kTime = "time_s";  // a key whose numbers are seconds

// Returns "usage: ...". If the line is too long for a screen, its last word has a line of its own.
std::string usage_text(const CommandSyntax& syntax) {
  constexpr std::size_t width = 120;
  std::string out = "usage: " + syntax.usage;
  if (out.size() > width) out.replace(out.rfind(' '), 1, "\n         ");
  return out;
}

namespace po = boost::program_options;

constexpr const char* kOperand = "operand";  // name by which Boost knows the operand
constexpr unsigned kHelpColumns = 100;

// Accepts options in full only: an abbreviation that works today is ambiguous after the next option is added.
constexpr int kStyle = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;

std::function<void(const CommandSyntax&)>& observer() {
  thread_local std::function<void(const CommandSyntax&)> visit;
  return visit;
}

std::string help(const CommandSyntax& syntax) {
  std::ostringstream out;
  out << usage_text(syntax) << "\n\n" << syntax.purpose << "\n\n" << syntax.options;
  return out.str();
}

[[noreturn]] void refuse_option(const CommandSyntax& syntax, const std::string& option) {
  std::vector<std::string> names;
  for (const auto& known : syntax.options.options()) names.push_back("--" + known->long_name());
  fail_input({}, fmt::format("unknown option '{}'", excerpt(option)), did_you_mean(option, names, usage_text(syntax)));
}

void refuse_empty_values(const po::option& option) {
  const bool empty = std::any_of(option.value.begin(), option.value.end(), [](const auto& v) { return v.empty(); });
  if (!empty) return;
  fail_input({}, option.position_key >= 0 ? "an argument is empty" : fmt::format("--{}: empty", option.string_key));
}

// True for names such as "FILE.json", "R.h5", "MACHINE.csv".
bool is_file_name(const std::string& value) {
  static const std::vector<std::string> endings = {".csv", ".h5", ".html", ".json", ".md", ".yaml", ".yml", "FILE"};
  return std::any_of(endings.begin(), endings.end(), [&](const std::string& end) { return value.ends_with(end); });
}

// Fails for a file option that is not declared: check_files() would not see its files.
void refuse_undeclared_files(const CommandSyntax& syntax) {
  for (const auto& option : syntax.options.options()) {
    const std::string value = option->semantic()->name();
    const bool declared = std::any_of(syntax.file_options.begin(), syntax.file_options.end(),
                                      [&](const auto& file) { return file.name == option->long_name(); });
    if (declared || !is_file_name(value.substr(0, value.find(' ')))) continue;
    fail_internal(
        fmt::format("--{} names a file and is not declared with add_file() or add_files()", option->long_name()));
  }
}

std::vector<FileArgument> files_of(const CommandSyntax& syntax, std::span<const std::string> operands) {
  std::vector<FileArgument> out;
  for (const std::string& operand : operands) out.push_back({FileRole::input, "the argument", operand});
  for (const CommandSyntax::FileOption& option : syntax.file_options) {
    if (option.role == FileRole::as_added) continue;
    for (const std::string& path : option.given()) out.push_back({option.role, "--" + option.name, path});
  }
  if (syntax.more_files) syntax.more_files(out);
  return out;
}

// True if nothing that follows the argument belongs to it: the argument is a value, an operand, or an option without a
// value.
bool stands_alone(const std::string& argument, const po::options_description& options) {
  if (!argument.starts_with("-") || argument.find('=') != std::string::npos) return true;
  const po::option_description* const option =
      argument.starts_with("--") ? options.find_nothrow(argument.substr(2), false) : nullptr;
  return option != nullptr && option->semantic()->max_tokens() == 0;
}

// Parses the arguments piece by piece. Boost takes each word from the front of a list of all words, so that its time
// grows with the square of their number.
po::parsed_options parsed(std::span<const std::string> arguments, const po::options_description& options,
                          const po::positional_options_description& positions) {
  constexpr std::size_t kPiece = 64;
  po::parsed_options out(&options, po::command_line_style::allow_long);
  for (std::size_t begin = 0; begin < arguments.size();) {
    std::size_t end = std::min(begin + kPiece, arguments.size());
    while (end < arguments.size() && !stands_alone(arguments[end - 1], options)) ++end;
    const auto piece = arguments.subspan(begin, end - begin);
    const auto ends_options = [&](const std::string& argument) {
      return argument == "--" && (&argument == piece.data() || stands_alone(*(&argument - 1), options));
    };
    const auto terminator = std::find_if(piece.begin(), piece.end(), ends_options);
    po::command_line_parser parser(std::vector<std::string>(piece.begin(), terminator));
    const po::parsed_options of_piece = parser.options(options).positional(positions).style(kStyle).run();
    out.options.insert(out.options.end(), of_piece.options.begin(), of_piece.options.end());
    begin = end;
    if (terminator == piece.end()) continue;
    // Adds all arguments after "--" as operands.
    const auto first = arguments.begin() + (begin - piece.size()) + (terminator - piece.begin()) + 1;
    for (auto at = first; at != arguments.end(); ++at) {
      out.options.emplace_back(kOperand, std::vector<std::string>{*at});
      out.options.back().position_key = 0;
    }
    break;
  }
  return out;
}

// Refuses options that are given more often than a person writes them; so many values belong into a file.
void refuse_too_many(const po::parsed_options& parsed) {
  constexpr std::size_t kMost = 10'000;
  std::map<std::string, std::size_t> counts;
  for (const po::option& option : parsed.options) {
    if (option.position_key >= 0 || ++counts[option.string_key] <= kMost) continue;
    fail_input({}, fmt::format("--{}: given more than {} times", option.string_key, kMost), "write a file instead");
  }
}

std::vector<std::string>& outputs() {
  thread_local std::vector<std::string> files;
  return files;
}

// Endings that stand for one format; those of YAML and of pages have two spellings.
bool stands_for_a_format(const std::string& ending) {
  static const std::vector<std::string> endings = {".csv", ".docx", ".gz",   ".h5",  ".hdf5", ".htm", ".html",
                                                   ".jpg", ".json", ".md",   ".pdf", ".png",  ".ps",  ".pickle",
                                                   ".svg", ".txt",  ".xlsx", ".xml", ".yaml", ".yml", ".zip"};
  return std::find(endings.begin(), endings.end(), ending) != endings.end();
}

// True for two endings of one format, and for the two formats of a report: Markdown and a page.
bool is_alike(const std::string& one, const std::string& other) {
  static const std::vector<std::vector<std::string>> alike = {
      {".yaml", ".yml", ".json"}, {".html", ".htm"}, {".h5", ".hdf5"}, {".md", ".html"}, {".csv", ".txt"}};
  const auto has = [](const std::vector<std::string>& endings, const std::string& ending) {
    return std::find(endings.begin(), endings.end(), ending) != endings.end();
  };
  return one == other || std::any_of(alike.begin(), alike.end(), [&](const std::vector<std::string>& endings) {
           return has(endings, one) && has(endings, other);
         });
}

// Refuses an output such as --report x.pdf, which would hold HTML.
void refuse_other_endings(const CommandSyntax& syntax) {
  for (const CommandSyntax::FileOption& option : syntax.file_options) {
    const std::string written = std::filesystem::path(option.value).extension().string();
    if (option.role != FileRole::output || written.empty()) continue;
    for (const std::string& path : option.given()) {
      const std::string ending = std::filesystem::path(path).extension().string();
      if (is_alike(written, ending) || !stands_for_a_format(ending)) continue;
      fail_input({},
                 fmt::format("--{} {}: the file would not be what {} stands for", option.name, excerpt(path), ending),
                 fmt::format("give it a name that ends in {}", written));
    }
  }
}

constexpr const char* kStandardInput = "/dev/stdin";

// Keeps what comes through standard input in memory, so that a file can be read from it more than once.
void keep_standard_input() {
  struct stat status {};
  if (fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode)) return;
  const int kept = memfd_create("standard input", MFD_CLOEXEC);
  if (kept < 0) fail_internal("this machine cannot keep standard input in memory");
  std::array<char, std::size_t{1} << 16> block;
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_input({"-", 0, 0}, "standard input cannot be read", std::strerror(errno));
    if (got == 0) break;
    for (ssize_t done = 0; done < got;) {
      const ssize_t put = ::write(kept, block.data() + done, static_cast<std::size_t>(got - done));
      if (put < 0) fail_internal(fmt::format("standard input cannot be kept in memory: {}", std::strerror(errno)));
      done += put;
    }
  }
  if (dup2(kept, STDIN_FILENO) < 0) fail_internal("standard input cannot be kept in memory");
  ::close(kept);
}

// Replaces the operand "-" by the name of standard input.
void take_standard_input(std::vector<std::string>& operands) {
  const auto dashes = std::count(operands.begin(), operands.end(), "-");
  if (dashes == 0) return;
  if (dashes > 1) fail_input({}, "standard input is one file, and - stands there twice", "give the other by its name");
  keep_standard_input();
  std::replace(operands.begin(), operands.end(), std::string("-"), std::string(kStandardInput));
}

}  // namespace

const std::vector<std::string>& named_outputs() { return outputs(); }

void CommandSyntax::add_file(FileRole role, const char* name, std::string& path, const char* value,
                             const char* sentence) {
  options.add_options()(name, po::value(&path)->value_name(value), sentence);
  file_options.push_back(
      {role, name, value, [&path] { return path.empty() ? std::vector<std::string>{} : std::vector{path}; }});
}

void CommandSyntax::add_files(FileRole role, const char* name, std::vector<std::string>& paths, const char* value,
                              const char* sentence) {
  options.add_options()(name, po::value(&paths)->value_name(value), sentence);
  file_options.push_back({role, name, value, [&paths] { return paths; }});
}

CommandSyntax::CommandSyntax(std::string usage_line, std::string purpose_text)
    : usage(std::move(usage_line)), purpose(std::move(purpose_text)), options(kHelpColumns, kHelpColumns / 2) {
  options.add_options()("help", "show this help");
}

SyntaxObserver::SyntaxObserver(std::function<void(const CommandSyntax&)> visit) { observer() = std::move(visit); }

SyntaxObserver::~SyntaxObserver() { observer() = nullptr; }

std::optional<std::string> read_arguments(const CommandSyntax& syntax, std::span<const std::string> arguments) {
  refuse_undeclared_files(syntax);
  if (observer()) {
    observer()(syntax);
    return "";
  }
  const auto asks_for_help = [](const std::string& argument) { return argument == "--help" || argument == "-h"; };
  if (std::any_of(arguments.begin(), arguments.end(), asks_for_help)) return help(syntax);

  const auto usage = [&] { return usage_text(syntax); };
  std::vector<std::string> operands;
  po::options_description all;
  all.add(syntax.options).add_options()(kOperand, po::value(&operands));
  po::positional_options_description positions;
  positions.add(kOperand, -1);
  try {
    po::variables_map values;
    const po::parsed_options read = parsed(arguments, all, positions);
    for (const po::option& option : read.options) refuse_empty_values(option);
    refuse_too_many(read);
    po::store(read, values);
    po::notify(values);
  } catch (const po::unknown_option& error) {
    refuse_option(syntax, error.get_option_name());
  } catch (const po::error& error) {
    fail_input({}, excerpt(error.what(), 200), usage());
  }

  const std::size_t expected = syntax.operand != nullptr || syntax.operands != nullptr ? 1 : 0;
  if (operands.size() > expected && syntax.operands == nullptr) {
    fail_input({}, fmt::format("unexpected argument '{}'", excerpt(operands[expected])), usage());
  }
  const bool replaced = std::any_of(syntax.instead_of_operands.begin(), syntax.instead_of_operands.end(),
                                    [](const std::string* value) { return !value->empty(); });
  if (operands.size() < expected && !replaced && !syntax.operand_optional)
    fail_input({}, "an argument is missing", usage());
  take_standard_input(operands);
  const std::vector<FileArgument> files = files_of(syntax, operands);
  check_files(files);
  refuse_other_endings(syntax);
  outputs().clear();
  for (const FileArgument& file : files) {
    if (file.role == FileRole::output) outputs().push_back(file.path.string());
  }
  if (syntax.operand != nullptr && !operands.empty()) *syntax.operand = operands.front();
  if (syntax.operands != nullptr) *syntax.operands = std::move(operands);
  return std::nullopt;
}

std::size_t choice(std::string_view option, const std::string& value, std::span<const std::string> names) {
  const auto found = std::find(names.begin(), names.end(), value);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  fail_input({}, fmt::format("{}: expected {}, found '{}'", option, join_or(names), excerpt(value)),
             did_you_mean(value, names, ""));
}

std::optional<double> seconds_in(std::string_view text) {
  const std::optional<double> plain = number_of(text);
  return plain ? plain : written_number(text, kTime);
}

std::string hint_on_times() {
  return fmt::format("seconds, or a number with one of the units {}", units_of_written_number(kTime));
}

OutputFormat format_choice(const std::string& value) {
  static const std::vector<std::string> names = {"text", "json"};
  return static_cast<OutputFormat>(choice("--format", value, names));
}

OutputFormat format_or_csv_choice(const std::string& value) {
  static const std::vector<std::string> names = {"text", "json", "csv"};
  return static_cast<OutputFormat>(choice("--format", value, names));
}

}  // namespace mirfak
