#include "energy/pass_ways.hpp"

#include "base/error.hpp"
#include "base/parallel.hpp"

#include <algorithm>
#include <array>

namespace mirfak {

namespace {

// Takes over what depends on the clock and on the multiprocessors of collectives.
void take_times(const BodyStep& from, BodyStep& to) {
  to.device = from.device;
  to.lost = from.lost;
  to.energy_j = from.energy_j;
  to.held_share = from.held_share;
  to.memory_bytes = from.memory_bytes;
}

// Two parts of a microbatch run on each other's time, so a body's order depends on its clock. Returns the body of a
// lower clock in the order of the highest: a step of a part is found by the part, its index there, and how many such
// steps stand before it (a block at the end of a row has its late steps twice). Nothing if the bodies have other steps.
std::optional<Body> in_order_of(const PairedBody& highest, const PairedBody& other) {
  using Key = std::array<int, 3>;
  const auto keys = [](const PairedBody& of) {
    std::map<std::pair<int, int>, int> seen;
    std::vector<Key> out;
    for (const PairedBody::Origin& origin : of.origins) {
      const int part = origin.backward ? 1 : 0;
      out.push_back({part, origin.step, seen[{part, origin.step}]++});
    }
    return out;
  };
  std::map<Key, std::size_t> place;
  const std::vector<Key> of_other = keys(other);
  for (std::size_t i = 0; i < of_other.size(); ++i) place[of_other[i]] = i;
  Body out = highest.body;
  const std::vector<Key> of_highest = keys(highest);
  if (of_highest.size() != of_other.size()) return {};
  for (std::size_t i = 0; i < out.steps.size(); ++i) {
    const auto found = place.find(of_highest[i]);
    if (found == place.end()) return {};
    take_times(other.body.steps[found->second], out.steps[i]);
  }
  return out;
}

// Returns a body with the times of another, whose steps stand in the same order. Nothing if they do not.
std::optional<Body> with_times_of(const Body& own, const Body& other) {
  if (own.steps.size() != other.steps.size()) return {};
  Body out = own;
  for (std::size_t i = 0; i < out.steps.size(); ++i) {
    if (out.steps[i].stream != other.steps[i].stream || out.steps[i].after != other.steps[i].after) return {};
    take_times(other.steps[i], out.steps[i]);
  }
  return out;
}

// Returns a body in which no kernel is faster than at the highest clock. One clock for all lets kernels before a kernel
// take longer, so that it loses less to a collective; with clocks of their own it must not have that from theirs.
Body no_faster(Body body, const Body& highest) {
  for (std::size_t i = 0; i < body.steps.size(); ++i) {
    body.steps[i].device = std::max(body.steps[i].device, highest.steps[i].device);
  }
  return body;
}

// The clocks of a plan's parts, and their mean over the time of the kernels.
struct PartClocks {
  std::vector<PassWay::Run> runs;
  double mean_hz = 0;
};

PartClocks clocks_of(const PassParts& parts, const PartSettings& plan, const std::vector<double>& clocks,
                     SettingList list) {
  PartClocks out;
  double seconds = 0;
  for (std::size_t part = 0; part < plan.size(); ++part) {
    const double clock = clocks[list.clock_of(plan[part])];
    if (out.runs.empty() || out.runs.back().clock_hz != clock) out.runs.push_back({clock, 0});
    ++out.runs.back().parts;
    const double lasts = to_seconds(parts.figures[part][plan[part]].kernels);
    out.mean_hz += clock * lasts;
    seconds += lasts;
  }
  out.mean_hz = seconds > 0 ? out.mean_hz / seconds : clocks.front();
  return out;
}

}  // namespace

PassWays::PassWays(Job job, const std::vector<std::vector<double>>& clocks)
    : job_(std::make_unique<const Job>(std::move(job))), blocks_(shard_blocks(*job_)), clocks_(clocks) {
  std::size_t settings = 0;
  for (const std::vector<double>& of_stage : clocks_) settings = std::max(settings, of_stage.size());
  at_.resize(settings);
  BodyCache bodies;
  parallel_for(settings, [&](std::size_t setting) {
    std::vector<double> limits;
    for (int stage = 0; stage < job_->strategy.pipeline; ++stage) {
      const std::vector<double>& own = clocks_[static_cast<std::size_t>(stage)];
      limits.push_back(own[std::min(setting, own.size() - 1)] /
                       job_->hardware_of(stage, 0).hardware.gpu.clock_max_hz.value);
    }
    at_[setting] = plan_stages(*job_, blocks_, limits, bodies);
  });
}

FoldedBody PassWays::at_highest(const PassPlace& of) const { return plan(of, 0).folded(chunk(of), of.kind); }

bool PassWays::host_decides(const PassPlace& of) const {
  const FoldedBody folded = at_highest(of);
  return folded.host > folded.device;
}

const Body& PassWays::block_of(const PassPlace& of, int index, std::size_t setting) {
  const ChunkPlan& blocks = chunk(of);
  const BlockId block = blocks.in_pass(index, of.kind);
  const RowPlace place = place_in_row(plan(of, 0), blocks, of.kind, 0, blocks.blocks(), index);
  const auto body = [&](std::size_t at) -> const Body& {
    return body_of(plan(of, at).bodies_of(block), of.kind, place);
  };
  const RowBodies& row = row_of(plan(of, 0).bodies_of(block), of.kind);
  if (row.empty() || setting == 0) return body(setting);
  const auto [known, is_new] = ordered_.try_emplace({&body(0), setting});
  if (is_new) {
    const RowBodies& lower = row_of(plan(of, setting).bodies_of(block), of.kind);
    std::optional<Body> ordered = in_order_of(row.placed(place).steps, lower.placed(place).steps);
    if (!ordered) fail_internal("a clock changes the steps of a pass");
    known->second = std::move(*ordered);
  }
  return known->second;
}

const Body& PassWays::no_faster_block_of(const PassPlace& of, int index, std::size_t setting) {
  const Body& highest = block_of(of, index, 0);
  if (setting == 0) return highest;
  const auto [known, is_new] = no_faster_.try_emplace({&highest, setting});
  if (is_new) known->second = no_faster(block_of(of, index, setting), highest);
  return known->second;
}

PassSteps PassWays::steps_of(const PassPlace& of, std::size_t setting, PartCut cut) {
  PassSteps out;
  for (int i = 0; i < chunk(of).blocks(); ++i) {
    const bool by_class = cut == PartCut::kernel_classes;
    out.push_back(by_class ? &no_faster_block_of(of, i, setting) : &block_of(of, i, setting));
  }
  return out;
}

// Returns the body of another way in the order of this one's; nullptr: its steps differ in more than times.
const Body* PassWays::block_in_order(PassWays& other, const PassPlace& of, int index, std::size_t setting) {
  const Body& own = block_of(of, index, 0);
  const Body& of_other = other.block_of(of, index, setting);
  const auto [known, is_new] = of_others_.try_emplace({&own, &of_other});
  if (is_new) {
    const ChunkPlan& blocks = chunk(of);
    const BlockId block = blocks.in_pass(index, of.kind);
    const RowPlace place = place_in_row(plan(of, 0), blocks, of.kind, 0, blocks.blocks(), index);
    const RowBodies& row = row_of(plan(of, 0).bodies_of(block), of.kind);
    const RowBodies& other_row = row_of(other.plan(of, setting).bodies_of(block), of.kind);
    known->second = row.empty() ? with_times_of(own, of_other)
                                : in_order_of(row.placed(place).steps, other_row.placed(place).steps);
  }
  return known->second ? &*known->second : nullptr;
}

std::optional<PassSteps> PassWays::steps_in_order(PassWays& other, const PassPlace& of, std::size_t setting) {
  PassSteps out;
  for (int i = 0; i < chunk(of).blocks(); ++i) {
    out.push_back(block_in_order(other, of, i, setting));
    if (out.back() == nullptr) return {};
  }
  return out;
}

// Adds plans of one setting each and, with clocks of parts, those of the hull. `late`: with the launches of the
// figures, without plans whose collectives all start as soon as they can.
void PassWays::add_hull(const PassParts& parts, const Inside& inside, bool late, SettingList list,
                        std::vector<Plan>& out) {
  std::vector<PartSettings> plans;
  for (std::size_t setting = 0; setting < parts.figures.front().size(); ++setting) {
    plans.emplace_back(parts.figures.size(), setting);
  }
  if (inside.change) {
    for (PartSettings& plan : hull_of_parts(parts, *inside.change, list)) plans.push_back(std::move(plan));
  }
  for (PartSettings& plan : plans) {
    PartLaunches launches = late ? launches_of(parts, plan) : PartLaunches{};
    const auto is_late = [](std::size_t launch) { return launch > 0; };
    if (late && std::none_of(launches.begin(), launches.end(), is_late)) continue;
    out.push_back({std::move(plan), std::move(launches)});
  }
}

std::vector<PassWays::Plan> PassWays::plans_of(std::span<const PassSteps> settings, const PassParts& parts,
                                               const PassPlace& of, const Inside& inside, SettingList list) const {
  std::vector<Plan> out;
  add_hull(parts, inside, false, list, out);
  if (inside.launches) add_hull(parts_of(settings, inside.cut, memory_bytes_per_s(of)), inside, true, list, out);
  return out;
}

MixedPass PassWays::mixed(std::span<const PassSteps> settings, const PassPlace& of, const Inside& inside,
                          SettingList list) const {
  return {settings, inside.cut, {inside.change.value_or(0), plan(of, 0).pass_host, memory_bytes_per_s(of), list}};
}

double PassWays::memory_bytes_per_s(const PassPlace& of) const {
  return shared_memory_bytes_per_s(plan(of, 0).costs.hardware->hardware.gpu);
}

std::shared_ptr<PassWay> PassWays::way_of(const Plan& plan, std::vector<PassWay::Run> clocks) const {
  auto out = std::make_shared<PassWay>();
  out->nanobatches = job_->strategy.nanobatches;
  out->communication_sms = job_->strategy.communication_sms;
  out->clocks = std::move(clocks);
  for (std::size_t part = 0; part < plan.launches.size(); ++part) {
    const auto kernel = static_cast<int>(plan.launches[part]);
    if (kernel > 0) out->launches.push_back({static_cast<int>(part), kernel});
  }
  return out;
}

std::vector<ClockChoice> PassWays::choices(const PassPlace& of, const Inside& inside, double ranks) {
  const std::vector<double>& clocks = clocks_[static_cast<std::size_t>(of.stage)];
  std::vector<PassSteps> settings;
  for (std::size_t setting = 0; setting < clocks.size(); ++setting)
    settings.push_back(steps_of(of, setting, inside.cut));
  const PassParts parts = parts_of(settings, inside.cut);
  const std::vector<Plan> plans = plans_of(settings, parts, of, inside, {});
  MixedPass pass = mixed(settings, of, inside, {});
  std::vector<ClockChoice> out;
  Picoseconds longest = 0;  // of one clock: no plan of parts is worth waiting for its changes for longer
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const Plan& each = plans[i];
    const FoldedBody folded = pass.folded(each.settings, each.launches);
    if (i < clocks.size()) longest = std::max(longest, folded.device);
    if (folded.device > longest) continue;
    PartClocks run = clocks_of(parts, each.settings, clocks, {});
    out.push_back({run.mean_hz, folded.device, folded.energy_j * ranks, way_of(each, std::move(run.runs))});
  }
  return out;
}

