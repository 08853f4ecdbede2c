#include "energy/part_clocks.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace mirfak {

namespace {

constexpr std::size_t kMaxCorners = 1000;

bool is_kernel(const BodyStep& step) { return step.stream == StreamKind::compute; }

// Calls `visit` with each step of a pass, the index of its block, its index there, and its part.
template <class Visit>
void each_step(const PassSteps& blocks, const Visit& visit) {
  std::size_t part = 0;
  bool any_kernel = false;
  bool behind_collective = false;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    const std::vector<BodyStep>& steps = blocks[block]->steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const bool kernel = is_kernel(steps[i]);
      if (kernel && behind_collective && any_kernel) ++part;
      any_kernel = any_kernel || kernel;
      behind_collective = !kernel;
      visit(steps[i], block, i, part);
    }
  }
}

// Times at which the kernels of a part begin and end, if the host is never late.
struct Span {
  Picoseconds start = 0;
  Picoseconds end = 0;
};

std::vector<Span> spans_of_parts(const PassSteps& blocks) {
  std::vector<Span> out;
  std::vector<Picoseconds> end;  // of the steps of a block
  std::array<Picoseconds, kStreamKinds> free{};
  each_step(blocks, [&](const BodyStep& step, std::size_t, std::size_t i, std::size_t part) {
    if (i == 0) {
      free.fill(*std::max_element(free.begin(), free.end()));
      end.clear();
    }
    Picoseconds& stream = free[static_cast<std::size_t>(step.stream)];
    Picoseconds start = stream;
    for (const int before : step.after) start = std::max(start, end[static_cast<std::size_t>(before)]);
    end.push_back(stream = start + step.device);
    if (!is_kernel(step)) return;
    if (part == out.size()) out.push_back({start, start});
    out.back().end = stream;
  });
  return out;
}

struct Total {
  Picoseconds duration = 0;
  double energy_j = 0;
};

class PartPlans {
 public:
  PartPlans(const PassParts& parts, Picoseconds change) : parts_(parts), settings_(parts.figures.front().size()) {
    for (const Picoseconds wait : parts.waits) changes_.push_back(std::max<Picoseconds>(0, change - wait));
  }

  // Returns the cheapest plan if a picosecond costs `price` joules, and energy counts `weight` times.
  PartSettings cheapest(double price, double weight) const {
    const auto cost = [&](std::size_t part, std::size_t setting) {
      const PassParts::Figures& at = parts_.figures[part][setting];
      return weight * at.energy_j + price * static_cast<double>(at.duration);
    };
    std::vector<double> best(settings_, 0);
    std::vector<std::vector<std::size_t>> from;
    for (std::size_t part = 0; part < parts_.figures.size(); ++part) {
      const std::size_t cheap = static_cast<std::size_t>(std::min_element(best.begin(), best.end()) - best.begin());
      const double changed = best[cheap] + price * static_cast<double>(changes_[part]);
      std::vector<std::size_t>& origin = from.emplace_back(settings_);
      std::vector<double> next(settings_);
      for (std::size_t setting = 0; setting < settings_; ++setting) {
        const bool stays = part == 0 || best[setting] <= changed;
        origin[setting] = stays ? setting : cheap;
        next[setting] = (stays ? best[setting] : changed) + cost(part, setting);
      }
      best = std::move(next);
    }
    PartSettings out(parts_.figures.size());
    std::size_t setting = static_cast<std::size_t>(std::min_element(best.begin(), best.end()) - best.begin());
    for (std::size_t part = out.size(); part-- > 0;) {
      out[part] = setting;
      setting = from[part][setting];
    }
    return out;
  }

