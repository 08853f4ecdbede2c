#include "comparison/option_results.hpp"

#include "base/error.hpp"
#include "base/units.hpp"
#include "launch/runnable_search.hpp"
#include "scenario/sections.hpp"
#include "training/expected_finish.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace mirfak {

namespace {

// End of a training as a function of the time of an iteration.
class FinishTime {
 public:
  FinishTime(const std::optional<Operations>& operations, const Cluster& whole, const Job& found)
      : tokens_(found.training.tokens) {
    iteration_tokens_ = found.training.tokens_of(found.training.global_batch);
    if (operations) expected_.emplace(found, on_nodes(*operations, whole, found.cluster));
  }

  double at(double iteration_s) const {
    return expected_ ? expected_->at(iteration_s) : tokens_ / iteration_tokens_ * iteration_s;
  }

 private:
  double tokens_ = 0;
  double iteration_tokens_ = 0;
  std::optional<ExpectedFinish> expected_;
};

RangedFigure finish_of(const FinishTime& finish, const IterationResult& iteration) {
  const double low = iteration.iteration_time_low_s > 0 ? iteration.iteration_time_low_s : iteration.iteration_time_s;
  const double high = std::max(iteration.iteration_time_high_s, iteration.iteration_time_s);
  return {finish.at(iteration.iteration_time_s), finish.at(low), finish.at(high)};
}

std::chrono::sys_days latest_start(const Sizing& sizing, double seconds) {
  const double days = std::ceil(std::min(seconds, 1e6 * kSecondsPerDay) / kSecondsPerDay);
  return *sizing.finish_by + std::chrono::days(1) - std::chrono::days(static_cast<int>(days));
}

// Returns the factor on the price for spares, which cost as much as nodes in use.
double priced_share(const std::optional<Operations>& operations, const Cluster& cluster) {
  return operations ? 1 + static_cast<double>(operations->spares) / cluster.nodes() : 1;
}

// Adds the totals of the training: the iteration's figures per second, times the length of the training.
void add_totals(const std::optional<Operations>& operations, OptionResult& row) {
  const Job& job = row.best()->found.job;
  const IterationResult& iteration = row.best()->iteration;
  const auto total = [&](double of_iteration) { return row.finish_s.times(of_iteration / iteration.iteration_time_s); };
  row.gpus = iteration.gpus;
  row.nodes = job.cluster.nodes();
  if (iteration.priced) row.cost_usd = total(iteration.cost_usd * priced_share(operations, job.cluster));
  row.energy_j = total(iteration.energy_j);
  if (job.cluster.facility().asked) row.facility_j = total(iteration.facility_energy_j);
  if (job.cluster.facility().carbon.known()) row.co2_kg = total(iteration.co2_kg);
  row.memory_headroom = 1 - iteration.memory_peak_bytes / iteration.memory_capacity_bytes;
}

void judge_time(const Sizing& sizing, OptionResult& row) {
  if (sizing.deadline_s > 0) {
    row.in_time = row.finish_s.value <= sizing.deadline_s;
    row.surely_in_time = row.finish_s.high <= sizing.deadline_s;
  }
  if (!sizing.finish_by) return;
  row.start = latest_start(sizing, row.finish_s.value);
  row.sure_start = latest_start(sizing, row.finish_s.high);
}

void require_tokens(const SearchScenario& scenario) {
  if (scenario.job.training.tokens > 0) return;
  locate(scenario.document, "training")
      .fail("options are compared by the whole training, and training.tokens does not say how long that is",
            "give training.tokens");
}

// Evaluates a choice. A fault of the file is an error; an option that cannot run is a row with the reason.
OptionResult evaluated(const ComparisonChoice& choice, const Sizing& sizing, const DataFolders& folders, int jobs,
                       const SearchStop& stop, bool& with_operations) {
  OptionResult row;
  row.option = choice.option;
  row.nodes = choice.nodes;
  try {
    row.scenario = parse_search(choice.document, folders);
    keep_to_framework(*row.scenario, folders.hardware);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::infeasible) throw;
    row.refused = error.message();
    return row;
  }
  require_tokens(*row.scenario);
  const Cluster& cluster = row.scenario->job.cluster;
  row.nodes = cluster.nodes();
  row.gpus = cluster.gpus();
  const std::optional<Operations> operations = read_sections(choice.document, ScenarioSources(folders)).operations;
  with_operations = with_operations || operations.has_value();
  SearchSpec spec = row.scenario->search.spec;
  spec.top = 1;
  try {
    row.outcome = search_and_simulate(row.scenario->job, spec, jobs, {}, stop);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::infeasible) throw;
    row.refused = error.message();
  }
  if (row.best() == nullptr) return row;
  try {
    row.finish_s = finish_of(FinishTime(operations, cluster, row.best()->found.job), row.best()->iteration);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::infeasible) throw;
    row.outcome.strategies.clear();
    row.refused = error.message();
    return row;
  }
  if (!row.runs()) {
    row.refused = "next to nothing lasts: failures come faster than states are saved";
    return row;
  }
  add_totals(operations, row);
  judge_time(sizing, row);
  return row;
}

