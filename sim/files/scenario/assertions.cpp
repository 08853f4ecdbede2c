#include "scenario/assertions.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "simulation/figures.hpp"
#include "training/training_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

formula::Name name_of(std::string_view name, const FigureInfo& figure) {
  return {name, figure.label, figure.truth ? formula::Type::truth : formula::Type::number, nullptr, figure.whole};
}

// The figures that assertions can name: the figures of an iteration, then the figures of a whole training.
struct Figures {
  std::size_t of_iteration = 0;
  std::vector<std::string> training_names;
  std::vector<formula::Name> names;
};

const Figures& figures() {
  static const Figures made = [] {
    Figures out;
    for (const IterationFigure& figure : iteration_figures()) out.names.push_back(name_of(figure.key, figure));
    out.of_iteration = out.names.size();
    for (const TrainingFigure& figure : training_figures()) out.training_names.push_back("train." + figure.key);
    for (std::size_t i = 0; i < out.training_names.size(); ++i) {
      out.names.push_back(name_of(out.training_names[i], training_figures()[i]));
    }
    return out;
  }();
  return made;
}

formula::Vocabulary result_vocabulary() {
  return {figures().names,
          "assertions name the single figures of --format json: of mirfak simulate as they are, of mirfak train after "
          "'train.'",
          "iteration_time_s < 20", "iteration_time_s < 20 or fits", ""};
}

bool is_of_training(const formula::Condition& assertion) {
  const auto& named = assertion.named();
  return std::any_of(named.begin(), named.end(), [](std::uint16_t field) { return field >= figures().of_iteration; });
}

std::vector<double> numbers_of(const std::vector<FigureValue>& values) {
  std::vector<double> out;
  for (const FigureValue& value : values) out.push_back(value.number);
  return out;
}

void require_known(const formula::Condition& assertion, const std::vector<FigureValue>& values) {
  for (const std::uint16_t named : assertion.named()) {
    if (values[named].known) continue;
    fail_input(assertion.where(),
               fmt::format("assert: '{}': {} is not known of this job", assertion.text(), figures().names[named].name),
               "null in --format json; give what it follows from (a price, training.tokens, cluster.pue), or leave the "
               "assertion out");
  }
}

// Returns "iteration_time_s is 16.003, 1 (6.7 %) above 15"
std::string excess_text(const formula::Condition::Comparison& comparison) {
  const double difference = comparison.left - comparison.right;
  const std::string_view left = std::string_view(comparison.text).substr(0, comparison.text.find_first_of("<>=!"));
  std::string out = fmt::format("{} is {:.6g}", trimmed(left), comparison.left);
  if (difference == 0) return out + ", exactly the limit";
  out += fmt::format(", {:.3g}", std::abs(difference));
  if (comparison.right != 0) out += fmt::format(" ({})", format_percent(std::abs(difference / comparison.right)));
  return out + fmt::format(" {} {:.6g}", difference > 0 ? "above" : "below", comparison.right);
}

// Returns the text of an assertion's fault: the comparisons that do not hold, or "is false" if all comparisons hold.
std::string fault_text(const formula::Condition& assertion, const std::vector<double>& numbers) {
  std::string out;
  for (const formula::Condition::Comparison& comparison : assertion.comparisons(numbers)) {
    if (!comparison.holds) out += (out.empty() ? "" : "; ") + excess_text(comparison);
  }
  return out.empty() ? "is false" : out;
}

// The figures of a result, and their values at both ends of the prediction's range.
struct Known {
  std::vector<FigureValue> values;
  std::vector<double> low;
  std::vector<double> high;
};

Known known_of(const Job& job, const IterationResult& result) {
  const Facility& facility = job.cluster.facility();
  const bool ranged = result.iteration_time_high_s > 0;
  const bool sized = result.memory_peak_high_bytes > 0;
  const auto at = [&](double seconds, double bytes, double energy_j, double machine_j) {
    const double at_s = ranged ? seconds : result.iteration_time_s;
    const double longer = at_s / result.iteration_time_s;
    // Energies are made longer with the time, too, and end at the ends of their own ranges.
    IterationResult there = result;
    if (energy_j > 0) there.energy_j = energy_j / longer;
    if (machine_j > 0) {
      const double factor = machine_j / longer / result.machine_energy_j;
      for (double* of : {&there.machine_energy_j, &there.facility_energy_j, &there.co2_kg}) *of *= factor;
    }
    return numbers_of(figure_values_at(there, facility, at_s, sized ? bytes : result.memory_peak_bytes));
  };
  return {
      figure_values(result, facility),
      at(result.iteration_time_low_s, result.memory_peak_low_bytes, result.energy_low_j, result.machine_energy_low_j),
      at(result.iteration_time_high_s, result.memory_peak_high_bytes, result.energy_high_j,
         result.machine_energy_high_j)};
}

