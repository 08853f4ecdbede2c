#include "scenario/assertions.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "simulation/summary_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

const std::vector<RuleFieldInfo>& result_fields() {
  static const std::vector<RuleFieldInfo> fields = [] {
    std::vector<RuleFieldInfo> out;
    for (const SummaryValue& value : result_values({})) {
      out.push_back({value.key, "", value.truth ? RuleType::truth : RuleType::number, nullptr, {}, value.whole});
    }
    return out;
  }();
  return fields;
}

RuleVocabulary result_vocabulary() {
  return {result_fields(), "assertions name the single figures of --format json", "iteration_time_s < 20",
          "iteration_time_s < 20 or fits"};
}

std::vector<double> numbers_of(const std::vector<SummaryValue>& values) {
  std::vector<double> out;
  for (const SummaryValue& value : values) out.push_back(value.number);
  return out;
}

void require_known(const RuleExpression& assertion, const std::vector<SummaryValue>& values) {
  for (const std::uint16_t named : assertion.named()) {
    if (values[named].known) continue;
    fail_input(assertion.where(),
               fmt::format("assert: '{}': {} is not known of this job", assertion.text(), values[named].key),
               "null in --format json; give what it follows from (a price, training.tokens, cluster.pue), or leave the "
               "assertion out");
  }
}

// "iteration_time_s is 16.003, 1 (6.7 %) above 15"
std::string excess_text(const RuleExpression::Comparison& comparison) {
  const double difference = comparison.left - comparison.right;
  const std::string_view left = std::string_view(comparison.text).substr(0, comparison.text.find_first_of("<>=!"));
  std::string out = fmt::format("{} is {:.6g}", trimmed(left), comparison.left);
  if (difference == 0) return out + ", exactly the limit";
  out += fmt::format(", {:.3g}", std::abs(difference));
  if (comparison.right != 0) out += fmt::format(" ({})", format_percent(std::abs(difference / comparison.right)));
  return out + fmt::format(" {} {:.6g}", difference > 0 ? "above" : "below", comparison.right);
}

// What of it does not hold: its comparisons that do not, or where these decide nothing, all of it.
std::string fault_text(const RuleExpression& assertion, const std::vector<double>& numbers) {
  std::string out;
  for (const RuleExpression::Comparison& comparison : assertion.comparisons(numbers)) {
    if (!comparison.holds) out += (out.empty() ? "" : "; ") + excess_text(comparison);
  }
  return out.empty() ? "is false" : out;
}

// Both ends of what the prediction may be.
struct Ends {
  std::vector<double> low;
  std::vector<double> high;
};

Ends ends_of(const Job& job, const IterationResult& result) {
  const bool ranged = result.iteration_time_high_s > 0;
  const bool sized = result.memory_peak_high_bytes > 0;
  const auto at = [&](double seconds, double bytes) {
    return numbers_of(result_values_at(result, job.cluster.facility(), ranged ? seconds : result.iteration_time_s,
                                       sized ? bytes : result.memory_peak_bytes));
  };
  return {at(result.iteration_time_low_s, result.memory_peak_low_bytes),
          at(result.iteration_time_high_s, result.memory_peak_high_bytes)};
}

}  // namespace

Assertions read_assertions(const Node& node) {
  Assertions out;
  if (node.is_scalar()) {
    out.push_back(RuleExpression::parse(node, result_vocabulary()));
    return out;
  }
  for (const Node& item : node.as_items()) out.push_back(RuleExpression::parse(item, result_vocabulary()));
  return out;
}

AssertionResult check_assertions(const Assertions& assertions, const Job& job, const IterationResult& result) {
  AssertionResult out;
  if (assertions.empty()) return out;
  const std::vector<SummaryValue> values = result_values(result, job.cluster.facility());
  const std::vector<double> numbers = numbers_of(values);
  const Ends ends = ends_of(job, result);
  for (const RuleExpression& assertion : assertions) {
    require_known(assertion, values);
    const bool holds = assertion.holds(numbers);
    const bool differs = assertion.holds(ends.low) != holds || assertion.holds(ends.high) != holds;
    const std::string place = assertion.where().text();
    if (holds && differs) {
      out.close.push_back(fmt::format("{}: assert: '{}' holds, but not everywhere in the range of the prediction",
                                      place, assertion.text()));
    }
    if (holds) continue;
    out.broken.push_back(
        {fmt::format("{}: '{}' does not hold: {}{}", place, assertion.text(), fault_text(assertion, numbers),
                     differs ? "; within the range of the prediction it may" : ""),
         differs});
  }
  return out;
}

std::string broken_text(const AssertionResult& result) {
  if (result.broken.size() == 1) return "assert: " + result.broken.front().text;
  std::string out = fmt::format("{} assertions do not hold", result.broken.size());
  for (const BrokenAssertion& broken : result.broken) out += "\n  " + broken.text;
  return out;
}

}  // namespace mirfak
