#include "import/slurm_nodes.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace mirfak {

namespace {

// Words of a state in which a node takes jobs; every other word excludes jobs.
constexpr std::array<std::string_view, 26> kUsable = {
    "idle",         "alloc",    "allocated",  "mix",       "mixed",       "comp",         "completing",
    "resv",         "reserved", "plnd",       "planned",   "cloud",       "powered_down", "powering_down",
    "powering_up",  "power_up", "power_down", "pow_up",    "pow_dn",      "powered_up",   "reboot_requested",
    "dynamic_norm", "npc",      "perfctrs",   "powerdown", "power_saving"};

bool is_nothing(std::string_view text) { return text.empty() || text == "(null)" || text == "N/A" || text == "n/a"; }

// Splits at commas outside of parentheses.
std::vector<std::string_view> resources_of(std::string_view text, const Location& where) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  int open = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++open;
    if (text[i] == ')') --open;
    if (text[i] != ',' || open != 0) continue;
    out.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  if (open != 0) {
    fail_input(where, fmt::format("'{}': a parenthesis is not closed", excerpt(text)),
               "the column is cut: print it wider, as with -o \"%n %G\"");
  }
  out.push_back(text.substr(begin));
  return out;
}

// Parses "gpu:h100:8", "gpu:8" or "gpu".
SlurmGpus gpus_of_resource(std::string_view text, const Location& where) {
  SlurmGpus out;
  const std::string_view inside = text.size() > 4 ? text.substr(4) : std::string_view{};
  const std::size_t colon = inside.rfind(':');
  const std::string_view digits = colon == std::string_view::npos ? inside : inside.substr(colon + 1);
  if (colon != std::string_view::npos) out.name = std::string(inside.substr(0, colon));
  if (text == "gpu") {
    out.count = 1;
    return out;
  }
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.count);
  if (error != std::errc{} || end != digits.data() + digits.size() || out.count < 0 || out.count > 1024) {
    fail_input(where, fmt::format("'{}': expected gpu:TYPE:NUMBER", excerpt(text)),
               "if the column is cut, print a wider column");
  }
  return out;
}

}  // namespace

SlurmGpus slurm_gpus(std::string_view text, const Location& where) {
  SlurmGpus out;
  if (is_nothing(text)) return out;
  for (const std::string_view resource : resources_of(text, where)) {
    const std::string_view bare = resource.substr(0, resource.find('('));
    if (bare != "gpu" && !bare.starts_with("gpu:")) continue;
    const SlurmGpus one = gpus_of_resource(bare, where);
    out.several = out.several || (out.count > 0 && one.name != out.name);
    if (out.count == 0) out.name = one.name;
    out.count += one.count;
  }
  return out;
}

bool is_usable_state(std::string_view state) {
  // The suffixes mean: not responding, in maintenance.
  if (state.ends_with('*') || state.ends_with('$')) return false;
  while (!state.empty() && std::string_view("~#!%@^-").find(state.back()) != std::string_view::npos)
    state.remove_suffix(1);
  std::string word;
  bool usable = !state.empty();
  const auto end_word = [&] {
    usable = usable && std::find(kUsable.begin(), kUsable.end(), word) != kUsable.end();
    word.clear();
  };
  for (const char letter : state) {
    if (letter == '+') end_word();
    if (letter != '+') word += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  end_word();
  return usable;
}

std::vector<std::string> slurm_list(std::string_view text) {
  std::vector<std::string> out;
  while (!is_nothing(text)) {
    const std::size_t comma = std::min(text.find(','), text.size());
    out.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return out;
}

}  // namespace mirfak
