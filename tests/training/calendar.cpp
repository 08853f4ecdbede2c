#include "training/calendar.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace mirfak {

namespace {

// The state after some iterations, walked one by one: the calendar answers in closed form.
struct Walk {
  double seconds = 0;
  std::int64_t saved = 0;
};

Walk walk(const WorkCalendar& calendar, std::size_t tier, std::int64_t from, double until) {
  Walk now{0, from};
  for (std::int64_t i = from; i < calendar.iterations(); ++i) {
    double end = now.seconds + calendar.phase_at(i).iteration_s;
    for (std::size_t one = 0; one < calendar.tiers().size(); ++one) {
      const bool saves = calendar.saves_until(one, i + 1) > calendar.saves_until(one, i);
      if (saves) end += calendar.tiers()[one].stall_s;
    }
    if (calendar.evaluation().every > 0 && (i + 1) % calendar.evaluation().every == 0) {
      end += calendar.evaluation().duration_s;
    }
    const bool saves = calendar.saves_until(tier, i + 1) > calendar.saves_until(tier, i);
    if (saves && end + calendar.tiers()[tier].write_s <= until + 1e-9) now.saved = i + 1;
    now.seconds = end;
  }
  return now;
}

WorkCalendar ramp() {
  return WorkCalendar({{100, 1.0, 1}, {250, 2.5, 2}, {77, 4.0, 3}}, {{10, 0.5, 0, 0, true, 1}, {60, 3, 7, 0, false, 0}},
                      {40, 11});
}

}  // namespace

TEST_CASE("a calendar says in closed form what counting iteration by iteration says") {
  const WorkCalendar calendar = ramp();
  CHECK(calendar.iterations() == 427);
  CHECK(calendar.work_until(427) == doctest::Approx(100 + 625 + 308));
  for (const std::int64_t from : {0, 60, 100, 131, 350, 426}) {
    CHECK(calendar.elapsed(from, 427, 1) == doctest::Approx(walk(calendar, 0, from, 0).seconds));
    for (double until = 0; until < 1300; until += 13.7137) {
      for (const std::size_t tier : {0U, 1U}) {
        CAPTURE(from);
        CAPTURE(until);
        CAPTURE(tier);
        CHECK(calendar.saved_within(tier, from, until, 1) == walk(calendar, tier, from, until).saved);
      }
    }
  }
}

TEST_CASE("the end of a training is saved on storage, whatever the interval") {
  const WorkCalendar calendar = ramp();
  CHECK(calendar.saves_until(1, 427) == calendar.saves_until(1, 426) + 1);
  CHECK(calendar.saves_until(0, 427) == calendar.saves_until(0, 426));
}

TEST_CASE("iterations that are finished are those whose end has come") {
  const WorkCalendar calendar = ramp();
  for (const std::int64_t from : {0, 99, 200}) {
    for (double seconds = 0.3; seconds < 900; seconds *= 1.4) {
      const std::int64_t reached = calendar.finished_within(from, seconds, 1.5);
      CHECK(calendar.elapsed(from, reached, 1.5) <= seconds);
      if (reached < calendar.iterations()) CHECK(calendar.elapsed(from, reached + 1, 1.5) > seconds);
    }
  }
}

}  // namespace mirfak
