// Tables in which one model was measured in several layouts on the same GPUs with the same batch: how much slower than
// the best of them, as measured, is the one that mirfak would have chosen? Repeated measurements of a layout count
// once, by their mean.
//
// Groups that are worse than 3 %, and why:
// - BLOOM, batch 1568: the favourite's own measurement contradicts its table: there the same layout takes 1 % longer
//   for 31 % more sequences.
//   BLOOM, tensor 4 x data 8 against tensor 8: predicted 0.3 and 2.2 % apart the wrong way round,
//   measured 7 and 3; runs of these tables differ by 1 to 5 %.
// - vTrain, 39.1B: the favourite's neighbours with microbatches of 3, 4 and 6 measure 17.6, 17.4 and 16.1 s, so more is
//   not monotonously better or worse; 10.6 % is at most half noise.
// - vTrain on one node: models of 0.2 to 1.3 billion parameters in iterations of 0.1 to 0.25 s that the host bounds.
//   Halving the microbatch is predicted to double the host's work, and measures less than that.

#include "base/error_statistics.hpp"
#include "support/source_root.hpp"
#include "validation/validate_runs.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>

using namespace mirfak;

namespace {

constexpr double kTolerance = 0.03;

struct Layout {
  std::string strategy;  // as in the scenario
  double predicted_s = 0;
  std::vector<double> measured_s;

  double mean_s() const {
    double sum = 0;
    for (const double seconds : measured_s) sum += seconds;
    return sum / static_cast<double>(measured_s.size());
  }
  double spread() const {
    const auto [least, most] = std::minmax_element(measured_s.begin(), measured_s.end());
    return *most / *least - 1;
  }
};

// Runs of one table that differ in their layout alone.
struct LayoutGroup {
  std::string table;
  std::string model;
  std::string gpu;
  std::int64_t gpus = 0;
  std::int64_t batch = 0;
  std::vector<Layout> layouts;

  const Layout& best() const {
    return *std::min_element(layouts.begin(), layouts.end(),
                             [](const Layout& a, const Layout& b) { return a.mean_s() < b.mean_s(); });
  }
  const Layout& favourite() const {
    return *std::min_element(layouts.begin(), layouts.end(),
                             [](const Layout& a, const Layout& b) { return a.predicted_s < b.predicted_s; });
  }
  double loss() const { return favourite().mean_s() / best().mean_s() - 1; }
  double correlation() const {
    std::vector<PredictedPair> pairs;
    for (const Layout& layout : layouts) pairs.push_back({layout.predicted_s, layout.mean_s()});
    return rank_correlation(pairs);
  }
  // The largest spread of a layout that was measured again; 0: none was.
  double noise() const {
    double most = 0;
    for (const Layout& layout : layouts) most = std::max(most, layout.spread());
    return most;
  }
};

// Returns the source of a row without its place there.
std::string source_of(const MeasuredRun& run) {
  static const std::regex place(" (row|case) .*");
  return std::regex_replace(run.source, place, "");
}

// All of a run's scenario but its layout, and but the model's source, which says where the row stands.
std::string all_but_layout(const ValidatedRun& run) {
  static const std::regex source_line("\n *source: [^\n]*");
  return std::regex_replace(run.scenario.substr(0, run.scenario.find("strategy:")), source_line, "");
}

void add(const ValidatedRun& run, LayoutGroup& group) {
  const std::string strategy = run.scenario.substr(run.scenario.find("strategy:"));
  auto known = std::find_if(group.layouts.begin(), group.layouts.end(),
                            [&](const Layout& layout) { return layout.strategy == strategy; });
  if (known == group.layouts.end()) known = group.layouts.insert(known, {strategy, run.seconds.predicted, {}});
  known->measured_s.push_back(run.seconds.measured);
}

std::vector<LayoutGroup> groups_of(const std::filesystem::path& file, const RunMappings& mappings,
                                   const DataFolders& folders) {
  std::map<std::string, LayoutGroup> groups;
  for (const ValidatedRun& run : validate_runs(CsvTable::from_file(file), mappings, folders)) {
    if (!run.scored() || run.run.tier != "A") continue;
    LayoutGroup& group = groups[source_of(run.run) + "\n" + run.run.model + "\n" + all_but_layout(run)];
    group.table = file.stem().string();
    group.model = run.run.model;
    group.gpu = run.run.gpu;
    group.gpus = run.run.gpus.value_or(0);
    group.batch = run.run.global_batch.value_or(0);
    add(run, group);
  }
  std::vector<LayoutGroup> out;
  for (const auto& [key, group] : groups) {
    if (group.layouts.size() > 1) out.push_back(group);
  }
  return out;
}

std::vector<LayoutGroup> all_groups() {
  const std::filesystem::path source = source_root();
  const DataFolders folders{source / "models", source / "hw_profiles"};
  const RunMappings mappings = RunMappings::from_folder(source / "validate" / "published");
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(source / "validate" / "published")) {
    if (entry.path().extension() == ".csv") files.insert(entry.path());
  }
  std::vector<LayoutGroup> out;
  for (const std::filesystem::path& file : files) {
    const std::vector<LayoutGroup> groups = groups_of(file, mappings, folders);
    out.insert(out.end(), groups.begin(), groups.end());
  }
  return out;
}

