// Alpa's inter-operator program (arXiv 2201.12023, section 5.2). With t_i the seconds of stage i for a microbatch,
//
//   T = sum t_i + (B - 1) max t_i
//
// For a bound t on the slowest stage, the least sum follows from a recursion from the last layer to the first:
//
//   F(s, k, d) = least over i, m of  t(k..i, m, s) + F(s - 1, i + 1, d - devices of m),   t(k..i, m, s) <= t
//
// s stages run layer k and all later layers on d devices, and the first of these stages keeps the activations of s
// microbatches (1F1B), which decides if the stage fits.
//
// The least bound tried is the least one that allows any partition. The sum falls as the bound rises, so the paper's
// sweep ends where even the least sum of all cannot make up for (B - 1) t. Between two bounds with known sums, only
// bounds that can win are tried: any bound between the two has a sum no smaller than that of the higher one, and is
// itself no smaller than the next bound after the lower one.
//
// Most bounds need no recursion over s: a partition found with memory for one microbatch on every stage is the best if
// all of its stages fit with the microbatches that they really keep.

#include "alpa/stage_partition.hpp"

#include "alpa/basics.hpp"
#include "base/error.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace mirfak::alpa {

namespace {

struct Found {
  double sum = kNever;
  std::vector<PlannedStage> stages;
};

class Search {
 public:
  explicit Search(const StageProblem& problem)
      : problem_(problem), unit_(unit_of(problem)), units_(problem.devices / unit_), best_time_(problem.longest_s) {
    const int layers = problem.layers;
    options_.resize(static_cast<std::size_t>(layers * (layers + 1) * submesh_count()));
    for (int first = 0; first < layers; ++first) {
      for (int end = first + 1; end <= layers; ++end) {
        for (int submesh = 0; submesh < submesh_count(); ++submesh) {
          options_[place(first, end, submesh)] = problem.options(first, end, submesh);
        }
      }
    }
    collect_bounds();
  }

  std::optional<StagePartition> run() {
    const int last = static_cast<int>(bounds_.size()) - 1;
    if (last < 0 || !std::isfinite(sum_at(last))) return std::nullopt;
    const int first = first_possible(last);
    consider(first);
    search(first, last);
    if (best_.empty()) return std::nullopt;
    return StagePartition{best_, best_time_};
  }

 private:
  // Returns the unit of devices: every stage takes a multiple of it.
  static int unit_of(const StageProblem& problem) {
    int unit = problem.devices;
    for (const Submesh& submesh : problem.submeshes) unit = std::gcd(unit, submesh.devices());
    return unit;
  }

  int submesh_count() const { return static_cast<int>(problem_.submeshes.size()); }
  std::size_t place(int first, int end, int submesh) const {
    return static_cast<std::size_t>((first * (problem_.layers + 1) + end) * submesh_count() + submesh);
  }

  // Returns the fastest option that fits with `in_flight` microbatches; -1: none.
  int fastest(std::size_t at, int in_flight) const {
    int best = -1;
    const std::vector<StageOption>& options = options_[at];
    for (std::size_t i = 0; i < options.size(); ++i) {
      if (options[i].bytes(in_flight) > problem_.memory) continue;
      if (best < 0 || options[i].seconds < options[static_cast<std::size_t>(best)].seconds) best = static_cast<int>(i);
    }
    return best;
  }

  void collect_bounds() {
    for (const std::vector<StageOption>& options : options_) {
      for (const StageOption& option : options) {
        if (option.seconds * problem_.microbatches < problem_.longest_s) bounds_.push_back(option.seconds);
      }
    }
    std::sort(bounds_.begin(), bounds_.end());
    bounds_.erase(std::unique(bounds_.begin(), bounds_.end()), bounds_.end());
  }

  // Returns seconds and number of the fastest options with `in_flight` microbatches, by place.
  const std::vector<std::pair<double, int>>& times(int in_flight) {
    std::vector<std::pair<double, int>>& out = times_[in_flight];
    if (!out.empty()) return out;
    for (std::size_t at = 0; at < options_.size(); ++at) {
      const int option = fastest(at, in_flight);
      out.emplace_back(option < 0 ? kNever : options_[at][static_cast<std::size_t>(option)].seconds, option);
    }
    return out;
  }

