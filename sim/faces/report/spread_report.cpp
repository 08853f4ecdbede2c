#include "report/spread_report.hpp"

#include "base/json_parts.hpp"
#include "base/section.hpp"
#include "base/units.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kRankDigits = 4;           // enough digits for differences of some percent
constexpr std::size_t kSpreadRanks = 6;  // ranks in text; JSON has all

std::string spread_time(double seconds) { return format_seconds(seconds, kRankDigits); }

std::string share_of(int samples, const Spread& spread) {
  return format_percent(static_cast<double>(samples) / static_cast<double>(spread.samples.size()));
}

std::string range_text(const SampleQuantile& of) {
  if (!of.low || !of.high)
    return fmt::format("95 % range: more samples are needed{}", of.low ? ", from " + spread_time(*of.low) : "");
  return fmt::format("{} to {} with 95 %", spread_time(*of.low), spread_time(*of.high));
}

std::string times_text(const Spread& spread) {
  Table table("|>|>|");
  table.add({"without perturbations", spread_time(spread.without_s), "", ""});
  const auto beside = [&](double seconds) { return format_signed_percent(seconds / spread.without_s - 1); };
  std::string error = fmt::format("+- {} ({} of independent samples)", format_seconds(spread.time.error),
                                  format_seconds(spread.independent_error_s));
  if (!spread.antithetic) error = "+- " + format_seconds(spread.time.error);
  table.add({"mean", spread_time(spread.time.value), beside(spread.time.value), error});
  for (const SampleQuantile& of : spread.quantiles) {
    table.add({quantile_name(of.share), spread_time(of.value), beside(of.value), range_text(of)});
  }
  table.add({"standard deviation", format_seconds(spread.deviation_s),
             format_percent(spread.deviation_s / spread.time.value), "of samples"});
  const char* note = spread.passes_alone ? "  in samples, what passes exchange has its ports for itself\n" : "";
  return table.text() + note;
}

std::string binding_text(const Spread& spread) {
  Table table("cause | >binds | adds on average, on the critical path");
  for (std::size_t cause = 0; cause < kCauses; ++cause) {
    if (spread.binds[cause] == 0 && std::abs(spread.mean_excess_s[cause]) < 1e-12) continue;
    table.add({std::string(name_of(static_cast<Cause>(cause))), share_of(spread.binds[cause], spread),
               format_seconds(spread.mean_excess_s[cause])});
  }
  table.add({});
  table.add({"rank", "binds", ""});
  for (std::size_t i = 0; i < std::min(kSpreadRanks, spread.ranks.size()); ++i) {
    const BindingRank& rank = spread.ranks[i];
    const std::string stage = rank.stage ? fmt::format(" of stage {}", *rank.stage) : "";
    table.add({fmt::format("rank {}{}", rank.rank, stage), share_of(rank.samples, spread), ""});
  }
  if (spread.ranks.size() > kSpreadRanks) table.add({fmt::format("... {} more", spread.ranks.size() - kSpreadRanks)});
  return table.text();
}

}  // namespace

std::string quantile_name(double share) { return fmt::format("p{:.0f}", share * 100); }

Json quantile_json(const SampleQuantile& of) {
  return {{"value_s", of.value}, {"low_s", json_or_null(of.low)}, {"high_s", json_or_null(of.high)}};
}

std::string spread_text(const Spread& spread) {
  return fmt::format("Spread of {} iterations (seed {}, {})\n", spread.samples.size(), spread.seed,
                     spread.antithetic ? "antithetic pairs" : "independent") +
         times_text(spread) + "\n" + binding_text(spread) +
         fmt::format("\n  {} an iteration is drawn by GPUs that wait for slower ones\n",
                     format_joules(spread.mean_waste_j));
}

Json spread_json(const Spread& spread) {
  Json out{{"samples", spread.samples.size()},
           {"seed", spread.seed},
           {"sampling", spread.antithetic ? "antithetic" : "random"},
           {"without_perturbations_s", spread.without_s},
           {"passes_alone", spread.passes_alone},
           {"mean_s", spread.time.value},
           {"mean_error_s", spread.time.error},
           {"mean_error_of_independent_samples_s", spread.independent_error_s},
           {"deviation_s", spread.deviation_s}};
  for (const SampleQuantile& of : spread.quantiles) {
    out[quantile_name(of.share)] = quantile_json(of);
  }
  out["causes"] = Json::array();
  for (std::size_t cause = 0; cause < kCauses; ++cause) {
    out["causes"].push_back({{"cause", name_of(static_cast<Cause>(cause))},
                             {"binds", spread.binds[cause]},
                             {"mean_excess_s", spread.mean_excess_s[cause]}});
  }
  out["ranks"] = Json::array();
  for (const BindingRank& rank : spread.ranks) {
    Json row = {{"rank", rank.rank}};
    if (rank.stage) row["stage"] = *rank.stage;
    row["binds"] = rank.samples;
    out["ranks"].push_back(std::move(row));
  }
  const bool staged = std::all_of(spread.ranks.begin(), spread.ranks.end(),
                                  [](const BindingRank& rank) { return rank.stage.has_value(); });
  if (staged) out["stages"] = spread.stages;
  out["waste_j"] = spread.mean_waste_j;
  return out;
}

}  // namespace mirfak