  Total total(const PartSettings& plan) const {
    Total out;
    for (std::size_t part = 0; part < plan.size(); ++part) {
      const PassParts::Figures& at = parts_.figures[part][plan[part]];
      out.duration += at.duration;
      out.energy_j += at.energy_j;
      if (part > 0 && plan[part] != plan[part - 1]) out.duration += changes_[part];
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
  const PassParts& parts_;
  std::size_t settings_;
  std::vector<Picoseconds> changes_;  // by part: time of a change of setting before it
};

// A step for the time of a change of clock, behind the kernels of a part.
BodyStep change_step(Picoseconds change) {
  BodyStep step;
  step.name = "change of clock";
  step.activity = Activity::host;
  step.device = change;
  return step;
}

}  // namespace

PassParts parts_of(std::span<const PassSteps> settings) {
  PassParts out;
  for (std::size_t setting = 0; setting < settings.size(); ++setting) {
    each_step(settings[setting], [&](const BodyStep& step, std::size_t, std::size_t, std::size_t part) {
      if (!is_kernel(step)) return;
      if (part == out.figures.size()) out.figures.emplace_back(settings.size());
      out.figures[part][setting].duration += step.device;
      out.figures[part][setting].energy_j += step.energy_j;
    });
  }
  const std::vector<Span> spans = spans_of_parts(settings.front());
  for (std::size_t part = 0; part < spans.size(); ++part) {
    out.waits.push_back(part == 0 ? 0 : spans[part].start - spans[part - 1].end);
  }
  return out;
}

std::vector<PartSettings> hull_of_parts(const PassParts& parts, Picoseconds change) {
  if (parts.figures.empty()) return {};
  const PartPlans plans(parts, change);
  // The weight of the other figure settles ties alone.
  constexpr double kTie = 1e-9;
  std::vector<PartSettings> out = {plans.cheapest(1, kTie)};
  const PartSettings slowest = plans.cheapest(kTie * 1e-12, 1);
  plans.between(PartSettings(out.front()), slowest, out);
  if (out.back() != slowest) out.push_back(slowest);
  return out;
}

std::vector<MixedPass::BlockSettings> MixedPass::by_block(const PartSettings& plan) const {
  std::vector<BlockSettings> out(settings_.front().size());
  int* last = nullptr;
  std::size_t last_part = 0;
  for (std::size_t block = 0; block < out.size(); ++block) out[block].reserve(settings_.front()[block]->steps.size());
  each_step(settings_.front(), [&](const BodyStep& step, std::size_t block, std::size_t, std::size_t part) {
    if (!is_kernel(step)) return;
    if (last != nullptr && plan[part] != plan[last_part] && change_ > 0) *last = -1 - *last;
    last = &out[block].emplace_back(static_cast<int>(plan[part]));
    last_part = part;
  });
  return out;
}

Body MixedPass::mixed(std::size_t block, const BlockSettings& kernels) const {
  Body out;
  std::vector<int> places;  // of the block's steps in the new body
  auto kernel = kernels.begin();
  const std::vector<BodyStep>& steps = settings_.front()[block]->steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    BodyStep step = steps[i];
    const int setting = is_kernel(step) ? *kernel++ : 0;
    if (is_kernel(step)) {
      const BodyStep& own = settings_[static_cast<std::size_t>(setting < 0 ? -1 - setting : setting)][block]->steps[i];
      step.device = own.device;
      step.energy_j = own.energy_j;
    }
    for (int& before : step.after) before = places[static_cast<std::size_t>(before)];
    places.push_back(static_cast<int>(out.steps.size()));
    out.steps.push_back(std::move(step));
    if (setting < 0) out.steps.push_back(change_step(change_));
  }
  return out;
}

FoldedBody MixedPass::folded(const PartSettings& plan) {
  FoldedBody out;
  out.host = out.lead = pass_host_;
  const std::vector<BlockSettings> blocks = by_block(plan);
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    const auto [known, is_new] = known_.try_emplace({settings_.front()[block], blocks[block]});
    if (is_new) known->second = fold(mixed(block, blocks[block]));
    append(out, known->second);
  }
  return out;
}

}  // namespace mirfak
