// Laws of what is said of links that bind: it follows from the timeline alone, and adds up.

#include "simulation/link_use.hpp"

#include "engine/execute.hpp"
#include "job_fixture.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>

using namespace mirfak;
using namespace mirfak::test;

namespace {

std::vector<HeldActivity> all_held(const std::vector<LinkUsage>& links) {
  std::vector<HeldActivity> out;
  for (const LinkUsage& usage : links) out.insert(out.end(), usage.held.begin(), usage.held.end());
  return out;
}

// Computes the slowdown from starts, ends and durations alone.
double slowed_in_timeline(const Program& program, const Timeline& timeline) {
  const std::vector<TaskId> first = acting_together(program);
  std::map<TaskId, std::pair<Picoseconds, Picoseconds>> activities;  // last start, longest duration
  for (TaskId task = 0; task < program.size(); ++task) {
    if (program.traffic_of(task).empty() || program.duration[task] == 0) continue;
    auto& [start, longest] = activities[first[task]];
    start = std::max(start, timeline.start[task]);
    longest = std::max(longest, program.duration[task]);
  }
  double sum = 0;
  for (const auto& [task, times] : activities) {
    const auto& [start, longest] = times;
    sum += groups_meant(program, program.group_of(task), program.rank_of(task)) *
           to_seconds(timeline.end[task] - start - longest);
  }
  return sum;
}

}  // namespace

TEST_CASE("link use: what links add is what tasks take longer in the timeline, folded and unfolded") {
  bool slowed = false;
  for (const double oversubscription : {1.0, 8.0, 100.0}) {
    for (const auto& sizes :
         {std::tuple(8, 1, true), std::tuple(8, 4, true), std::tuple(4, 2, false), std::tuple(2, 8, true)}) {
      const int tensor = std::get<0>(sizes);
      CAPTURE(oversubscription);
      CAPTURE(tensor);
      const Lowered lowered(
          job_on_16_nodes(rails_of_two_nodes(oversubscription), tensor, std::get<1>(sizes), std::get<2>(sizes)));
      double folded = 0;
      for (const bool unfolded : {false, true}) {
        const Program program = lowered.program({.unfolded = unfolded});
        const Timeline timeline = execute(program);
        const std::vector<LinkUsage> links = link_usage(program, timeline);
        CHECK(links.size() == program.links.size());
        const double expected = slowed_in_timeline(program, timeline);
        CHECK(added_by(slowed_by_name(program, all_held(links))) == doctest::Approx(expected).epsilon(1e-7));
        if (unfolded) {
          CHECK(expected == doctest::Approx(folded).epsilon(1e-7));
        } else {
          folded = expected;
        }
        slowed = slowed || expected > 0;
        for (const LinkUsage& usage : links) {
          const bool binds = usage.binds_s > 0;
          CHECK(binds == !usage.held.empty());
          CHECK(binds == (usage.most_asked > 1));
          CHECK(binds == !usage.asking.empty());
          CHECK(usage.peak_use <= 1);
          if (binds) CHECK(usage.peak_use == doctest::Approx(1));
          CHECK(usage.binds_s <= to_seconds(timeline.makespan) * usage.mean_use * (1 + 1e-6) + 1e-9);
        }
      }
    }
  }
  CHECK(slowed);
}

TEST_CASE("link use: the whole network shown, the same is held back by the same links") {
  for (const double oversubscription : {8.0, 100.0}) {
    const bool overlap = oversubscription < 100;  // else ports are never short
    const Lowered lowered(job_on_16_nodes(rails_of_two_nodes(oversubscription), 8, 4, overlap));
    const Program scarce = lowered.program();
    const Program all = lowered.program({.all_links = true});
    const Timeline timeline = execute(scarce);
    CHECK(execute(all).makespan == timeline.makespan);
    CHECK((all.links.size() > scarce.links.size()) == !overlap);
    const auto of_scarce = slowed_by_name(scarce, all_held(link_usage(scarce, timeline)));
    const auto of_all = slowed_by_name(all, all_held(link_usage(all, timeline)));
    REQUIRE(!of_scarce.empty());
    REQUIRE(of_scarce.size() == of_all.size());
    for (std::size_t i = 0; i < of_all.size(); ++i) {
      CHECK(of_all[i].name == of_scarce[i].name);
      CHECK(of_all[i].times == of_scarce[i].times);
      CHECK(of_all[i].full_speed_s == doctest::Approx(of_scarce[i].full_speed_s));
      CHECK(of_all[i].slowed_s == doctest::Approx(of_scarce[i].slowed_s).epsilon(1e-7));
    }
  }
}

