#include "energy/part_clocks.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

namespace mirfak {

namespace {

constexpr std::size_t kMaxCorners = 1000;

bool is_kernel(const BodyStep& step) { return step.stream == StreamKind::compute; }

// Collectives of a block that hold multiprocessors and that no kernel has waited for yet.
class OpenCollectives {
 public:
  void pass(const BodyStep& step, std::size_t i) {
    if (is_kernel(step)) {
      for (const int before : step.after) std::erase(open_, static_cast<std::size_t>(before));
    } else if (step.held_share > 0) {
      open_.push_back(i);
    }
  }
  bool any() const { return !open_.empty(); }

 private:
  std::vector<std::size_t> open_;
};

// Calls `visit` with each step of a pass, the index of its block, its index there, and its part. Kernels beside a
// collective, and the first that waits for it, are one part: what a kernel loses to the collective depends on how long
// those before it take.
template <class Visit>
void each_step(const PassSteps& blocks, PartCut cut, const Visit& visit) {
  std::size_t part = 0;
  const BodyStep* last_kernel = nullptr;
  bool behind_collective = false;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    const std::vector<BodyStep>& steps = blocks[block]->steps;
    OpenCollectives open;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const bool kernel = is_kernel(steps[i]);
      const bool beside = open.any();
      open.pass(steps[i], i);
      if (kernel && last_kernel != nullptr) {
        const bool other = last_kernel->activity != steps[i].activity;
        const bool cut_here = cut == PartCut::kernel_classes && other && !beside;
        if (behind_collective || cut_here) ++part;
      }
      if (kernel) last_kernel = &steps[i];
      behind_collective = !kernel;
      visit(steps[i], block, i, part);
    }
  }
}

// Times at which the steps of a body start, and at which all have ended, if the host is never late.
struct BodyTimes {
  std::vector<Picoseconds> starts;
  Picoseconds end = 0;
};

BodyTimes times_of(std::span<const BodyStep> steps) {
  BodyTimes out;
  std::vector<Picoseconds> ends;
  std::array<Picoseconds, kStreamKinds> free{};
  for (const BodyStep& step : steps) {
    Picoseconds& stream = free[static_cast<std::size_t>(step.stream)];
    Picoseconds start = stream;
    for (const int before : step.after) start = std::max(start, ends[static_cast<std::size_t>(before)]);
    out.starts.push_back(start);
    ends.push_back(stream = start + step.device);
    out.end = std::max(out.end, stream);
  }
  return out;
}

// Returns the kernels that follow one of a block directly, with this one, and the collectives directly before it.
KernelsBeside kernels_from(std::span<const BodyStep> steps, std::size_t first) {
  KernelsBeside out{first, first, first};
  while (out.collectives > 0 && !is_kernel(steps[out.collectives - 1])) --out.collectives;
  while (out.end < steps.size() && is_kernel(steps[out.end])) ++out.end;
  return out;
}

// Writes the figures of a pass's parts at one setting.
class PartsAtSetting {
 public:
  PartsAtSetting(const PassSteps& blocks, PartCut cut, std::optional<double> launches_at)
      : blocks_(blocks), cut_(cut), launches_at_(launches_at) {
    for (const Body* block : blocks) {
      const auto [times, is_new] = times_.try_emplace(block);
      if (is_new) times->second = times_of(block->steps);
    }
  }

  std::vector<PassParts::Figures> run() {
    Picoseconds block_start = 0;
    std::size_t last_block = 0;
    each_step(blocks_, cut_, [&](const BodyStep& step, std::size_t block, std::size_t i, std::size_t part) {
      for (; last_block < block; ++last_block) block_start += times_.at(blocks_[last_block]).end;
      if (!is_kernel(step)) return;
      if (part == figures_.size()) begin_part(block_start + times_.at(blocks_[block]).starts[i], block, i);
      figures_.back().kernels = block_start + times_.at(blocks_[block]).starts[i] + step.device - start_;
      figures_.back().energy_j += step.energy_j;
    });
    for (; last_block < blocks_.size(); ++last_block) block_start += times_.at(blocks_[last_block]).end;
    end_part(block_start);
    return std::move(figures_);
  }

