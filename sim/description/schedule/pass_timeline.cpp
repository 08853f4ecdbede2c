#include "schedule/pass_timeline.hpp"

#include "base/cancellation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace mirfak {

namespace {

constexpr std::int64_t kNotYet = -1;

// Runs passes and keeps the end times that other stages wait for: those of forward passes and of gradients of inputs,
// by part and microbatch.
class Runner {
 public:
  Runner(const StageOrders& orders, const Placement& placement, const PassTimes& times)
      : orders_(orders), placement_(placement), times_(times), next_(orders.size()), free_(orders.size()) {
    for (const auto& order : orders) {
      for (const Pass& pass : order) microbatches_ = std::max(microbatches_, pass.microbatch + 1);
      out_.stages.emplace_back(order.size());
    }
    for (auto& ends : ends_) {
      ends.assign(static_cast<std::size_t>(placement.parts()) * static_cast<std::size_t>(microbatches_), kNotYet);
    }
  }

  PassTimeline run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t stage = 0; stage < orders_.size(); ++stage) {
        while (next_[stage] < orders_[stage].size() && step(stage)) moved = true;
      }
    }
    for (std::size_t stage = 0; stage < orders_.size() && !out_.stuck; ++stage) {
      if (next_[stage] < orders_[stage].size()) out_.stuck = waiting(stage);
    }
    return std::move(out_);
  }

 private:
  std::int64_t& end_of(bool forward, int part, int microbatch) {
    return ends_[forward ? 0 : 1][static_cast<std::size_t>(part) * static_cast<std::size_t>(microbatches_) +
                                  static_cast<std::size_t>(microbatch)];
  }

  // Returns the time at which the input of a pass has arrived; kNotYet: the pass that makes the input has not run.
  std::int64_t arrival(int stage, const Pass& pass) {
    if (pass.kind == Pass::Kind::backward_weight) return 0;
    const int part = placement_.part_of(stage, pass.chunk);
    const bool forward = is_forward(pass.kind);
    if (forward && part == 0) return 0;
    if (!forward && part + 1 == placement_.parts()) return end_of(true, part, pass.microbatch);
    const int other = forward ? part - 1 : part + 1;
    const std::int64_t end = end_of(forward, other, pass.microbatch);
    const bool here = placement_.place_of(other, pass.microbatch).stage == stage;
    return end == kNotYet || here ? end : end + times_.transfer;
  }

  // Returns the pass of a stuck stage whose input has not arrived: the next one, or its partner.
  PassIndex waiting(std::size_t stage) {
    std::size_t index = next_[stage];
    while (arrival(static_cast<int>(stage), orders_[stage][index]) != kNotYet) ++index;
    return {static_cast<int>(stage), index};
  }

  std::int64_t duration(int stage, const Pass& pass) const {
    const PassTimes::OfChunk& of = times_.of(stage, pass.chunk);
    switch (pass.kind) {
      case Pass::Kind::forward:
        return of.forward;
      case Pass::Kind::backward_input:
        return of.backward_input;
      case Pass::Kind::backward_weight:
        return of.backward_weight;
      case Pass::Kind::backward:
        break;
    }
    return of.backward_input + of.backward_weight;
  }

  bool step(std::size_t stage) {
    steps_.step();
    const std::vector<Pass>& order = orders_[stage];
    const std::size_t first = next_[stage];
    std::size_t last = first;
    while (order[last].with_next && last + 1 < order.size()) ++last;
    std::int64_t start = free_[stage];
    std::int64_t lasts = 0;
    for (std::size_t i = first; i <= last; ++i) {
      const std::int64_t arrived = arrival(static_cast<int>(stage), order[i]);
      if (arrived == kNotYet) return false;
      start = std::max(start, arrived);
      lasts += duration(static_cast<int>(stage), order[i]);
    }
    const std::int64_t pair = times_.of(static_cast<int>(stage), order[first].chunk).pair;
    if (last > first && pair > 0) lasts = pair;
    for (std::size_t i = first; i <= last; ++i) {
      out_.stages[stage][i] = {start, start + lasts};
      const int part = placement_.part_of(static_cast<int>(stage), order[i].chunk);
      if (order[i].kind == Pass::Kind::backward_weight) continue;
      end_of(is_forward(order[i].kind), part, order[i].microbatch) = start + lasts;
    }
    free_[stage] = start + lasts;
    next_[stage] = last + 1;
    return true;
  }

  const StageOrders& orders_;
  const Placement& placement_;
  const PassTimes& times_;
  int microbatches_ = 0;
  std::vector<std::size_t> next_;
  std::vector<std::int64_t> free_;
  std::array<std::vector<std::int64_t>, 2> ends_;
  CancellationSteps steps_;
  PassTimeline out_;
};