  const Found& at_bound(int bound) {
    const auto [found, added] = found_.try_emplace(bound);
    if (!added) return found->second;
    found->second = with_one_in_flight(bounds_[static_cast<std::size_t>(bound)]);
    if (std::isfinite(found->second.sum) && !fits(found->second)) {
      found->second = with_stages_counted(bounds_[static_cast<std::size_t>(bound)]);
    }
    return found->second;
  }
  double sum_at(int bound) { return at_bound(bound).sum; }

  int first_possible(int last) {
    int low = 0;
    while (low < last) {
      const int middle = low + (last - low) / 2;
      if (std::isfinite(sum_at(middle))) {
        last = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  void consider(int bound) {
    const Found& found = at_bound(bound);
    double slowest = 0;
    for (const PlannedStage& stage : found.stages) slowest = std::max(slowest, stage.cost.seconds);
    const double time = found.sum + (problem_.microbatches - 1) * slowest;
    if (time >= best_time_) return;
    best_time_ = time;
    best_ = found.stages;
  }

  // Tries the bounds between two bounds whose sums are known.
  void search(int low, int high) {
    if (high - low < 2) {
      if (high > low && least_at(low + 1, high) < best_time_) consider(high);
      return;
    }
    if (least_at(low + 1, high) >= best_time_) return;
    const int middle = low + (high - low) / 2;
    consider(middle);
    search(low, middle);
    search(middle, high);
  }
  // Returns a lower bound of the time with any bound from `low` up to `high`.
  double least_at(int low, int high) {
    return sum_at(high) + (problem_.microbatches - 1) * bounds_[static_cast<std::size_t>(low)];
  }

  struct Cell {
    double sum = kNever;
    int end = 0;
    int submesh = 0;
  };
  using Table = std::vector<Cell>;  // [layer * (units + 1) + units of devices left]
  std::size_t cell(int layer, int devices) const {
    return static_cast<std::size_t>(layer * (units_ + 1) + devices / unit_);
  }

  // Returns true if a submesh from this device on lies in the machine as StageProblem::gpus_per_node demands.
  bool lies_whole(int submesh, int device) const {
    const Submesh& of = problem_.submeshes[static_cast<std::size_t>(submesh)];
    if (problem_.gpus_per_node == 0) return true;
    const int place = device % problem_.gpus_per_node;
    if (of.nodes > 1 || of.gpus == problem_.gpus_per_node) return place == 0;
    return place % of.gpus == 0 && place + of.gpus <= problem_.gpus_per_node;
  }

  // Returns the best first stage of the layers from `first` on; `rest` is known for the layers after that stage.
  Cell best_stage(int first, int devices, const std::vector<std::pair<double, int>>& seconds, double bound,
                  const Table& rest) const {
    Cell best;
    for (int submesh = 0; submesh < submesh_count(); ++submesh) {
      const int left = devices - problem_.submeshes[static_cast<std::size_t>(submesh)].devices();
      if (left < 0 || !lies_whole(submesh, problem_.devices - devices)) continue;
      for (int end = first + 1; end <= problem_.layers; ++end) {
        const double own = seconds[place(first, end, submesh)].first;
        if (own > bound) continue;
        const double sum = own + rest[cell(end, left)].sum;
        if (sum < best.sum) best = {sum, end, submesh};
      }
    }
    return best;
  }

  PlannedStage planned(int first, const Cell& chosen, int in_flight) {
    const std::size_t at = place(first, chosen.end, chosen.submesh);
    const int option = times(in_flight)[at].second;
    return {first, chosen.end, chosen.submesh, option, in_flight, options_[at][static_cast<std::size_t>(option)]};
  }

  Found with_one_in_flight(double bound) {
    const std::vector<std::pair<double, int>>& seconds = times(1);
    Table table(cell(problem_.layers, problem_.devices) + 1);
    table[cell(problem_.layers, 0)].sum = 0;
    for (int layer = problem_.layers - 1; layer >= 0; --layer) {
      for (int devices = unit_; devices <= problem_.devices; devices += unit_) {
        table[cell(layer, devices)] = best_stage(layer, devices, seconds, bound, table);
      }
    }
    Found out;
    out.sum = table[cell(0, problem_.devices)].sum;
    if (!std::isfinite(out.sum)) return out;
    for (int layer = 0, devices = problem_.devices; layer < problem_.layers;) {
      const Cell& chosen = table[cell(layer, devices)];
      out.stages.push_back(planned(layer, chosen, 1));
      layer = chosen.end;
      devices -= problem_.submeshes[static_cast<std::size_t>(chosen.submesh)].devices();
    }
    return out;
  }

  // Returns true if all stages fit with the microbatches that their places keep, and stores these numbers in the
  // stages.
  bool fits(Found& found) const {
    bool all = true;
    for (std::size_t i = 0; i < found.stages.size(); ++i) {
      PlannedStage& stage = found.stages[i];
      stage.in_flight = std::min(static_cast<int>(found.stages.size() - i), problem_.microbatches);
      all = all && stage.cost.bytes(stage.in_flight) <= problem_.memory;
    }
    return all;
  }

  Found with_stages_counted(double bound) {
    const int most = std::min(problem_.layers, units_);
    std::vector<Table> tables(static_cast<std::size_t>(most + 1), Table(cell(problem_.layers, problem_.devices) + 1));
    tables[0][cell(problem_.layers, 0)].sum = 0;
    Found out;
    int stages = 0;
    for (int count = 1; count <= most; ++count) {
      const std::vector<std::pair<double, int>>& seconds = times(std::min(count, problem_.microbatches));
      Table& table = tables[static_cast<std::size_t>(count)];
      for (int layer = problem_.layers - count; layer >= 0; --layer) {
        for (int devices = count * unit_; devices <= problem_.devices; devices += unit_) {
          table[cell(layer, devices)] =
              best_stage(layer, devices, seconds, bound, tables[static_cast<std::size_t>(count - 1)]);
        }
      }
      const double sum = table[cell(0, problem_.devices)].sum;
      if (sum >= out.sum) continue;
      out.sum = sum;
      stages = count;
    }
    for (int layer = 0, devices = problem_.devices; stages > 0; --stages) {
      const Cell& chosen = tables[static_cast<std::size_t>(stages)][cell(layer, devices)];
      out.stages.push_back(planned(layer, chosen, std::min(stages, problem_.microbatches)));
      layer = chosen.end;
      devices -= problem_.submeshes[static_cast<std::size_t>(chosen.submesh)].devices();
    }
    return out;
  }

  const StageProblem& problem_;
  int unit_;
  int units_;                                                 // of all devices
  std::vector<std::vector<StageOption>> options_;             // by place
  std::vector<double> bounds_;                                // ascending
  std::map<int, std::vector<std::pair<double, int>>> times_;  // by microbatches in flight
  std::map<int, Found> found_;                                // by bound
  std::vector<PlannedStage> best_;
  double best_time_;
};

}  // namespace

std::vector<Submesh> submeshes(int nodes, int gpus_per_node, NodeCounts counts) {
  std::vector<Submesh> out;
  for (int gpus = 1; gpus < gpus_per_node; gpus *= 2) out.push_back({1, gpus});
  const auto power = [](int number) { return (number & (number - 1)) == 0; };
  for (int count = 1; count <= nodes; ++count) {
    if (counts == NodeCounts::all || power(count) || count == nodes) out.push_back({count, gpus_per_node});
  }
  return out;
}

std::optional<StagePartition> best_stages(const StageProblem& problem) {
  if (problem.layers < 1 || problem.devices < 1 || problem.microbatches < 1) {
    fail_internal("stages of no layers, devices or microbatches");
  }
  return Search(problem).run();
}

}  // namespace mirfak::alpa