struct Summary {
  int groups = 0;
  int within = 0;  // 3 %
  double loss = 0;

  void add(const LayoutGroup& group) {
    ++groups;
    within += group.loss() <= kTolerance ? 1 : 0;
    loss += group.loss();
  }
  double share_within() const { return static_cast<double>(within) / groups; }
  double mean_loss() const { return loss / groups; }
};

// "tensor: 8, pipeline: 4, ..." in one line.
std::string in_a_line(const std::string& strategy) {
  static const std::regex breaks("\\n *");
  return std::regex_replace(strategy.substr(strategy.find('\n') + 1), breaks, " ");
}

// Prints a group; where the favourite is not among the best, also the favourite and the best.
void print(const LayoutGroup& group) {
  fmt::print("{:<36}{:<22}{:<16}{:>6}{:>7}{:>9}{:>9.2f} %{:>8.2f}{:>9}\n", group.table, group.model.substr(0, 21),
             group.gpu.substr(0, 15), group.gpus, group.batch, group.layouts.size(), 100 * group.loss(),
             group.correlation(), group.noise() > 0 ? fmt::format("{:.1f} %", 100 * group.noise()) : "");
  if (group.loss() <= kTolerance) return;
  for (const Layout* layout : {&group.favourite(), &group.best()}) {
    fmt::print("    {:>9.4f} s measured, {:>9.4f} s predicted: {}\n", layout->mean_s(), layout->predicted_s,
               in_a_line(layout->strategy));
  }
}

}  // namespace

TEST_CASE("of measured layouts of one model, the one predicted to be fastest is within a few per cent of the fastest") {
  std::map<std::string, Summary> tables;
  Summary all;
  Summary large;  // all but the sweep of small models on one node
  fmt::print("\n{:<36}{:<22}{:<16}{:>6}{:>7}{:>9}{:>11}{:>8}{:>9}\n", "table", "model", "GPU", "GPUs", "batch",
             "layouts", "loss", "rank r", "repeats");
  for (const LayoutGroup& group : all_groups()) {
    tables[group.table].add(group);
    all.add(group);
    const bool sweep = group.table == "vtrain-single";
    if (!sweep) large.add(group);
    if (!sweep || group.loss() > kTolerance) print(group);
  }
  fmt::print("\n{:<36}{:>8}{:>14}{:>12}\n", "table", "groups", "within 3 %", "mean loss");
  for (const auto& [name, table] : tables) {
    fmt::print("{:<36}{:>8}{:>14}{:>10.2f} %\n", name, table.groups, table.within, 100 * table.mean_loss());
  }
  fmt::print("{:<36}{:>8}{:>14}{:>10.2f} %\n", "all", all.groups, all.within, 100 * all.mean_loss());
  CHECK(large.groups >= 35);
  CHECK(large.share_within() >= 0.85);
  CHECK(large.mean_loss() <= 0.015);
  CHECK(all.groups >= 150);
  CHECK(all.share_within() >= 0.8);
  CHECK(all.mean_loss() <= 0.025);
}
