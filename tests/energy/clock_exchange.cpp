// Time that rounding left over, given from pass to pass.

#include "energy/clock_exchange.hpp"

#include "energy/clock_plan.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace mirfak;

namespace {

// Passes of one stage in a row; kind 0 takes 100 ps and 10 J or 120 ps and 9 J, kind 1 100 ps and 10 J or 130 ps and 6
// J.
ClockedProgram row_of(const std::vector<int>& kinds) {
  ClockedProgram out;
  Program& program = out.program;
  program.ranks.resize(1);
  program.ranks[0].multiplicity = 1;
  const StreamId stream = program.add_stream(0, StreamKind::compute);
  for (int kind = 0; kind < 2; ++kind) {
    TaskClass of;
    of.kind = TaskKind::forward;
    program.add_class(of);
    out.choices_of.push_back(kind);
    const std::vector<ClockChoice> choices = {{2e9, 100, 10},
                                              kind == 0 ? ClockChoice{1e9, 120, 9} : ClockChoice{1e9, 130, 6}};
    out.settings.push_back(choices);
    out.choices.push_back(pass_choices(choices));
  }
  for (const int kind : kinds) {
    program.add_task(stream, static_cast<ClassId>(kind), 100, {});
    out.lasts.push_back(100);
  }
  return out;
}

ClockAssignment with_slow(const ClockedProgram& clocked, const std::vector<bool>& slow) {
  ClockAssignment out;
  for (TaskId task = 0; task < slow.size(); ++task) {
    const PassChoices& choices = clocked.choices_for(task);
    out.push_back(slow[task] ? choices.useful.front() : choices.useful.back());
  }
  return out;
}

}  // namespace

TEST_CASE("passes exchange time that rounding gave to the one that saves less") {
  const ClockedProgram clocked = row_of({0, 1});
  const ClockAssignment rounded = with_slow(clocked, {true, false});  // 220 of 230 ps, 19 J
  REQUIRE(planned_makespan(clocked, rounded) == 220);
  CHECK(slacks(clocked, rounded, 230) == std::vector<Picoseconds>{10, 10});
  CHECK(energy_of_passes(clocked, rounded) == 19);
  const ClockAssignment found = exchange_clocks(clocked, rounded, 230, 0);
  CHECK(planned_makespan(clocked, found) == 230);
  CHECK(energy_of_passes(clocked, found) == 16);
  // Enough is enough, and no exchange misses the deadline.
  CHECK(exchange_clocks(clocked, rounded, 230, 19) == rounded);
  CHECK(exchange_clocks(clocked, rounded, 229, 0) == rounded);
}

TEST_CASE("exchanges go on until none is left") {
  // Two slow passes of kind 0 leave 10 ps of 350; one of kind 1 takes 30, and 20 are left for one of kind 0.
  const ClockedProgram clocked = row_of({0, 0, 1});
  const ClockAssignment rounded = with_slow(clocked, {true, true, false});
  const ClockAssignment found = exchange_clocks(clocked, rounded, 350, 0);
  CHECK(planned_makespan(clocked, found) == 350);
  CHECK(energy_of_passes(clocked, found) == 9 + 10 + 6);
  const ClockedProgram longer = row_of({0, 0, 0, 1, 1});
  const ClockAssignment all = exchange_clocks(longer, with_slow(longer, {true, true, true, false, false}), 570, 0);
  CHECK(energy_of_passes(longer, all) == 2 * 9 + 2 * 10 + 6);
}
