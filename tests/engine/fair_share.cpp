#include "engine/fair_share.hpp"

#include "base/error.hpp"
#include "engine/execute.hpp"
#include "program_family.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

namespace mirfak {

namespace {

// Links of the given capacities, and one stream for each flow to be added.
Program network(const std::vector<double>& capacities, std::uint32_t streams) {
  Program program = bare_program(streams);
  for (const double capacity : capacities) program.links.push_back({"link", capacity});
  return program;
}

}  // namespace

TEST_CASE("sharing: alone on its link a task takes its duration, to the picosecond") {
  Program program = network({100}, 1);
  const ClassId flow = add_flow_class(program, {{0, 100}});
  // Above 2^53 a double of picoseconds would round.
  for (const Picoseconds lasting : {1L, 999'999'999'999L, (1L << 53) + 1}) program.add_task(0, flow, lasting, {});
  const Timeline timeline = execute(program);
  CHECK(timeline.end[0] == 1);
  CHECK(timeline.end[1] == 1'000'000'000'000L);
  CHECK(timeline.end[2] == 1'000'000'000'000L + (1L << 53) + 1);
  CHECK(timeline.events == 3);
}

TEST_CASE("sharing: two equal flows on one link take twice as long") {
  Program program = network({100}, 2);
  const ClassId flow = add_flow_class(program, {{0, 100}});
  program.add_task(0, flow, 1'000'001, {});
  program.add_task(1, flow, 1'000'001, {});
  CHECK(execute(program).end == std::vector<Picoseconds>{2'000'002, 2'000'002});
}

TEST_CASE("sharing: a link too small for one flow stretches it") {
  Program program = network({25}, 1);
  program.add_task(0, add_flow_class(program, {{0, 100}}), 1000, {});
  CHECK(execute(program).end[0] == 4000);
}

// x lasts 1000, y 3000, both need all of the link. Until x ends they run at 1/2: x ends at 2000, when y has done 1000
// of its 3000. Alone it takes 2000 more: 4000. One change of speed: 2 ends + 1.
TEST_CASE("sharing: who is left speeds up") {
  Program program = network({100}, 2);
  const ClassId flow = add_flow_class(program, {{0, 100}});
  program.add_task(0, flow, 1000, {});
  program.add_task(1, flow, 3000, {});
  const Timeline timeline = execute(program);
  CHECK(timeline.end == std::vector<Picoseconds>{2000, 4000});
  CHECK(timeline.events == 3);
}

// y starts at 600, when x has 400 of its 1000 left. At 1/2 each, x ends at 600 + 800 = 1400, y has done 400 of 1000
// by then, and ends at 1400 + 600 = 2000.
TEST_CASE("sharing: a newcomer slows down who is there") {
  Program program = network({100}, 2);
  const ClassId flow = add_flow_class(program, {{0, 100}});
  program.add_task(0, flow, 1000, {});
  const TaskId wait = program.add_task(1, 0, 600, {});
  program.add_task(1, flow, 1000, std::vector{wait});
  CHECK(execute(program).end == std::vector<Picoseconds>{1400, 600, 2000});
}

// Link A of 10 with x (demand 10) and y (10); link B of 12 with y (6) and z (9); all last 900. At first x = y = 1/2 and
// z = 1 (see max_min): z ends at 900; x and y go on at 1/2 until 1800.
TEST_CASE("sharing: several links") {
  Program program = network({10, 12}, 3);
  program.add_task(0, add_flow_class(program, {{0, 10}}), 900, {});
  program.add_task(1, add_flow_class(program, {{0, 10}, {1, 6}}), 900, {});
  program.add_task(2, add_flow_class(program, {{1, 9}}), 900, {});
  CHECK(execute(program).end == std::vector<Picoseconds>{1800, 1800, 900});
}

// Three equal flows of 1000 on one link end at 3000, and the tasks of no length after them at once; the flow that waits
// for all of these then has the link for itself.
TEST_CASE("sharing: many things at one instant") {
  Program program = network({100}, 3);
  const ClassId flow = add_flow_class(program, {{0, 100}});
  for (StreamId stream = 0; stream < 3; ++stream) program.add_task(stream, flow, 1000, {});
  for (StreamId stream = 0; stream < 3; ++stream) program.add_task(stream, stream == 1 ? flow : 0, 0, {});
  program.add_task(1, flow, 500, std::vector<TaskId>{3, 4, 5});
  const Timeline timeline = execute(program);
  CHECK(timeline.end == std::vector<Picoseconds>{3000, 3000, 3000, 3000, 3000, 3000, 3500});
  CHECK(timeline.start[6] == 3000);
}

TEST_CASE("sharing: tasks without demands and other links are not touched") {
  Program program = network({100, 100}, 4);
  const ClassId first = add_flow_class(program, {{0, 100}});
  const ClassId second = add_flow_class(program, {{1, 60}});
  program.add_task(0, first, 1000, {});
  program.add_task(1, first, 1000, {});
  program.add_task(2, second, 1000, {});
  program.add_task(3, 0, 1000, {});
  CHECK(execute(program).end == std::vector<Picoseconds>{2000, 2000, 1000, 1000});
}

TEST_CASE("sharing: a demand of nothing is no demand") {
  Program program = network({0}, 1);
  program.add_task(0, add_flow_class(program, {{0, 0}}), 1000, {});
  CHECK(execute(program).makespan == 1000);
}

TEST_CASE("sharing: a task on a dead link is an answer, not an endless loop") {
  Program program = network({0}, 1);
  program.add_task(0, add_flow_class(program, {{0, 100}}), 1000, {});
  try {
    execute(program);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::infeasible);
  }
}

// Random starts and ends; after each the speeds must be, to the last bit, those of a solution from scratch of all
// running tasks in the order of their streams.
TEST_CASE("sharing: incremental solutions equal those from scratch") {
  std::mt19937_64 random(5);
  for (int round = 0; round < 30; ++round) {
    constexpr std::uint32_t streams = 24;
    Program program = network({}, streams);
    const auto links = static_cast<LinkId>(2 + draw(random, 20));
    for (LinkId link = 0; link < links; ++link)
      program.links.push_back({"link", 10 + 0.7 * draw_bandwidth(random, 90)});
    for (std::uint32_t k = 0; k < 12; ++k) {
      const auto one = static_cast<LinkId>(draw(random, links));
      const auto two = static_cast<LinkId>(draw(random, links));
      add_flow_class(program, {{one, 0.3 * draw_bandwidth(random, 200)}, {two, 0.3 * draw_bandwidth(random, 200)}});
    }
    for (StreamId stream = 0; stream < streams; ++stream) {
      for (ClassId flow = 1; flow <= 12; ++flow) program.add_task(stream, flow, 1, {});
    }
    add_flow_class(program, {{0, 2 * 0.3 * 200}});  // nothing that runs demands more
    FairShare shares(program);
    std::vector<ClassId> running(streams, 0);
    Picoseconds now = 0;
    for (int step = 0; step < 200; ++step) {
      if (shares.first_end() != FairShare::kNever && draw(random, 2) == 0) {
        now = shares.first_end();
        while (shares.first_end() == now) running[shares.finish_first()] = 0;
      }
      const auto stream = static_cast<StreamId>(draw(random, streams));
      if (running[stream] == 0) {
        running[stream] = static_cast<ClassId>(1 + draw(random, 12));
        shares.start(stream, uses_of(program, running[stream]), 1, static_cast<Picoseconds>(1 + draw(random, 100000)),
                     now);
      }
      shares.settle(now);

      std::vector<double> capacities;
      for (const Link& link : program.links) capacities.push_back(link.bytes_per_s);
      std::vector<std::vector<std::pair<LinkId, double>>> demands;
      for (const ClassId flow : running) {
        demands.emplace_back();
        if (flow == 0) continue;
        for (const LinkUse& use : uses_of(program, flow)) demands.back().emplace_back(use.link, use.bytes_per_s);
      }
      const std::vector<double> speeds = speeds_from_scratch(demands, capacities, 2 * 0.3 * 200);
      for (StreamId k = 0; k < streams; ++k) {
        if (running[k] != 0) REQUIRE(shares.speed(k) == speeds[k]);
      }
    }
  }
}

}  // namespace mirfak
