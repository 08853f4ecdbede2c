#include "validation/run_condition.hpp"

#include "base/text.hpp"
#include "formula/evaluate.hpp"
#include "validation/value_template.hpp"

#include <algorithm>

namespace mirfak {

namespace {

std::optional<std::string> count_of(const RunReading& reading, std::string_view name) {
  const bool replicas = name == "replicas";
  if ((!replicas && name != "data") || reading.data() == 0) return std::nullopt;
  const std::int64_t context = reading.whole_number("strategy.context").value_or(1);
  return std::to_string(reading.data() * (replicas ? context : 1));
}

bool holds(const Predicate& predicate, const RunReading& reading) {
  using Kind = Predicate::Kind;
  std::vector<std::string> words;
  if (const std::vector<std::string>* cell = reading.words(predicate.name)) {
    words = *cell;
  } else if (const auto value = meaning_of(reading, predicate.name)) {
    words = {*value};
  }
  const bool stated = !words.empty() || reading.find(predicate.name) != nullptr;
  if (predicate.kind == Kind::open) return !stated;
  if (predicate.kind == Kind::stated) return stated;
  const auto lookup = [&](const std::string& name) { return meaning_of(reading, name); };
  if (predicate.kind == Kind::words) {
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
      return std::any_of(predicate.words.begin(), predicate.words.end(),
                         [&](const WordPattern& pattern) { return pattern.match(word).has_value(); });
    });
  }
  const std::optional<std::string> bound = filled_in(predicate.bound, lookup);
  if (predicate.by == formula::Operation::not_equal) {
    return bound && std::none_of(words.begin(), words.end(),
                                 [&](const std::string& word) { return lower_case(word) == lower_case(*bound); });
  }
  if (words.empty() || !bound) return false;
  const std::optional<double> left = number_of(words.front());
  const std::optional<double> right = number_of(*bound);
  return left && right && formula::compared(predicate.by, *left, *right);
}

}  // namespace

std::optional<std::string> meaning_of(const RunReading& reading, const std::string& name) {
  const std::string cell = reading.cell(name);
  if (!cell.empty()) return cell;
  if (auto key = reading.text(name)) return key;
  return count_of(reading, name);
}

bool holds(const Condition& condition, const RunReading& reading) {
  return std::all_of(condition.begin(), condition.end(),
                     [&](const Predicate& predicate) { return holds(predicate, reading); });
}

}  // namespace mirfak