void add_training(const Job& job, const TrainingPrediction& prediction, Known& out) {
  constexpr double errors = 2;  // standard errors: results are nearly always within them
  const Facility& facility = job.cluster.facility();
  for (const FigureValue& value : training_values(prediction, facility)) out.values.push_back(value);
  for (const double number : numbers_of(training_values_at(prediction, facility, -errors))) out.low.push_back(number);
  for (const double number : numbers_of(training_values_at(prediction, facility, errors))) out.high.push_back(number);
}

void check_assertion(const formula::Condition& assertion, const Known& known, AssertionResult& out) {
  require_known(assertion, known.values);
  const std::vector<double> numbers = numbers_of(known.values);
  const bool holds = assertion.holds(numbers);
  const bool differs = assertion.holds(known.low) != holds || assertion.holds(known.high) != holds;
  const std::string place = assertion.where().text();
  const bool by_chance = is_of_training(assertion);
  if (holds && differs) {
    out.notes.push_back(
        fmt::format("{}: assert: '{}' holds, but not everywhere {}", place, assertion.text(),
                    by_chance ? "within two standard errors: more --samples" : "in the range of the prediction"));
  }
  if (holds) return;
  const char* const may = !differs    ? ""
                          : by_chance ? "; within two standard errors it may: more --samples"
                                      : "; within the range of the prediction it may";
  out.broken.push_back(
      {fmt::format("{}: '{}' does not hold: {}{}", place, assertion.text(), fault_text(assertion, numbers), may),
       differs});
}

}  // namespace

Assertions read_assertions(const Node& node) {
  Assertions out;
  if (node.is_scalar()) {
    out.push_back(formula::Condition::parse(node, result_vocabulary()));
    return out;
  }
  for (const Node& item : node.as_items()) out.push_back(formula::Condition::parse(item, result_vocabulary()));
  return out;
}

namespace {

AssertionResult check_on_iteration(const Assertions& assertions, const Known& known) {
  AssertionResult out;
  for (const formula::Condition& assertion : assertions) {
    if (is_of_training(assertion)) {
      out.notes.push_back(
          fmt::format("{}: assert: '{}' is not checked: it is of a whole training, which mirfak train "
                      "simulates",
                      assertion.where().text(), assertion.text()));
    } else {
      check_assertion(assertion, known, out);
    }
  }
  return out;
}

}  // namespace

AssertionResult check_assertions(const Assertions& assertions, const Job& job, const IterationResult& result) {
  if (assertions.empty()) return {};
  return check_on_iteration(assertions, known_of(job, result));
}

AssertionResult check_assertions(const Assertions& assertions, const std::vector<FigureValue>& values) {
  if (assertions.empty()) return {};
  return check_on_iteration(assertions, {values, numbers_of(values), numbers_of(values)});
}

AssertionResult check_assertions(const Assertions& assertions, const Job& job, const TrainingPrediction& prediction) {
  AssertionResult out;
  if (assertions.empty()) return out;
  Known known = known_of(job, prediction.iteration);
  add_training(job, prediction, known);
  for (const formula::Condition& assertion : assertions) check_assertion(assertion, known, out);
  return out;
}

std::vector<std::string> notes_unchecked(const Assertions& assertions) {
  if (assertions.empty()) return {};
  return {
      fmt::format("{}: assert: not checked here; mirfak simulate checks conditions on an iteration, mirfak train "
                  "those on the whole training too",
                  assertions.front().where().text())};
}

std::vector<std::string> notes_on_assertions(const AssertionResult& result) {
  std::vector<std::string> out;
  for (const BrokenAssertion& broken : result.broken) out.push_back("assert: " + broken.text);
  out.insert(out.end(), result.notes.begin(), result.notes.end());
  return out;
}

std::string broken_text(const AssertionResult& result) {
  if (result.broken.size() == 1) return "assert: " + result.broken.front().text;
  std::string out = fmt::format("{} assertions do not hold", result.broken.size());
  for (const BrokenAssertion& broken : result.broken) out += "\n  " + broken.text;
  return out;
}

}  // namespace mirfak
