#include "report/traffic.hpp"

#include "example.hpp"

#include <doctest/doctest.h>

#include <map>

using namespace mirfak;

TEST_CASE("traffic over time adds up to the bytes of the tasks, within the line rate") {
  for (const bool operators : {false, true}) {
    const Example e = example({}, {.operators = operators});
    const Simulation& s = *e.simulation;
    const StreamIndex index(s.program);
    std::map<std::pair<std::int64_t, StreamKind>, double> expected;
    for (TaskId task = 0; task < s.program.size(); ++task) {
      const Stream& stream = s.program.streams[s.program.stream[task]];
      if (stream.kind == StreamKind::host || stream.kind == StreamKind::compute || stream.kind == StreamKind::group) {
        continue;
      }
      expected[{stream.rank, stream.kind}] += s.program.class_of(task).bytes;
    }
    std::size_t links = 0;
    for_each_link(s, index, [&](const LinkTraffic& link) {
      ++links;
      double bytes = 0;
      for (std::size_t i = 0; i + 1 < link.points.size(); ++i) {
        const double seconds = to_seconds(link.points[i + 1].time - link.points[i].time);
        CHECK(seconds > 0);
        CHECK(link.points[i].bytes_per_s <= link.capacity);
        bytes += link.points[i].bytes_per_s * seconds;
      }
      CHECK(bytes == doctest::Approx(expected[{link.rank, link.stream}]).epsilon(1e-9));
    });
    CHECK(links == expected.size());
  }
}

// Two tasks of 1 s that each want 60 of a link's 100 bytes/s: together they get 50 each, so both take 1.2 s, and the
// link is full from 0 to 1.2 s.
TEST_CASE("a shared link's traffic is the sum of the tasks on it") {
  Example e = example();
  Simulation& s = *e.simulation;
  Program program;
  program.ranks = {{0, 0, 0, 0, 1}, {1, 1, 0, 0, 1}};
  program.links = {{"spine", 100}};
  TaskClass transfer;
  transfer.kind = TaskKind::transfer;
  transfer.bytes = 60;
  transfer.demands = {{0, 60}};
  const ClassId of = program.add_class(transfer);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    program.add_task(program.add_stream(rank, StreamKind::send_forward), of, to_picoseconds(1), {});
  }
  s.program = program;
  s.timeline = execute(program);
  REQUIRE(to_seconds(s.timeline.makespan) == doctest::Approx(1.2));
  const StreamIndex index(s.program);
  std::vector<LinkTraffic> links;
  for_each_link(s, index, [&](const LinkTraffic& link) { links.push_back(link); });
  REQUIRE(links.size() == 3);
  CHECK(links[0].name == "spine");
  CHECK(links[0].rank == -1);
  REQUIRE(links[0].points.size() == 2);
  CHECK(links[0].points[0].bytes_per_s == doctest::Approx(100));
  CHECK(links[1].points[0].bytes_per_s == doctest::Approx(50));
}