char letter_of(Pass::Kind kind) { return "FBIW"[static_cast<std::size_t>(kind)]; }

// State of one chunk pass while the order of its stage is read.
struct Seen {
  std::array<bool, 4> ran{};
  std::array<std::size_t, 4> at{};
};

// Check of the passes of one stage.
class StageCheck {
 public:
  StageCheck(const Placement& placement, int stage, int microbatches)
      : placement_(placement), stage_(stage), microbatches_(microbatches) {}

  std::optional<OrderFault> run(const std::vector<Pass>& order) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (auto wrong = wrong_here(order, i)) return OrderFault{{stage_, i}, wrong->first, wrong->second};
      Seen& seen = seen_[{order[i].chunk, order[i].microbatch}];
      seen.ran[static_cast<std::size_t>(order[i].kind)] = true;
      seen.at[static_cast<std::size_t>(order[i].kind)] = i;
    }
    return missing();
  }

 private:
  using Wrong = std::optional<std::pair<std::string, std::string>>;

  std::string text(const Pass& pass) const { return pass_text(placement_, stage_, pass); }

  Wrong wrong_here(const std::vector<Pass>& order, std::size_t index) {
    const Pass& pass = order[index];
    const Seen& seen = seen_[{pass.chunk, pass.microbatch}];
    const auto ran = [&](Pass::Kind kind) { return seen.ran[static_cast<std::size_t>(kind)]; };
    const auto wrong = [](std::string message, std::string hint) {
      return Wrong(std::pair(std::move(message), std::move(hint)));
    };
    const Place place = placement_.place_of(placement_.part_of(stage_, pass.chunk), pass.microbatch);
    if (place != Place{stage_, pass.chunk}) {
      return wrong(fmt::format("{} runs on stage {} too", text(pass), place.stage),
                   "every pass of a microbatch runs on one of the stages that hold its part");
    }
    if (ran(pass.kind)) return wrong(fmt::format("{} stands here a second time", text(pass)), "every pass runs once");
    if (!is_forward(pass.kind) && !ran(Pass::Kind::forward)) {
      return wrong(fmt::format("{} stands before its forward pass {}", text(pass), forward_text(pass)), {});
    }
    if (makes_input_gradient(pass.kind) && (ran(Pass::Kind::backward) || ran(Pass::Kind::backward_input))) {
      return wrong(fmt::format("{} makes gradients of inputs that are there already", text(pass)),
                   "a backward pass is whole (B) or split (I and W)");
    }
    if (pass.kind == Pass::Kind::backward_weight && !ran(Pass::Kind::backward_input)) {
      return wrong(fmt::format("{} stands before the backward pass of inputs that it needs", text(pass)),
                   "W follows I of the same microbatch");
    }
    if (!pass.with_next) return std::nullopt;
    const bool pair = index + 1 < order.size() && is_forward(pass.kind) && !is_forward(order[index + 1].kind) &&
                      !order[index + 1].with_next;
    if (pair) return std::nullopt;
    return wrong(fmt::format("{} runs at the same time as something else than one backward pass", text(pass)),
                 "a pair is a forward and a backward pass");
  }

  std::string forward_text(Pass pass) const {
    pass.kind = Pass::Kind::forward;
    return text(pass);
  }

  // Finds a chunk pass that some microbatch of this stage lacks.
  std::optional<OrderFault> missing() {
    for (int chunk = 0; chunk < placement_.chunks(stage_); ++chunk) {
      for (int microbatch = 0; microbatch < microbatches_; ++microbatch) {
        if (placement_.place_of(placement_.part_of(stage_, chunk), microbatch) != Place{stage_, chunk}) continue;
        const Seen& seen = seen_[{chunk, microbatch}];
        const auto lacks = [&](Pass::Kind kind, Pass::Kind behind, const char* words) {
          return OrderFault{{stage_, seen.at[static_cast<std::size_t>(behind)]},
                            fmt::format("{} is missing: {}", text({kind, chunk, microbatch}), words),
                            {}};
        };
        using Kind = Pass::Kind;
        const auto ran = [&](Kind kind) { return seen.ran[static_cast<std::size_t>(kind)]; };
        if (!ran(Kind::forward)) return lacks(Kind::forward, Kind::forward, "the stage never runs it");
        if (!ran(Kind::backward) && !ran(Kind::backward_input)) {
          return lacks(Kind::backward, Kind::forward, "there is a forward pass and no backward pass");
        }
        if (ran(Kind::backward_input) && !ran(Kind::backward_weight)) {
          return lacks(Kind::backward_weight, Kind::backward_input, "there is a backward pass of inputs alone");
        }
      }
    }
    return std::nullopt;
  }

  const Placement& placement_;
  int stage_;
  int microbatches_;
  std::map<std::pair<std::int32_t, std::int32_t>, Seen> seen_;  // keys are chunk and microbatch
};

