#include "schedule/schedule.hpp"

#include <doctest/doctest.h>

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

int most_in_flight(const std::vector<Pass>& order) {
  int now = 0;
  int most = 0;
  for (const Pass& pass : order) most = std::max(most, now += pass.kind == Pass::Kind::forward ? 1 : -1);
  return most;
}

}  // namespace

TEST_CASE("orders of two stages and three microbatches") {
  const PipelineShape shape{2, 1, 3, 2};
  CHECK(text(schedule_of(ScheduleKind::gpipe).order(shape, 0)) == "F0 F1 F2 B0 B1 B2");
  CHECK(text(schedule_of(ScheduleKind::one_forward_one_backward).order(shape, 0)) == "F0 F1 B0 F2 B1 B2");
  CHECK(text(schedule_of(ScheduleKind::one_forward_one_backward).order(shape, 1)) == "F0 B0 F1 B1 F2 B2");
}

TEST_CASE("interleaved order of two stages, two chunks, four microbatches (arXiv 2104.04473, figure 4)") {
  const PipelineShape shape{2, 2, 4, 2};
  // Warm-up of stage 0: 2 (p - 0 - 1) + (v - 1) p = 4 passes; of stage 1: 2.
  CHECK(text(schedule_of(ScheduleKind::interleaved).order(shape, 0)) ==
        "F0 F1 F'0 F'1 F2 B'0 F3 B'1 F'2 B0 F'3 B1 B'2 B'3 B2 B3");
  CHECK(text(schedule_of(ScheduleKind::interleaved).order(shape, 1)) ==
        "F0 F1 F'0 B'0 F'1 B'1 F2 B0 F3 B1 F'2 B'2 F'3 B'3 B2 B3");
}

TEST_CASE("every schedule runs every pass once, forward before backward") {
  for (const Schedule& schedule : schedules()) {
    for (const int stages : {1, 2, 3, 4, 8}) {
      for (const int chunks : {1, 2, 3}) {
        if (chunks > 1 && schedule.kind != ScheduleKind::interleaved) continue;
        for (const int rounds : {1, 2, 5}) {
          const PipelineShape shape{stages, chunks, stages * rounds, stages};
          for (int stage = 0; stage < stages; ++stage) {
            const std::vector<Pass> order = schedule.order(shape, stage);
            std::set<std::tuple<int, int>> forward;
            std::set<std::tuple<int, int>> backward;
            for (const Pass& pass : order) {
              const std::tuple key(pass.chunk, pass.microbatch);
              if (pass.kind == Pass::Kind::forward) {
                CHECK(forward.insert(key).second);
              } else {
                CHECK(forward.contains(key));
                CHECK(backward.insert(key).second);
              }
            }
            CHECK(forward.size() == static_cast<std::size_t>(shape.microbatches * chunks));
            CHECK(backward == forward);
          }
        }
      }
    }
  }
}

TEST_CASE("microbatches in flight: GPipe all, 1F1B as many as stages follow, interleaved 1 + (p - 1)/(p v) of them") {
  const int p = 4;
  const int m = 16;
  CHECK(most_in_flight(schedule_of(ScheduleKind::gpipe).order({p, 1, m, p}, 0)) == m);
  for (int stage = 0; stage < p; ++stage) {
    CHECK(most_in_flight(schedule_of(ScheduleKind::one_forward_one_backward).order({p, 1, m, p}, stage)) == p - stage);
  }
  for (const int v : {2, 3, 4}) {
    // p microbatches of the whole stage are p v chunk passes; (1 + (p - 1)/(p v)) p v = p v + p - 1.
    CHECK(most_in_flight(schedule_of(ScheduleKind::interleaved).order({p, v, m, p}, 0)) == p * v + p - 1);
  }
}

TEST_CASE("the table of schedules is found by kind and by name") {
  for (const Schedule& schedule : schedules()) {
    CHECK(&schedule_of(schedule.kind) == &schedule);
    CHECK(schedule_kind_names().at(static_cast<std::size_t>(schedule.kind)) == schedule.name);
  }
  CHECK(schedule_kind_names().size() == schedules().size());
  CHECK(schedule_names() == std::vector<std::string>{"gpipe", "1f1b", "interleaved-1f1b"});
}
