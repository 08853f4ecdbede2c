// Laws of communication that shares a network's links.

#include "engine/execute.hpp"
#include "job_fixture.hpp"

#include <doctest/doctest.h>

#include <string>

namespace shared_links_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

Picoseconds time_of(const Job& job, bool unfolded = false) {
  LoweringOptions options;
  options.unfolded = unfolded;
  const Program program = Lowered(job).program(options);
  program.validate();
  return execute(program).makespan;
}

}  // namespace

TEST_CASE("shared links: a network that suffices has none, and changes nothing") {
  for (const bool overlap : {false, true}) {
    const Program program = Lowered(job_on_16_nodes(rails_of_two_nodes(1), 8, 4, overlap)).program();
    for (const Link& link : program.links) CHECK(link.name.find("leaf") == std::string::npos);
    CHECK(time_of(job_on_16_nodes(rails_of_two_nodes(1), 8, 4, overlap)) ==
          time_of(job_on_16_nodes("{type: full-bisection}", 8, 4, overlap)));
  }
}

TEST_CASE("shared links: folded and unfolded programs take the same time") {
  for (const double oversubscription : {1.0, 8.0, 100.0}) {
    for (const auto& sizes : {std::pair(8, 1), std::pair(8, 4), std::pair(4, 2), std::pair(2, 8)}) {
      const int tensor = sizes.first;
      const int pipeline = sizes.second;
      for (const bool overlap : {false, true}) {
        CAPTURE(oversubscription);
        CAPTURE(tensor);
        CAPTURE(pipeline);
        CAPTURE(overlap);
        const Job job = job_on_16_nodes(rails_of_two_nodes(oversubscription), tensor, pipeline, overlap);
        CHECK(time_of(job) == time_of(job, true));
      }
    }
  }
}

// On six nodes in rings a message between stages crosses more links from some replicas than from others. On eight, two
// below each leaf, all replicas of a stage see the same.
TEST_CASE("shared links: replicas that they slow unlike are told apart, and no others") {
  struct Case {
    const char* fabric;
    int nodes;
    int tensor;
    int pipeline;
    std::size_t kinds;
  };
  for (const Case& of : {Case{"{type: torus-2d, oversubscription: 8}", 6, 2, 8, 3},
                         Case{"{type: torus-3d, oversubscription: 8}", 6, 1, 8, 3},
                         Case{"{type: fat-tree, leaf_ports: 16, oversubscription: 8}", 8, 8, 2, 1}}) {
    const std::string fabric = of.fabric;
    CAPTURE(fabric);
    Strategy s = sized(of.tensor, 8 * of.nodes / (of.tensor * of.pipeline), of.pipeline);
    s.overlap_grad_reduce = true;
    Job job = small_job(8, of.nodes, s, 4 * s.data);
    job.cluster = nodes_on(of.fabric, of.nodes);
    const Program folded = Lowered(job).program();
    CHECK(folded.ranks.size() == of.kinds * static_cast<std::size_t>(of.pipeline));
    std::uint32_t ranks = 0;
    for (const ProgramRank& rank : folded.ranks) ranks += rank.multiplicity;
    CHECK(ranks == 8 * static_cast<std::uint32_t>(of.nodes));
    CHECK(time_of(job) == time_of(job, true));
  }
}

// With a replica on each node the rings of a rail are one, which has an uplink of each leaf for itself.
TEST_CASE("shared links: alone on its links a collective takes the time of its price") {
  CHECK(time_of(job_on_16_nodes(rails_of_two_nodes(2), 8, 1, false)) ==
        time_of(job_on_16_nodes("{type: full-bisection}", 8, 1, false)));
  CHECK(time_of(job_on_16_nodes(rails_of_two_nodes(100), 8, 1, false)) >
        time_of(job_on_16_nodes("{type: full-bisection}", 8, 1, false)));
}

TEST_CASE("shared links: names and numbers of links are those of the network") {
  const Program program = Lowered(job_on_16_nodes(rails_of_two_nodes(100), 8, 4, true)).program();
  REQUIRE(!program.links.empty());
  bool uplink = false;
  for (const Link& link : program.links) {
    CHECK(link.bytes_per_s > 0);
    uplink = uplink || link.name.find("leaf") != std::string::npos;
  }
  CHECK(uplink);
}

TEST_CASE("shared links: less bandwidth between switches never makes one collective faster") {
  Picoseconds last = 0;
  for (const double oversubscription : {1.0, 2.0, 4.0, 16.0, 64.0}) {
    const Picoseconds now = time_of(job_on_16_nodes(rails_of_two_nodes(oversubscription), 8, 1, false));
    CHECK(now >= last);
    last = now;
  }
}

}  // namespace shared_links_test