// Returns the pass that a stuck pass waits for, as text.
std::string awaited_text(const Placement& placement, int stage, Pass pass) {
  const int part = placement.part_of(stage, pass.chunk);
  const int other = is_forward(pass.kind) ? part - 1 : part + 1;
  return fmt::format("{}{}{}", other, is_forward(pass.kind) ? "F" : "B (or I) ", pass.microbatch);
}

}  // namespace

std::int64_t PassTimeline::end() const {
  std::int64_t out = 0;
  for (const auto& stage : stages) out = std::max(out, stage.empty() ? 0 : stage.back().end);
  return out;
}

std::int64_t PassTimeline::span(int stage) const {
  const auto& passes = stages[static_cast<std::size_t>(stage)];
  return passes.empty() ? 0 : passes.back().end - passes.front().start;
}

std::int64_t PassTimeline::longest_span() const {
  std::int64_t out = 0;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) out = std::max(out, span(static_cast<int>(stage)));
  return out;
}

std::int64_t PassTimeline::idle(int stage) const {
  std::int64_t out = 0;
  const auto& passes = stages[static_cast<std::size_t>(stage)];
  for (std::size_t i = 1; i < passes.size(); ++i) out += std::max<std::int64_t>(0, passes[i].start - passes[i - 1].end);
  return out;
}

PassTimeline run_passes(const StageOrders& orders, const Placement& placement, const PassTimes& times) {
  return Runner(orders, placement, times).run();
}

int max_in_flight(const std::vector<Pass>& order) {
  int now = 0;
  int most = 0;
  for (const Pass& pass : order) {
    if (is_forward(pass.kind)) most = std::max(most, ++now);
    if (makes_weight_gradient(pass.kind)) --now;
  }
  return most;
}

std::optional<OrderFault> first_fault(const StageOrders& orders, const Placement& placement, int microbatches) {
  for (int stage = 0; stage < placement.stages(); ++stage) {
    StageCheck check(placement, stage, microbatches);
    if (auto fault = check.run(orders[static_cast<std::size_t>(stage)])) return fault;
  }
  const PassTimeline timeline = run_passes(orders, placement, {});
  if (!timeline.stuck) return std::nullopt;
  const auto [stage, index] = *timeline.stuck;
  const Pass& pass = orders[static_cast<std::size_t>(stage)][index];
  const std::string awaited = awaited_text(placement, stage, pass);
  return OrderFault{
      *timeline.stuck,
      fmt::format("deadlock: {} waits for {}, which never runs", pass_text(placement, stage, pass), awaited),
      "stages wait for each other in a circle: move a pass of one of them"};
}

std::string pass_text(const Placement& placement, int stage, const Pass& pass) {
  return fmt::format("{}{}{}", placement.part_of(stage, pass.chunk), letter_of(pass.kind), pass.microbatch);
}

}  // namespace mirfak
