#include "import/adapter_targets.hpp"

#include "import/program_facts.hpp"

#include <algorithm>
#include <vector>

namespace mirfak {

namespace {

// Splits at a sign outside parentheses.
std::vector<std::string> split_outside(std::string_view text, char sign) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == sign && depth == 0) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

// Returns the names that a part with at most one group of alternatives stands for: "(up|down)_proj" is up_proj and
// down_proj.
std::vector<std::string> alternatives(const std::string& part) {
  const std::size_t open = part.find('(');
  const std::size_t close = part.find(')', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos) return {part};
  std::vector<std::string> out;
  for (const std::string& one : split_outside(part.substr(open + 1, close - open - 1), '|'))
    out.push_back(part.substr(0, open) + one + part.substr(close + 1));
  return out;
}

// Takes the parts of an expression away that may be missing, "(wrapper.)?", and the signs by which it says that any
// number or text stands at a place.
std::string without_wildcards(std::string_view word) {
  std::string out(word);
  for (std::size_t end = out.find(")?"); end != std::string::npos; end = out.find(")?")) {
    const std::size_t begin = out.rfind('(', end);
    if (begin == std::string::npos) break;
    out.erase(begin, end + 2 - begin);
  }
  for (const std::string_view wildcard : {"[\\d]+", "\\d+", "[0-9]+", ".*", "^", "$"}) {
    for (std::size_t at = out.find(wildcard); at != std::string::npos; at = out.find(wildcard))
      out.erase(at, wildcard.size());
  }
  std::erase(out, '\\');
  return out;
}

bool is_place(const std::string& part, const Value& places) {
  const std::vector<std::string> names = alternatives(part);
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return name.empty() || std::any_of(places.items.begin(), places.items.end(),
                                       [&](const Value& place) { return place.scalar == name; });
  });
}

}  // namespace

std::optional<std::set<std::string>> targets_of(std::string_view word, const Value& targets, const Value& places) {
  std::set<std::string> out;
  for (const std::string& choice : split_outside(word, '|')) {
    std::vector<std::string> parts = split_outside(without_wildcards(choice), '.');
    const std::string last = parts.back();
    parts.pop_back();
    const bool everywhere =
        std::all_of(parts.begin(), parts.end(), [&](const std::string& part) { return is_place(part, places); });
    if (!everywhere) return std::nullopt;
    for (const std::string& name : alternatives(last)) {
      const std::string layer = text_under(targets, name);
      if (layer.empty()) return std::nullopt;
      out.insert(layer);
    }
  }
  return out;
}

}  // namespace mirfak