// Returns the figure that orders rows; an unknown figure comes last.
RangedFigure ordered_by(const OptionResult& row, ComparisonOrder order) {
  constexpr double unknown = std::numeric_limits<double>::max();
  const RangedFigure none{unknown, unknown, unknown};
  switch (order) {
    case ComparisonOrder::cost:
      return row.cost_usd.value_or(none);
    case ComparisonOrder::time:
      return row.finish_s;
    case ComparisonOrder::gpus: {
      const auto gpus = static_cast<double>(row.gpus);
      return {gpus, gpus, gpus};
    }
    case ComparisonOrder::energy:
      return row.facility_j.value_or(row.energy_j);
    case ComparisonOrder::co2:
      break;
  }
  return row.co2_kg.value_or(none);
}

ComparisonOrder order_of(const ComparisonFile& file) {
  switch (file.sizing.goal) {
    case SizingGoal::fewest_gpus:
      return ComparisonOrder::gpus;
    case SizingGoal::least_money:
      return ComparisonOrder::cost;
    default:
      return file.order;
  }
}

// Returns 0 for a row that runs in time, 1 for one that is too late, 2 for one that does not run.
int rank_of(const OptionResult& row) { return !row.runs() ? 2 : row.in_time ? 0 : 1; }

bool comes_before(const OptionResult& a, const OptionResult& b, ComparisonOrder order) {
  const auto key = [order](const OptionResult& row) {
    return std::tuple(rank_of(row), row.runs() ? ordered_by(row, order).value : 0.0, row.finish_s.value);
  };
  return key(a) < key(b);
}

// Keeps for each option the choice that the goal asks for: the first row of its name, as rows are in order.
void keep_one_of_each(std::vector<OptionResult>& rows) {
  std::vector<OptionResult> kept;
  for (OptionResult& row : rows) {
    const bool known =
        std::any_of(kept.begin(), kept.end(), [&row](const OptionResult& other) { return other.option == row.option; });
    if (!known) kept.push_back(std::move(row));
  }
  rows = std::move(kept);
}

// Puts the fastest late rows first, so that an option without a row in time shows by how much it is late.
void put_fastest_first_of_late(std::vector<OptionResult>& rows) {
  const auto late = std::find_if(rows.begin(), rows.end(), [](const OptionResult& row) { return rank_of(row) == 1; });
  const auto end = std::find_if(late, rows.end(), [](const OptionResult& row) { return rank_of(row) == 2; });
  std::stable_sort(late, end,
                   [](const OptionResult& a, const OptionResult& b) { return a.finish_s.value < b.finish_s.value; });
}

void mark_ties(std::vector<OptionResult>& rows, ComparisonOrder order) {
  if (rows.empty() || !rows.front().runs()) return;
  const RangedFigure first = ordered_by(rows.front(), order);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (!rows[i].runs() || rows[i].in_time != rows.front().in_time) continue;
    rows[i].ties_with_first = ordered_by(rows[i], order).overlaps(first);
  }
}

}  // namespace

Comparison compare_options(const ComparisonFile& file, const DataFolders& folders, int jobs,
                           const ComparisonProgress& progress, const SearchStop& stop) {
  Comparison out;
  for (const ComparisonChoice& choice : file.choices) {
    if (stop && stop()) break;
    out.rows.push_back(evaluated(choice, file.sizing, folders, jobs, stop, out.with_operations));
    if (progress) progress(out.rows.size());
  }
  out.complete = out.rows.size() == file.choices.size() && !(stop && stop());
  const ComparisonOrder order = order_of(file);
  std::stable_sort(out.rows.begin(), out.rows.end(),
                   [order](const OptionResult& a, const OptionResult& b) { return comes_before(a, b, order); });
  const SizingGoal goal = file.sizing.goal;
  if (goal == SizingGoal::fewest_gpus || goal == SizingGoal::least_money) {
    put_fastest_first_of_late(out.rows);
    keep_one_of_each(out.rows);
  }
  mark_ties(out.rows, order);
  out.order = order;
  return out;
}

}  // namespace mirfak
