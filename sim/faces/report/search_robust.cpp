// The strategy with the least p90 of the time, next to the fastest strategy, and why the two differ.

#include "base/section.hpp"
#include "base/units.hpp"
#include "report/search_report.hpp"
#include "report/search_tables.hpp"
#include "report/strategy_columns.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kNamedShare = 1e-3;  // share of an iteration below which a cause is not named

// Returns the causes by which a strategy loses less, or more, than another.
std::string losses_text(const UncertainTime& robust, const UncertainTime& fastest, double iteration_s) {
  std::string out;
  const auto add = [&](const std::string& to, double own, double other) {
    if (std::abs(own - other) < kNamedShare * iteration_s) return;
    out += fmt::format("{}{} {} ({} instead of {})", out.empty() ? "" : ", ", own < other ? "less" : "more", to,
                       format_seconds(own), format_seconds(other));
  };
  for (std::size_t cause = 0; cause < kCauses; ++cause) {
    add(fmt::format("by factors of {}", name_of(static_cast<Cause>(cause))), robust.excess_s[cause],
        fastest.excess_s[cause]);
  }
  add("up to the end of its range", robust.range_s, fastest.range_s);
  return out;
}

Json robust_entry(const RobustStrategy& of) {
  Json causes = Json::object();
  for (std::size_t cause = 0; cause < kCauses; ++cause) {
    causes[std::string(name_of(static_cast<Cause>(cause)))] = of.time.excess_s[cause];
  }
  return {{"strategy", strategy_json(of.strategy.found.job.strategy)},
          {"iteration_time_s", of.strategy.iteration.iteration_time_s},
          {"median_s", of.time.median_s},
          {"p90_s", of.time.p90_s},
          {"perturbations_add_s", of.time.perturbed_s},
          {"causes_add_s", causes},
          {"range_adds_s", of.time.range_s}};
}

}  // namespace

std::string robust_text(const SearchReport& report) {
  if (!report.outcome.robust) return {};
  const RobustChoice& choice = *report.outcome.robust;
  Table table("| >iteration | >median | >p90 |");
  const auto row = [&](const char* name, const RobustStrategy& of) {
    table.add({name, in_seconds(of.strategy.iteration.iteration_time_s), in_seconds(of.time.median_s),
               in_seconds(of.time.p90_s), whole_strategy_text(of.strategy.found.job)});
  };
  row("fastest", choice.fastest);
  if (choice.differs()) row("robust", choice.robust);
  std::string out = fmt::format("\nThe least p90 of {} strategies, by the range of predictions{}\n", choice.candidates,
                                choice.drawn ? " and by what is drawn" : " (cluster.perturbations draws nothing)") +
                    table.text();
  if (!choice.differs()) return out + "  the fastest is the most robust too\n";
  const RobustStrategy& robust = choice.robust;
  const RobustStrategy& fastest = choice.fastest;
  const auto change = [](double own, double other) { return format_signed_percent(own / other - 1); };
  out +=
      fmt::format("  the robust one: p90 {}, predicted {}; it has {}\n", change(robust.time.p90_s, fastest.time.p90_s),
                  change(robust.strategy.iteration.iteration_time_s, fastest.strategy.iteration.iteration_time_s),
                  differences_text(robust.strategy.found.job, fastest.strategy.found.job));
  const std::string losses = losses_text(robust.time, fastest.time, fastest.strategy.iteration.iteration_time_s);
  return losses.empty() ? out : out + fmt::format("  it loses {}\n", losses);
}

nlohmann::ordered_json robust_json(const SearchReport& report) {
  if (!report.outcome.robust) return nullptr;
  const RobustChoice& choice = *report.outcome.robust;
  return {{"candidates", choice.candidates},
          {"differs", choice.differs()},
          {"fastest", robust_entry(choice.fastest)},
          {"robust", robust_entry(choice.robust)}};
}

}  // namespace mirfak
