// Spread of the iterations of several jobs on one cluster.
#include "base/section.hpp"
#include "base/units.hpp"
#include "report/jobs_report.hpp"
#include "report/spread_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kSpreadDigits = 4;  // enough digits for differences of some percent

std::string spread_seconds(double seconds) { return format_seconds(seconds, kSpreadDigits); }

std::string quantile_text(const SampleQuantile& of) {
  if (!of.low || !of.high) return spread_seconds(of.value) + " (no range yet)";
  return fmt::format("{} ({} to {})", spread_seconds(of.value), spread_seconds(*of.low), spread_seconds(*of.high));
}

void add_row(Table& table, const std::string& job, const std::string& what, const SampleMean& mean, double deviation_s,
             std::span<const SampleQuantile> quantiles) {
  std::vector<Cell> row = {job, what, fmt::format("{} +- {}", spread_seconds(mean.value), format_seconds(mean.error)),
                           format_seconds(deviation_s)};
  for (const SampleQuantile& of : quantiles) row.emplace_back(quantile_text(of));
  table.add(std::move(row));
}

std::string share_text(const JobSpread& of) {
  const double share = of.others_share_of_variance();
  if (share < 0) return "the others even its iterations out";
  return fmt::format("{} of the variance is theirs", format_percent(share));
}

Json one_json(const SampleMean& mean, double deviation_s, std::span<const SampleQuantile> quantiles) {
  Json out{{"mean_s", mean.value}, {"mean_error_s", mean.error}, {"deviation_s", deviation_s}};
  for (const SampleQuantile& of : quantiles) out[quantile_name(of.share)] = quantile_json(of);
  return out;
}

}  // namespace

std::string jobs_spread_text(const JobsFile& file, const JointSpread& spread) {
  Table table("job | | >mean | >deviation | p50 (95 % range) | p95 | p99");
  for (std::size_t i = 0; i < spread.jobs.size(); ++i) {
    const JobSpread& of = spread.jobs[i];
    table.add({file.jobs[i].name, "without perturbations", spread_seconds(of.without_s)});
    add_row(table, "", "beside the others", of.together, of.together_deviation_s, of.together_quantiles);
    add_row(table, "", "alone, same draws", of.alone, of.alone_deviation_s, of.alone_quantiles);
    table.add({"", "the others add",
               fmt::format("{} +- {}", format_seconds(of.others_add.value), format_seconds(of.others_add.error)), "",
               share_text(of)});
  }
  return fmt::format("Spread of an iteration of each job in {} runs (seed {}, {}; number {} while all jobs run)\n",
                     spread.jobs.front().together_s.size(), spread.seed,
                     spread.antithetic ? "antithetic pairs" : "independent", spread.iteration) +
         table.text();
}

Json jobs_spread_json(const JobsFile& file, const JointSpread& spread) {
  Json out{{"samples", spread.jobs.front().together_s.size()},
           {"seed", spread.seed},
           {"sampling", spread.antithetic ? "antithetic" : "random"},
           {"iteration", spread.iteration},
           {"jobs", Json::array()}};
  for (std::size_t i = 0; i < spread.jobs.size(); ++i) {
    const JobSpread& of = spread.jobs[i];
    out["jobs"].push_back({{"name", file.jobs[i].name},
                           {"without_perturbations_s", of.without_s},
                           {"together", one_json(of.together, of.together_deviation_s, of.together_quantiles)},
                           {"alone", one_json(of.alone, of.alone_deviation_s, of.alone_quantiles)},
                           {"others_add_s", of.others_add.value},
                           {"others_add_error_s", of.others_add.error},
                           {"others_share_of_variance", of.others_share_of_variance()}});
  }
  return out;
}

}  // namespace mirfak
