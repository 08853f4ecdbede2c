// Published formulas against orders that are executed pass by pass. A stage's bubble is what it idles from its first
// pass to its last: no stage waits for all others before its optimizer step (post-validation, arXiv 2401.10241, section
// 4).

#include "schedule/pass_timeline.hpp"
#include "schedule/schedule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace mirfak;

namespace {

struct Times {
  std::int64_t f = 1;  // forward
  std::int64_t b = 1;  // backward of inputs
  std::int64_t w = 1;  // backward of weights
  std::int64_t pair = 0;
};

struct Executed {
  std::int64_t span = 0;  // of the stage that takes longest
  int in_flight = 0;      // most of any stage, in chunk passes
};

Executed run(const char* name, const PipelineShape& shape, const Times& of) {
  const Schedule& schedule = schedule_of(schedule_named(name));
  PassTimes times;
  times.others = {of.f, of.b, of.w, of.pair};
  const StageOrders orders = schedule.orders(shape, times);
  Executed out;
  out.span = run_passes(orders, schedule.placement(shape), times).longest_span();
  for (const auto& order : orders) out.in_flight = std::max(out.in_flight, max_in_flight(order));
  return out;
}

// Equal and unequal, weights never longer than the others: the formulas' premise, that they fill what is idle.
const std::vector<Times> kTimes = {{1, 1, 1}, {2, 2, 1}, {10, 12, 8}, {10, 8, 8}, {4, 5, 1}, {9, 7, 6}};

}  // namespace

TEST_CASE("1F1B, ZB-H1 and ZB-H2: bubbles and memory of arXiv 2401.10241, tables 2 and 3") {
  for (const int p : {2, 4, 8}) {
    for (const int m : {2 * p, 3 * p + 1, 8 * p}) {
      for (const Times& t : kTimes) {
        CAPTURE(p);
        CAPTURE(m);
        const PipelineShape shape{p, 1, m, p};
        const std::int64_t work = m * (t.f + t.b + t.w);
        const Executed plain = run("1f1b", shape, t);
        CHECK(plain.span - work == (p - 1) * (t.f + t.b + t.w));
        CHECK(plain.in_flight == p);
        const Executed h1 = run("zb-h1", shape, t);
        CHECK(h1.span - work == (p - 1) * (t.f + t.b - t.w));
        CHECK(h1.in_flight == p);
        const Executed h2 = run("zb-h2", shape, t);
        CHECK(h2.span - work == std::max<std::int64_t>(0, (p - 1) * (t.f + t.b - 2 * t.w)));
        CHECK(h2.in_flight == 2 * p - 1);
      }
    }
  }
}

TEST_CASE("ZB-V: no bubble where passes are equal, at the memory of 1F1B (arXiv 2405.15362)") {
  for (const int p : {2, 3, 4, 8}) {
    for (const int m : {2 * p, 3 * p + 1, 8 * p}) {
      const Executed v = run("zb-v", {p, 2, m, p}, {1, 1, 1});
      CHECK(v.span == 2 * m * 3);
      CHECK(v.in_flight == 2 * p);  // chunk passes: p microbatches of both chunks
      const Executed unequal = run("zb-v", {p, 2, m, p}, {10, 12, 8});
      const Executed plain = run("1f1b", {p, 1, m, p}, {20, 24, 16});
      CHECK(unequal.span < plain.span);
    }
  }
}

TEST_CASE("DualPipe: (p / 2 - 1)(F&B + B - 3 W) and p + 1 chunk passes (DeepSeek-V3, table 2)") {
  // The report counts B as the whole backward pass. Where a backward pass of inputs takes as long as a forward pass and
  // a pair as long as both, or with 4 stages, the formula holds to the last unit. A pair that is shorter than both
  // saves more than it says: in warm-up, p / 2 - 2 forward passes stand alone on the way that the formula counts as
  // pairs.
  for (const int p : {2, 4, 8, 16}) {
    for (const int m : {2 * p, 4 * p, 4 * p + 2}) {
      for (const Times& t : std::vector<Times>{{1, 1, 1, 3}, {2, 2, 1, 5}, {2, 2, 1, 4}, {3, 3, 2, 7}, {9, 9, 7, 20}}) {
        CAPTURE(p);
        CAPTURE(m);
        CAPTURE(t.pair);
        const Schedule& schedule = schedule_of(schedule_named("dualpipe"));
        const PipelineShape shape{p, 2, m, p};
        PassTimes times;
        times.others = {t.f, t.b, t.w, t.pair};
        const StageOrders orders = schedule.orders(shape, times);
        const PassTimeline timeline = run_passes(orders, schedule.placement(shape), times);
        std::int64_t most = 0;
        for (int stage = 0; stage < p; ++stage) most = std::max(most, timeline.idle(stage));
        const std::int64_t published = (p / 2 - 1) * (t.pair + (t.b + t.w) - 3 * t.w);
        CHECK(most == published - std::max(0, p / 2 - 2) * (t.f + t.b + t.w - t.pair));
        for (const auto& order : orders) CHECK(max_in_flight(order) <= p + 1);
      }
    }
  }
}

TEST_CASE("DualPipe folded in the middle idles as the outer half of twice the stages") {
  for (const int p : {1, 2, 4}) {
    const Times t{3, 3, 2, 7};
    PassTimes times;
    times.others = {t.f, t.b, t.w, t.pair};
    const Schedule& whole = schedule_of(schedule_named("dualpipe"));
    const Schedule& folded = schedule_of(schedule_named("dualpipe-v"));
    const int m = 6 * p;
    const PipelineShape both{2 * p, 2, 2 * m, 2 * p};
    const PipelineShape vee{p, 2, m, p};
    const PassTimeline a = run_passes(whole.orders(both, times), whole.placement(both), times);
    const PassTimeline b = run_passes(folded.orders(vee, times), folded.placement(vee), times);
    for (int stage = 0; stage < p; ++stage) CHECK(a.span(stage) == b.span(stage));
  }
}

TEST_CASE("the heuristic keeps within its memory and is never longer than ZB-H1 at its own") {
  for (const int p : {2, 4, 8}) {
    for (const Times& t : std::vector<Times>{{1, 1, 1}, {10, 12, 8}, {4, 5, 1}, {8, 10, 12}, {1, 1, 3}, {7, 3, 5}}) {
      const int m = 3 * p + 1;
      PipelineShape shape{p, 1, m, p};
      const std::int64_t h1 = run("zb-h1", shape, t).span;
      std::int64_t before = 0;
      for (const int limit : {1, 2, p, p + p / 2, 2 * p - 1, 3 * p}) {
        CAPTURE(p);
        CAPTURE(limit);
        shape.max_in_flight = limit;
        const Executed found = run("zb-auto", shape, t);
        CHECK(found.in_flight <= limit);
        if (limit >= p) CHECK(found.span <= h1);
        if (before > 0 && limit > p) CHECK(found.span <= before);
        before = limit >= p ? found.span : 0;
      }
    }
  }
}

TEST_CASE("a transfer between stages delays what follows it") {
  // Two stages, one microbatch: F, transfer, F B, transfer, B.
  PassTimes times;
  times.others = {3, 2, 2, 0};
  times.transfer = 5;
  const Schedule& schedule = schedule_of(schedule_named("1f1b"));
  const PipelineShape shape{2, 1, 1, 2};
  CHECK(run_passes(schedule.orders(shape, times), schedule.placement(shape), times).end() == 3 + 5 + 3 + 4 + 5 + 4);
}