 private:
  void begin_part(Picoseconds start, std::size_t block, std::size_t first) {
    end_part(start);
    figures_.emplace_back();
    start_ = start;
    if (!launches_at_) return;
    const std::vector<BodyStep>& steps = blocks_[block]->steps;
    const auto [known, is_new] = launches_.try_emplace({blocks_[block], first});
    if (is_new) {
      known->second = best_launch(steps, times_.at(blocks_[block]).starts, kernels_from(steps, first), *launches_at_);
    }
    launch_ = known->second;
  }

  void end_part(Picoseconds end) {
    if (figures_.empty()) return;
    PassParts::Figures& part = figures_.back();
    part.lasts = end - start_;
    if (launch_) {
      part.launch = launch_->launch;
      part.lasts -= launch_->earlier;
      part.kernels += launch_->kernels_later;
    }
    launch_.reset();
  }

  const PassSteps& blocks_;
  PartCut cut_;
  std::optional<double> launches_at_;
  std::map<const Body*, BodyTimes> times_;
  std::map<std::pair<const Body*, std::size_t>, std::optional<LaunchPoint>> launches_;
  std::vector<PassParts::Figures> figures_;
  Picoseconds start_ = 0;
  std::optional<LaunchPoint> launch_;
};

struct Total {
  Picoseconds duration = 0;
  double energy_j = 0;
};

// Figures of a part by setting, in arrays; parts that are alike share one.
struct PartTable {
  std::vector<double> energy_j;
  std::vector<double> lasts;          // in ps
  std::vector<double> change_behind;  // of a change of clock, beyond the wait behind the part
};

// A shortest path over parts. The next part depends on a setting by its clock alone, so that each part has one cheapest
// cost for each clock: that of the setting with this clock or, if it is cheaper, of any setting and a change. Loops go
// over the clocks of each number of multiprocessors.
class PartPlans {
 public:
  PartPlans(const PassParts& parts, Picoseconds change, SettingList list)
      : parts_(parts),
        settings_(parts.figures.front().size()),
        clocks_(list.clocks == 0 ? settings_ : list.clocks),
        change_(change),
        list_(list) {
    for (std::size_t part = 0; part < parts.figures.size(); ++part) table_of_.push_back(table_like(part));
  }

  // Returns the cheapest plan if a picosecond costs `price` joules, and energy counts `weight` times.
  PartSettings cheapest(double price, double weight) const {
    const std::size_t parts = parts_.figures.size();
    std::vector<Costs> costs;
    for (const PartTable& table : tables_) costs.push_back(costs_of(table, price, weight));
    Best best(clocks_);
    std::vector<double> before(clocks_, 0);  // cost of the parts before, if the next part has this clock
    std::vector<std::uint32_t> from(clocks_ * parts);
    for (std::size_t part = 0; part < parts; ++part) {
      find_best(costs[table_of_[part]], before, best);
      std::uint32_t* const from_part = from.data() + part * clocks_;
      const auto cheap = static_cast<std::size_t>(first_of_least(best.changed, best.changed_at));
      if (part + 1 == parts) break;
      const double change_j = best.changed[cheap % clocks_];
      for (std::size_t clock = 0; clock < clocks_; ++clock) {
        const bool stays = best.kept[clock] <= change_j;
        from_part[clock] = stays ? best.kept_at[clock] : static_cast<std::uint32_t>(cheap);
        before[clock] = stays ? best.kept[clock] : change_j;
      }
    }
    PartSettings out(parts);
    out.back() = first_of_least(best.kept, best.kept_at);
    for (std::size_t part = parts; part-- > 1;) {
      out[part - 1] = from[(part - 1) * clocks_ + list_.clock_of(out[part])];
    }
    return out;
  }

  Total total(const PartSettings& plan) const {
    Total out;
    for (std::size_t part = 0; part < plan.size(); ++part) {
      const PassParts::Figures& at = parts_.figures[part][plan[part]];
      out.duration += at.lasts;
      out.energy_j += at.energy_j;
      if (part + 1 == plan.size() || list_.clock_of(plan[part]) == list_.clock_of(plan[part + 1])) continue;
      out.duration += change_behind(part, plan[part]);
    }
    return out;
  }