// Two tasks of two seconds want 60 of a link of 100 bytes/s, the second from 1 s on. From then on each has 50: the
// first ends at 2.2 s, the second has the link for itself for the last second and ends at 3.2 s. So the link binds from
// 1 to 2.2 s and adds 0.2 s to each.
//
// With a link of 50 bytes/s that only the first takes, this one has 50 from the beginning and ends at 2.4 s: 1/6 s of
// what that adds comes from the narrow link alone, and of 1.4/6 s after that each link has half.
TEST_CASE("link use: two flows on a link, and one on another, by hand") {
  for (const bool narrow : {false, true}) {
    CAPTURE(narrow);
    Program program;
    program.ranks = {{0, 0, 0, 0, 1}, {1, 1, 0, 0, 1}};
    program.links = {{"spine", 100}, {"leaf", narrow ? 50.0 : 100.0}};
    const ClassId waiting = program.add_class({});
    TaskClass transfer;
    transfer.kind = TaskKind::transfer;
    transfer.name = "second";
    transfer.traffic = program.add_traffic(std::vector<LinkUse>{{0, 60}});
    const ClassId second = program.add_class(transfer);
    transfer.name = "first";
    transfer.traffic = program.add_traffic(std::vector<LinkUse>{{0, 60}, {1, 60}});
    const ClassId first = program.add_class(transfer);
    const TaskId wait = program.add_task(program.add_stream(1, StreamKind::compute), waiting, to_picoseconds(1), {});
    program.add_task(program.add_stream(0, StreamKind::send_forward), first, to_picoseconds(2), {});
    program.add_task(program.add_stream(1, StreamKind::send_forward), second, to_picoseconds(2), {&wait, 1});
    const Timeline timeline = execute(program);
    const std::vector<LinkUsage> links = link_usage(program, timeline);
    const LinkUsage& spine = links.front();
    const double both_end = narrow ? 2.4 : 2.2;
    CHECK(spine.bytes == doctest::Approx(240));
    CHECK(spine.binds_s == doctest::Approx(both_end - 1));
    CHECK(spine.mean_use == doctest::Approx(2.4 / to_seconds(timeline.makespan)));
    CHECK(spine.peak_use == doctest::Approx(1));
    CHECK(spine.most_asked == doctest::Approx(1.2));
    CHECK(spine.asking == std::vector<std::string>{"first", "second"});
    const std::vector<SlowedCommunication> slowed = slowed_by_name(program, spine.held);
    REQUIRE(slowed.size() == 2);
    for (const SlowedCommunication& each : slowed) {
      CHECK(each.times == 1);
      CHECK(each.full_speed_s == doctest::Approx(2));
      const bool shared = narrow && each.name == "first";
      CHECK(each.slowed_s == doctest::Approx(shared ? 1.4 / 6 / 2 : (both_end - 1) / 6));
    }
    const LinkUsage& leaf = links.back();
    CHECK(leaf.binds_s == doctest::Approx(narrow ? 2.4 : 0.0));
    CHECK(added_by(slowed_by_name(program, leaf.held)) == doctest::Approx(narrow ? 1.0 / 6 + 1.4 / 6 / 2 : 0.0));
    REQUIRE(spine.points.size() == 4);
    CHECK(to_seconds(spine.points[1].time) == doctest::Approx(1));
    CHECK(spine.points[1].use == doctest::Approx(1));
    CHECK(spine.points[2].bytes_per_s == doctest::Approx(60));
    CHECK(spine.points[3].use == 0);
  }
}
