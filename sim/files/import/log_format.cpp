#include "import/log_format.hpp"

#include "base/document.hpp"
#include "import/number_words.hpp"
#include "launch/option_list.hpp"

#include <array>
#include <utility>

namespace mirfak {

namespace {

LogFact read_fact(const Node& node) {
  Mapping keys(node);
  LogFact out;
  out.setting = keys.string_or("setting", "");
  out.in = keys.string_or("in", "");
  out.after = keys.string_or("after", "");
  out.until = keys.string_or("until", "");
  out.product = keys.words("product");
  out.key = keys.require("key").as_string();
  if (const std::optional<Node> words = keys.find("words")) {
    Mapping all(*words);
    for (const std::string& word : all.keys()) out.words[word] = all.require(word).as_string();
  }
  keys.finish();
  if (out.setting.empty() == out.in.empty()) node.fail("expected 'setting', or 'in' with 'after' or 'product'");
  return out;
}

constexpr std::array<std::pair<std::string_view, LogUnit>, 5> kUnits = {{
    {"seconds", LogUnit::seconds},
    {"milliseconds", LogUnit::milliseconds},
    {"samples_per_second", LogUnit::samples_per_second},
    {"tokens_per_second_per_gpu", LogUnit::tokens_per_second_per_gpu},
    {"steps_per_second", LogUnit::steps_per_second},
}};

LogTime read_time(const Node& node) {
  Mapping keys(node);
  LogTime out;
  out.in = keys.words("in");
  out.without = keys.string_or("without", "");
  out.step = keys.string_or("step", "");
  out.batch = keys.string_or("batch", "");
  for (const auto& [name, unit] : kUnits) {
    if (!keys.has(name)) continue;
    if (!out.value.empty()) node.fail("expected one unit of time");
    out.unit = unit;
    out.value = keys.require(name).as_string();
  }
  if (keys.bool_or("bar", false)) {
    if (!out.value.empty()) node.fail("a progress bar has no text in front of its time");
    out.unit = LogUnit::elapsed;
  } else if (out.value.empty() || out.in.empty()) {
    node.fail("expected 'in' with a unit of time such as 'seconds', or 'bar: true'");
  }
  keys.finish();
  return out;
}

LogFormat read_format(const std::string& program, const Node& node) {
  Mapping keys(node);
  LogFormat out;
  out.program = program;
  keys.ignore("source");
  out.reader = keys.string_or("reader", "");
  out.tells = keys.words("tells");
  out.begins = keys.words("begins");
  if (const std::optional<Node> table = keys.find("table")) {
    Mapping ends(*table);
    out.table_begin = ends.require("begin").as_string();
    out.table_end = ends.require("end").as_string();
    ends.finish();
  }
  out.json = keys.string_or("json", "");
  if (const std::optional<Node> facts = keys.find("facts")) {
    for (const Node& fact : facts->as_items()) out.facts.push_back(read_fact(fact));
  }
  for (const Node& time : keys.require("times").as_items()) out.times.push_back(read_time(time));
  keys.finish();
  return out;
}

// True if three digits, and no more, follow a comma.
bool separates_thousands(std::string_view behind) {
  std::size_t digits = 0;
  while (digits < behind.size() && is_digit(behind[digits])) ++digits;
  return digits == 3;
}

bool continues_number(std::string_view digits, char sign) {
  if (is_digit(sign) || sign == '.') return true;
  if (sign == 'e') return !digits.empty() && digits.find('e') == std::string_view::npos;
  return (sign == '-' || sign == '+') && (digits.empty() || digits.back() == 'e');
}

}  // namespace

LogFormats log_formats(const std::filesystem::path& hardware) {
  const Document& document = launch_facts(hardware, "logs");
  Mapping keys{Node(document)};
  LogFormats out;
  out.ranks = keys.require("ranks").as_words();
  Mapping programs(keys.require("programs"));
  for (const std::string& name : programs.keys()) out.programs.push_back(read_format(name, programs.require(name)));
  keys.finish();
  return out;
}

std::optional<double> number_behind(std::string_view line, std::string_view text, std::size_t* at) {
  std::size_t begin = line.find(text);
  if (begin == std::string_view::npos) return std::nullopt;
  begin = line.find_first_not_of(" \t'\":", begin + text.size());
  if (begin == std::string_view::npos) return std::nullopt;
  std::string digits;
  for (std::size_t i = begin; i < line.size(); ++i) {
    if (line[i] == ',' && !digits.empty() && separates_thousands(line.substr(i + 1))) continue;
    if (!continues_number(digits, line[i])) break;
    digits += line[i];
  }
  while (!digits.empty() && (digits.back() == '.' || digits.back() == 'e')) digits.pop_back();
  if (at != nullptr) *at = begin;
  return number_of(digits);
}

}  // namespace mirfak