  // Adds the corners between two plans, the faster first, without the two.
  void between(const PartSettings& fast, const PartSettings& slow, std::vector<PartSettings>& out) const {
    const Total first = total(fast);
    const Total second = total(slow);
    if (second.duration <= first.duration || out.size() >= kMaxCorners) return;
    const double price = (first.energy_j - second.energy_j) / static_cast<double>(second.duration - first.duration);
    if (price <= 0) return;
    PartSettings middle = cheapest(price, 1);
    const Total found = total(middle);
    const double of_ends = first.energy_j + price * static_cast<double>(first.duration);
    const double gain = of_ends - (found.energy_j + price * static_cast<double>(found.duration));
    constexpr double kRounding = 1e-12;
    if (gain <= kRounding * of_ends) return;
    between(fast, middle, out);
    out.push_back(middle);
    between(middle, slow, out);
  }

 private:
  // Costs of a part by setting.
  struct Costs {
    std::vector<double> own;
    std::vector<double> change;  // of a change of clock behind the part
  };

  // The cheapest setting of a part for each clock, the first of equals, and its cost with all parts before.
  struct Best {
    explicit Best(std::size_t clocks) : kept(clocks), changed(clocks), kept_at(clocks), changed_at(clocks) {}

    std::vector<double> kept;     // if the next part has the same clock
    std::vector<double> changed;  // if it has another one
    std::vector<std::uint32_t> kept_at;
    std::vector<std::uint32_t> changed_at;
  };

  std::size_t table_like(std::size_t part) {
    for (std::size_t before = 0; before < part; ++before) {
      const auto alike = [](const PassParts::Figures& a, const PassParts::Figures& b) {
        return a.energy_j == b.energy_j && a.lasts == b.lasts && a.kernels == b.kernels;
      };
      if (std::equal(parts_.figures[part].begin(), parts_.figures[part].end(), parts_.figures[before].begin(), alike)) {
        return table_of_[before];
      }
    }
    PartTable& table = tables_.emplace_back();
    for (std::size_t setting = 0; setting < settings_; ++setting) {
      const PassParts::Figures& at = parts_.figures[part][setting];
      table.energy_j.push_back(at.energy_j);
      table.lasts.push_back(static_cast<double>(at.lasts));
      table.change_behind.push_back(static_cast<double>(change_behind(part, setting)));
    }
    return tables_.size() - 1;
  }

  // Time of a change of setting behind a part, beyond the wait there.
  Picoseconds change_behind(std::size_t part, std::size_t setting) const {
    return std::max<Picoseconds>(0, change_ - parts_.figures[part][setting].waits());
  }

  Costs costs_of(const PartTable& table, double price, double weight) const {
    Costs out{std::vector<double>(settings_), std::vector<double>(settings_)};
    for (std::size_t setting = 0; setting < settings_; ++setting) {
      out.own[setting] = weight * table.energy_j[setting] + price * table.lasts[setting];
      out.change[setting] = price * table.change_behind[setting];
    }
    return out;
  }

  void find_best(const Costs& costs, const std::vector<double>& before, Best& out) const {
    for (std::size_t clock = 0; clock < clocks_; ++clock) {
      out.kept[clock] = before[clock] + costs.own[clock];
      out.changed[clock] = out.kept[clock] + costs.change[clock];
      out.kept_at[clock] = out.changed_at[clock] = static_cast<std::uint32_t>(clock);
    }
    for (std::size_t first = clocks_; first < settings_; first += clocks_) {
      for (std::size_t clock = 0; clock < clocks_; ++clock) {
        const double kept = before[clock] + costs.own[first + clock];
        const double changed = kept + costs.change[first + clock];
        const auto setting = static_cast<std::uint32_t>(first + clock);
        out.kept_at[clock] = kept < out.kept[clock] ? setting : out.kept_at[clock];
        out.kept[clock] = kept < out.kept[clock] ? kept : out.kept[clock];
        out.changed_at[clock] = changed < out.changed[clock] ? setting : out.changed_at[clock];
        out.changed[clock] = changed < out.changed[clock] ? changed : out.changed[clock];
      }
    }
  }

  // Returns the first setting of those that cost least.
  static std::uint32_t first_of_least(const std::vector<double>& costs, const std::vector<std::uint32_t>& settings) {
    const double least = *std::min_element(costs.begin(), costs.end());
    std::uint32_t out = std::numeric_limits<std::uint32_t>::max();
    for (std::size_t clock = 0; clock < costs.size(); ++clock) {
      if (costs[clock] == least) out = std::min(out, settings[clock]);
    }
    return out;
  }

  const PassParts& parts_;
  std::size_t settings_;
  std::size_t clocks_;
  Picoseconds change_;
  SettingList list_;
  std::vector<PartTable> tables_;
  std::vector<std::size_t> table_of_;  // by part
};

