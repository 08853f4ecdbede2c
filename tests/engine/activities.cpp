#include "engine/activities.hpp"

#include "engine/execute.hpp"
#include "program_family.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace mirfak {

namespace {

// Ranks on streams of their own, in groups of two that do one thing together: what the k-th group takes of links is
// `uses[k]`.
struct Pairs {
  Program program;
  ClassId together = 0;

  explicit Pairs(const std::vector<double>& capacities, const std::vector<std::vector<LinkUse>>& uses) {
    for (const double capacity : capacities) program.links.push_back({"link", capacity});
    const auto ranks = static_cast<std::uint32_t>(2 * uses.size());
    program.groupings.push_back({GroupKind::data, {}, 0, static_cast<std::uint32_t>(uses.size())});
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      program.ranks.push_back({rank});
      program.add_stream(rank, StreamKind::data);
      program.groupings[0].of_rank.push_back(rank / 2);
    }
    for (std::uint32_t group = 0; group < uses.size(); ++group) {
      program.groups.push_back({GroupKind::data, 2, {2 * group, 2 * group + 1}});
      program.link_uses.insert(program.link_uses.end(), uses[group].begin(), uses[group].end());
      program.link_use_begin.push_back(static_cast<std::uint32_t>(program.link_uses.size()));
    }
    program.add_class({});
    TaskClass described;
    described.kind = TaskKind::collective;
    described.grouping = 0;
    described.traffic = 0;
    together = program.add_class(described);
  }

  TaskId wait(std::uint32_t rank, Picoseconds lasting) { return program.add_task(rank, 0, lasting, {}); }
  void act(std::uint32_t group, Picoseconds lasting, std::vector<TaskId> after = {}) {
    for (const std::uint32_t rank : {2 * group, 2 * group + 1}) program.add_task(rank, together, lasting, after);
  }
};

}  // namespace

TEST_CASE("activities: with the links for itself what a group does takes its duration") {
  Pairs pairs({100}, {{{0, 100}}});
  pairs.act(0, 1000);
  CHECK(execute(pairs.program).end == std::vector<Picoseconds>{1000, 1000});
}

// Each is one activity that needs half of the link twice over: with it the link would have to carry 200.
TEST_CASE("activities: two groups on one link take twice as long, all their ranks alike") {
  Pairs pairs({100}, {{{0, 100}}, {{0, 100}}});
  pairs.act(0, 1000);
  pairs.act(1, 1000);
  CHECK(execute(pairs.program).end == std::vector<Picoseconds>(4, 2000));
}

TEST_CASE("activities: a link that one member's flow shares holds all members back") {
  // Group 0 uses both links, group 1 the second alone, which is half as wide as what they ask for.
  Pairs pairs({100, 100}, {{{0, 100}, {1, 100}}, {{1, 100}}});
  pairs.act(0, 1000);
  pairs.act(1, 1000);
  CHECK(execute(pairs.program).end == std::vector<Picoseconds>(4, 2000));
}

TEST_CASE("activities: one begins when the last of its tasks does") {
  Pairs pairs({100}, {{{0, 100}}});
  const TaskId late = pairs.wait(1, 500);
  pairs.act(0, 1000, {late});
  const Timeline timeline = execute(pairs.program);
  CHECK(timeline.end == std::vector<Picoseconds>{500, 1500, 1500});
  CHECK(timeline.start == std::vector<Picoseconds>{0, 500, 500});
}

TEST_CASE("activities: a group that takes nothing of a link is not held back") {
  Pairs pairs({100}, {{}, {{0, 400}}});
  pairs.act(0, 1000);
  pairs.act(1, 1000);
  CHECK(execute(pairs.program).end == std::vector<Picoseconds>{1000, 1000, 4000, 4000});
}

TEST_CASE("activities: what a group does next begins after the last, and links are free in between") {
  Pairs pairs({100}, {{{0, 100}}, {{0, 100}}});
  pairs.act(0, 1000);
  pairs.act(0, 1000);
  pairs.act(1, 500);
  // Group 0 has half speed until group 1 ends at 1000, when group 0 has done 500 of its first 1000.
  CHECK(execute(pairs.program).end == std::vector<Picoseconds>{1500, 1500, 2500, 2500, 1000, 1000});
}

}  // namespace mirfak
