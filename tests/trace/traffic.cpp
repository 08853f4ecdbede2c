#include "trace/traffic.hpp"

#include "support/example.hpp"

#include <doctest/doctest.h>

#include <map>

using namespace mirfak;

TEST_CASE("traffic over time adds up to the bytes of the tasks, within the line rate") {
  for (const bool operators : {false, true}) {
    const Example e = example({}, {.operators = operators});
    const Simulation& s = e.simulation;
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
    for_each_link(s, index, link_usage(s.program, s.timeline), [&](const LinkTraffic& link) {
      ++links;
      double bytes = 0;
      for (std::size_t i = 0; i + 1 < link.points.size(); ++i) {
        const double seconds = to_seconds(link.points[i + 1].time - link.points[i].time);
        CHECK(seconds > 0);
        CHECK(link.points[i].use <= 1);
        bytes += link.points[i].bytes_per_s * seconds;
      }
      CHECK(bytes == doctest::Approx(expected[{link.rank, link.stream}]).epsilon(1e-9));
    });
    CHECK(links == expected.size());
  }
}

TEST_CASE("shared links are never overfull, and carry what their tasks demand") {
  const Example e = example({"cluster.nodes[0].count=4", "strategy.tensor=8", "strategy.pipeline=2",
                             "strategy.overlap_grad_reduce=true", "training.framework=megatron-core"});
  const Simulation& s = e.simulation;
  REQUIRE(s.program.shares_links());
  std::vector<double> expected(s.program.links.size());
  const std::vector<TaskId> first = acting_together(s.program);
  for (TaskId task = 0; task < s.program.size(); ++task) {
    if (first[task] != task) continue;
    for (const auto& [link, demand] : s.program.traffic_of(task)) {
      expected[link] += demand * to_seconds(s.program.duration[task]);
    }
  }
  const StreamIndex index(s.program);
  std::size_t links = 0;
  bool contended = false;
  for_each_link(s, index, link_usage(s.program, s.timeline), [&](const LinkTraffic& link) {
    if (link.rank >= 0) return;
    double bytes = 0;
    for (std::size_t i = 0; i + 1 < link.points.size(); ++i) {
      bytes += link.points[i].bytes_per_s * to_seconds(link.points[i + 1].time - link.points[i].time);
      CHECK(link.points[i].use <= 1 + 1e-9);
      contended = contended || link.points[i].use > 1 - 1e-9;
    }
    CHECK(bytes == doctest::Approx(expected[links++]).epsilon(1e-9));
  });
  CHECK(links == s.program.links.size());
  CHECK(contended);
}

// Two tasks share a link of 100 bytes/s. The first alone wants 60 of it, the second, 1 s later, 60 too: then each gets
// 50. The first has 2 s x 60 bytes to move, 60 in the first second and 50 in each that follows: it ends at 2.2 s. The
// second has moved 60 of its 120 then, and has the link for the last second: it ends at 3.2 s.
TEST_CASE("a shared link's traffic follows the speeds of the tasks on it") {
  Example e = example();
  Simulation& s = e.simulation;
  Program program;
  program.ranks = {{0, 0, 0, 0, 1}, {1, 1, 0, 0, 1}};
  program.links = {{"spine", 100}};
  const ClassId waiting = program.add_class({});
  TaskClass transfer;
  transfer.kind = TaskKind::transfer;
  transfer.bytes = 120;
  transfer.traffic = program.add_traffic(std::vector<LinkUse>{{0, 60}});
  const ClassId sending = program.add_class(transfer);
  const TaskId wait = program.add_task(program.add_stream(1, StreamKind::compute), waiting, to_picoseconds(1), {});
  program.add_task(program.add_stream(0, StreamKind::send_forward), sending, to_picoseconds(2), {});
  program.add_task(program.add_stream(1, StreamKind::send_forward), sending, to_picoseconds(2), {&wait, 1});
  s.program = program;
  s.timeline = execute(program);
  REQUIRE(to_seconds(s.timeline.makespan) == doctest::Approx(3.2));
  const StreamIndex index(s.program);
  std::vector<LinkTraffic> links;
  for_each_link(s, index, link_usage(s.program, s.timeline), [&](const LinkTraffic& link) { links.push_back(link); });
  REQUIRE(links.size() == 3);
  CHECK(links[0].name == "spine");
  CHECK(links[0].rank == -1);
  const std::vector<std::pair<double, double>> expected = {{0, 60}, {1, 100}, {2.2, 60}, {3.2, 0}};
  REQUIRE(links[0].points.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(to_seconds(links[0].points[i].time) == doctest::Approx(expected[i].first));
    CHECK(links[0].points[i].bytes_per_s == doctest::Approx(expected[i].second));
    CHECK(links[0].points[i].use == doctest::Approx(expected[i].second / 100));
  }
}