// A step for the time of a change of clock, behind the kernels of a part.
BodyStep change_step(Picoseconds change) {
  BodyStep step;
  step.name = "change of clock";
  step.activity = Activity::host;
  step.device = change;
  return step;
}

// A block whose kernels have settings of their own.
class MixedBlock {
 public:
  explicit MixedBlock(const std::vector<BodyStep>& steps) : steps_(steps), changes_(steps.size()) {
    for (std::size_t i = 0; i < steps.size(); ++i) order_.push_back(i);
  }

  std::size_t size() const { return steps_.size(); }
  bool is_kernel_at(std::size_t i) const { return is_kernel(steps_[i]); }

  // `change`: time of a change of clock behind the kernel; 0: none.
  void set_kernel(std::size_t i, const BodyStep& own, Picoseconds change) {
    steps_[i].device = own.device;
    steps_[i].energy_j = own.energy_j;
    changes_[i] = change;
  }

  // Gives a collective the multiprocessors that `own` has, and the time and the bytes that follow.
  void set_collective(std::size_t i, const BodyStep& own) {
    steps_[i].device = own.device;
    steps_[i].energy_j = own.energy_j;
    steps_[i].held_share = own.held_share;
    steps_[i].memory_bytes = own.memory_bytes;
  }

  // Lets the collectives before the kernels from `first` on start with kernel `launch` of these. `own`: the block's
  // steps at the setting of these kernels.
  void launch(std::span<const BodyStep> own, std::size_t first, std::size_t launch, double memory_bytes_per_s) {
    const KernelsBeside place = kernels_from(own, first);
    const auto times = launched_with(own, times_of(own).starts, place, launch, memory_bytes_per_s);
    if (!times) fail_internal("collectives cannot start later");
    for (std::size_t i = place.kernels; i < place.end; ++i) steps_[i].device = times->device[i - place.kernels];
    const auto at = [&](std::size_t i) { return order_.begin() + static_cast<std::ptrdiff_t>(i); };
    std::rotate(at(place.collectives), at(place.kernels), at(place.kernels + launch));
    for (std::size_t i = place.collectives; i < place.kernels; ++i) {
      steps_[i].after.push_back(static_cast<int>(place.kernels + launch - 1));
    }
  }

  Body body() && {
    Body out;
    std::vector<int> places(steps_.size());  // of the steps in the new body
    for (const std::size_t i : order_) {
      BodyStep step = std::move(steps_[i]);
      for (int& before : step.after) before = places[static_cast<std::size_t>(before)];
      places[i] = static_cast<int>(out.steps.size());
      out.steps.push_back(std::move(step));
      if (changes_[i] > 0) out.steps.push_back(change_step(changes_[i]));
    }
    return out;
  }

 private:
  std::vector<BodyStep> steps_;
  std::vector<Picoseconds> changes_;
  std::vector<std::size_t> order_;
};

}  // namespace

PassParts parts_of(std::span<const PassSteps> settings, PartCut cut, std::optional<double> launches_at) {
  PassParts out;
  for (std::size_t setting = 0; setting < settings.size(); ++setting) {
    const std::vector<PassParts::Figures> at = PartsAtSetting(settings[setting], cut, launches_at).run();
    out.figures.resize(at.size());
    for (std::size_t part = 0; part < at.size(); ++part) out.figures[part].push_back(at[part]);
  }
  return out;
}

PartLaunches launches_of(const PassParts& parts, const PartSettings& plan) {
  PartLaunches out;
  for (std::size_t part = 0; part < plan.size(); ++part) out.push_back(parts.figures[part][plan[part]].launch);
  return out;
}

std::vector<PartSettings> hull_of_parts(const PassParts& parts, Picoseconds change, SettingList list) {
  if (parts.figures.empty()) return {};
  const PartPlans plans(parts, change, list);
  // The weight of the other figure settles ties alone.
  constexpr double kTie = 1e-9;
  std::vector<PartSettings> out = {plans.cheapest(1, kTie)};
  const PartSettings slowest = plans.cheapest(kTie * 1e-12, 1);
  plans.between(PartSettings(out.front()), slowest, out);
  if (out.back() != slowest) out.push_back(slowest);
  return out;
}