std::optional<std::vector<ClockChoice>> PassWays::choices_with(std::span<PassWays* const> others, const PassPlace& of,
                                                               const Inside& inside, double ranks) {
  const std::vector<double>& clocks = clocks_[static_cast<std::size_t>(of.stage)];
  const SettingList list{clocks.size()};
  std::vector<int> multiprocessors = {job_->strategy.communication_sms};
  std::vector<PassSteps> settings;
  for (std::size_t setting = 0; setting < clocks.size(); ++setting) {
    settings.push_back(steps_of(of, setting, inside.cut));
  }
  for (PassWays* other : others) {
    multiprocessors.push_back(other->job_->strategy.communication_sms);
    for (std::size_t setting = 0; setting < clocks.size(); ++setting) {
      const std::optional<PassSteps> steps = steps_in_order(*other, of, setting);
      if (!steps) return {};
      settings.push_back(*steps);
    }
  }
  const PassParts parts = parts_of(settings, inside.cut);
  MixedPass pass = mixed(settings, of, inside, list);
  std::vector<ClockChoice> out;
  for (const Plan& each : plans_of(settings, parts, of, inside, list)) {
    const auto same = [&](std::size_t setting) {
      return list.highest_of(setting) == list.highest_of(each.settings.front());
    };
    if (std::all_of(each.settings.begin(), each.settings.end(), same)) continue;  // a choice of choices()
    const FoldedBody folded = pass.folded(each.settings, each.launches);
    PartClocks run = clocks_of(parts, each.settings, clocks, list);
    const std::shared_ptr<PassWay> way = way_of(each, std::move(run.runs));
    for (const std::size_t setting : each.settings) {
      const int own = multiprocessors[list.highest_of(setting) / clocks.size()];
      if (way->channels.empty() || way->channels.back().communication_sms != own) way->channels.push_back({own, 0});
      ++way->channels.back().parts;
    }
    out.push_back({run.mean_hz, folded.device, folded.energy_j * ranks, way});
  }
  return out;
}

}  // namespace mirfak
