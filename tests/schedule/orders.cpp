#include "base/cancellation.hpp"
#include "schedule/pass_timeline.hpp"
#include "schedule/schedule.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <tuple>

using namespace mirfak;

namespace {

// "F0 F1 B0": passes of a schedule with one chunk.
std::string text(const std::vector<Pass>& order) {
  std::string out;
  for (const Pass& pass : order) {
    if (!out.empty()) out += ' ';
    out += pass.kind == Pass::Kind::forward ? 'F' : 'B';
    if (pass.chunk > 0) out += std::string(static_cast<std::size_t>(pass.chunk), '\'');
    out += std::to_string(pass.microbatch);
  }
  return out;
}

std::vector<Pass> order_of(const char* name, const PipelineShape& shape, int stage) {
  return schedule_of(schedule_named(name)).orders_of(shape)[static_cast<std::size_t>(stage)];
}

}  // namespace

TEST_CASE("orders of two stages and three microbatches") {
  const PipelineShape shape{2, 1, 3, 2};
  CHECK(text(order_of("gpipe", shape, 0)) == "F0 F1 F2 B0 B1 B2");
  CHECK(text(order_of("1f1b", shape, 0)) == "F0 F1 B0 F2 B1 B2");
  CHECK(text(order_of("1f1b", shape, 1)) == "F0 B0 F1 B1 F2 B2");
}

TEST_CASE("interleaved order of two stages, two chunks, four microbatches (arXiv 2104.04473, figure 4)") {
  const PipelineShape shape{2, 2, 4, 2};
  // Warm-up of stage 0: 2 (p - 0 - 1) + (v - 1) p = 4 passes; of stage 1: 2.
  CHECK(text(order_of("interleaved-1f1b", shape, 0)) == "F0 F1 F'0 F'1 F2 B'0 F3 B'1 F'2 B0 F'3 B1 B'2 B'3 B2 B3");
  CHECK(text(order_of("interleaved-1f1b", shape, 1)) == "F0 F1 F'0 B'0 F'1 B'1 F2 B0 F3 B1 F'2 B'2 F'3 B'3 B2 B3");
}

TEST_CASE(
    "combined order: one more forward pass first, then each forward pass beside a backward pass of another "
    "microbatch") {
  for (const int stage : {0, 1}) {
    const std::vector<Pass> order = order_of("combined-1f1b", {2, 2, 4, 2}, stage);
    const std::vector<Pass> plain = order_of("interleaved-1f1b", {2, 2, 4, 2}, stage);
    CHECK(max_in_flight(order) == max_in_flight(plain) + 1);
    int pairs = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (!order[i].with_next) continue;
      ++pairs;
      CHECK(is_forward(order[i].kind));
      CHECK_FALSE(is_forward(order[i + 1].kind));
      const bool same = order[i].chunk == order[i + 1].chunk && order[i].microbatch == order[i + 1].microbatch;
      CHECK_FALSE(same);
    }
    CHECK(pairs == 8 - (stage == 0 ? 5 : 3));
  }
}

TEST_CASE("interleaved order of a single round: microbatches go back as soon as they can") {
  CHECK(text(order_of("interleaved-1f1b", {2, 2, 2, 2}, 1)) == "F0 F1 F'0 B'0 F'1 B'1 B0 B1");
}

TEST_CASE("every schedule runs every pass once, in an order that ends") {
  for (const Schedule& schedule : schedules()) {
    for (const int stages : {1, 2, 3, 4, 8}) {
      for (const int chunks : {1, 2, 3}) {
        if (schedule.chunks > 0 && chunks != schedule.chunks) continue;
        for (const int microbatches : {1, 2, stages, 2 * stages, 2 * stages + 1, 5 * stages}) {
          const PipelineShape shape{stages, chunks, microbatches, stages};
          if (schedule.unfit(shape)) continue;
          CAPTURE(schedule.name);
          CAPTURE(stages);
          CAPTURE(microbatches);
          const auto fault = first_fault(schedule.orders_of(shape), schedule.placement(shape), microbatches);
          if (fault) FAIL_CHECK(fault->message);
        }
      }
    }
  }
}

TEST_CASE("microbatches in flight: GPipe all, 1F1B as many as stages follow, interleaved 1 + (p - 1)/(p v) of them") {
  const int p = 4;
  const int m = 16;
  CHECK(max_in_flight(order_of("gpipe", {p, 1, m, p}, 0)) == m);
  for (int stage = 0; stage < p; ++stage) {
    CHECK(max_in_flight(order_of("1f1b", {p, 1, m, p}, stage)) == p - stage);
  }
  for (const int v : {2, 3, 4}) {
    // p microbatches of the whole stage are p v chunk passes; (1 + (p - 1)/(p v)) p v = p v + p - 1.
    CHECK(max_in_flight(order_of("interleaved-1f1b", {p, v, m, p}, 0)) == p * v + p - 1);
  }
}

TEST_CASE("the table of schedules is found by name") {
  for (const Schedule& schedule : schedules()) {
    CHECK(&schedule_of(schedule_named(schedule.name)) == &schedule);
    CHECK(schedule_names()[static_cast<std::size_t>(schedule_named(schedule.name))] == schedule.name);
  }
  CHECK(schedule_of(kDefaultSchedule).name == "1f1b");
}

TEST_CASE("orders that take long to find are given up when nobody waits for them") {
  std::atomic<bool> given_up{true};
  const CancellationScope scope(&given_up);
  const Schedule& automatic = schedule_of(schedule_named("zb-auto"));
  CHECK_THROWS_AS(automatic.orders({4, 1, 20'000, 4}, {}), Cancelled);
}