namespace {

// Finds the part of each collective of a pass (PartSettings), block after block: when a kernel waits for it, or the
// block ends.
class PartsOfCollectives {
 public:
  explicit PartsOfCollectives(std::size_t blocks) : parts_(blocks) {}

  void add(const BodyStep& step, std::size_t block, std::size_t i, std::size_t part) {
    if (block != block_) end_block();
    block_ = block;
    if (!is_kernel(step)) {
      open_.emplace_back(i, parts_[block].size());
      parts_[block].push_back(0);
      return;
    }
    const bool first = !any_kernel_ || part != last_part_;
    for (const int before : step.after) {
      std::erase_if(open_, [&](const std::pair<std::size_t, std::size_t>& open) {
        if (open.first != static_cast<std::size_t>(before)) return false;
        parts_[block][open.second] = first && part > 0 ? part - 1 : part;
        return true;
      });
    }
    any_kernel_ = true;
    last_part_ = part;
  }
  std::vector<std::vector<std::size_t>> parts() && {
    end_block();
    return std::move(parts_);
  }

 private:
  void end_block() {
    for (const auto& [step, collective] : open_) parts_[block_][collective] = last_part_;
    open_.clear();
  }

  std::vector<std::vector<std::size_t>> parts_;            // by block and collective
  std::vector<std::pair<std::size_t, std::size_t>> open_;  // step and number of those that no kernel has waited for yet
  std::size_t block_ = 0;
  std::size_t last_part_ = 0;
  bool any_kernel_ = false;
};

}  // namespace

std::vector<MixedPass::BlockPlan> MixedPass::by_block(const PartSettings& plan, const PartLaunches& launches) const {
  std::vector<BlockPlan> out(settings_.front().size());
  KernelPlan* last = nullptr;
  std::size_t last_part = plan.size();
  for (std::size_t block = 0; block < out.size(); ++block) {
    out[block].kernels.reserve(settings_.front()[block]->steps.size());
  }
  const SettingList& list = surroundings_.list;
  PartsOfCollectives collectives(out.size());
  each_step(settings_.front(), cut_, [&](const BodyStep& step, std::size_t block, std::size_t i, std::size_t part) {
    if (list.clocks > 0) collectives.add(step, block, i, part);
    if (!is_kernel(step)) return;
    const bool begins = part != last_part;
    if (begins && last != nullptr && surroundings_.change > 0) {
      last->change_behind = list.clock_of(plan[part]) != list.clock_of(plan[last_part]);
    }
    last = &out[block].kernels.emplace_back();
    last->setting = plan[part];
    if (begins && !launches.empty()) last->launch = launches[part];
    last_part = part;
  });
  if (list.clocks == 0) return out;
  const std::vector<std::vector<std::size_t>> parts = std::move(collectives).parts();
  for (std::size_t block = 0; block < out.size(); ++block) {
    for (const std::size_t part : parts[block]) out[block].collectives.push_back(list.highest_of(plan[part]));
  }
  return out;
}

Body MixedPass::mixed(std::size_t block, const BlockPlan& plan) const {
  MixedBlock out(settings_.front()[block]->steps);
  const auto own_steps = [&](std::size_t setting) -> const std::vector<BodyStep>& {
    return settings_[setting][block]->steps;
  };
  auto kernel = plan.kernels.begin();
  auto collective = plan.collectives.begin();
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out.is_kernel_at(i)) {
      out.set_kernel(i, own_steps(kernel->setting)[i], kernel->change_behind ? surroundings_.change : 0);
      ++kernel;
    } else if (collective != plan.collectives.end()) {
      out.set_collective(i, own_steps(*collective++)[i]);
    }
  }
  kernel = plan.kernels.begin();
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!out.is_kernel_at(i)) continue;
    if (kernel->launch > 0) {
      out.launch(own_steps(kernel->setting), i, kernel->launch, surroundings_.memory_bytes_per_s);
    }
    ++kernel;
  }
  return std::move(out).body();
}

FoldedBody MixedPass::folded(const PartSettings& plan, const PartLaunches& launches) {
  FoldedBody out;
  out.host = out.lead = surroundings_.pass_host;
  const std::vector<BlockPlan> blocks = by_block(plan, launches);
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    const auto [known, is_new] = known_.try_emplace({settings_.front()[block], blocks[block]});
    if (is_new) known->second = fold(mixed(block, blocks[block]));
    append(out, known->second);
  }
  return out;
}

}  // namespace mirfak
