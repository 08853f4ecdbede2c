#include "report/range_report.hpp"

#include "base/units.hpp"
#include "simulation/prediction_range.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>

namespace mirfak {

namespace {

// Returns the range of an iteration as the title of a section. `origin`: where the range is from.
std::string range_title(const Job& job, const IterationResult& result, const char* origin) {
  return fmt::format("The range of the iteration: {}, in which {:.0f} % of measured iterations lie ({})",
                     range_text(result), 100 * job.ranges.level, origin);
}

// Returns the range that a user's own runs yield for predictions; nullopt if there are no own runs.
std::optional<Section> corrected_range(const Job& job, const IterationResult& result) {
  if (!job.ranges.own_runs.known()) return std::nullopt;
  std::string out;
  for (const NodeGroup& group : job.cluster.groups()) {
    const NodeSpec& node = group.hardware.spec;
    if (!node.correction) return std::nullopt;
    if (out.find(node.name + ":") != std::string::npos) continue;
    const double deviation = range_deviation(*node.correction, result);
    out += fmt::format("  {}: {:.2g} deviations of {}, {} of it from run to run, the rest what {} leave open\n",
                       node.name, job.ranges.own_runs.quantile, format_percent(deviation),
                       format_percent(node.correction->run_deviation), node.correction->source);
  }
  return Section{range_title(job, result, "own runs"), {out}};
}

}  // namespace

Section range_section(const Job& job, const IterationResult& result) {
  const RangeWidths& widths = job.ranges;
  if (!widths.known()) {
    return {"The range of the iteration: there is no hw_profiles/ranges.yaml, so nothing is known of it", {}};
  }
  if (std::optional<Section> corrected = corrected_range(job, result)) return *corrected;
  const UncertaintyShares shares = uncertainty_shares(job, result);
  return {range_title(job, result, "ranges.yaml"), {uncertainty_table(shares, widths, host_margins(job, result))}};
}

}  // namespace mirfak
