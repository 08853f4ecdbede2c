// Laws of communication that shares a network's links.

#include "engine/execute.hpp"
#include "job_fixture.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace mirfak;
using namespace mirfak::test;

namespace {

// 16 nodes of 8 A100, leaves of two nodes.
Job job_on(const std::string& fabric, int tensor, int pipeline, bool overlap) {
  Strategy s;
  s.tensor = tensor;
  s.pipeline = pipeline;
  s.data = 128 / (tensor * pipeline);
  s.overlap_grad_reduce = overlap;
  Job job = small_job(8, 16, s, 4 * s.data);
  const Document document = Document::from_text(fabric, "job.yaml");
  job.cluster = Cluster({cluster_of("dgx-a100-80g", 16).groups()[0]}, read_fabric(Node(document)));
  return job;
}

std::string rails(double oversubscription) {
  return "{type: rail-optimized, leaf_ports: 2, oversubscription: " + std::to_string(oversubscription) + "}";
}

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
    const Program program = Lowered(job_on(rails(1), 8, 4, overlap)).program();
    for (const Link& link : program.links) CHECK(link.name.find("leaf") == std::string::npos);
    CHECK(time_of(job_on(rails(1), 8, 4, overlap)) == time_of(job_on("{type: full-bisection}", 8, 4, overlap)));
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
        const Job job = job_on(rails(oversubscription), tensor, pipeline, overlap);
        CHECK(time_of(job) == time_of(job, true));
      }
    }
  }
}

// With a replica on each node the rings of a rail are one, which has an uplink of each leaf for itself.
TEST_CASE("shared links: alone on its links a collective takes the time of its price") {
  CHECK(time_of(job_on(rails(2), 8, 1, false)) == time_of(job_on("{type: full-bisection}", 8, 1, false)));
  CHECK(time_of(job_on(rails(100), 8, 1, false)) > time_of(job_on("{type: full-bisection}", 8, 1, false)));
}

TEST_CASE("shared links: names and numbers of links are those of the network") {
  const Program program = Lowered(job_on(rails(100), 8, 4, true)).program();
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
    const Picoseconds now = time_of(job_on(rails(oversubscription), 8, 1, false));
    CHECK(now >= last);
    last = now;
  }
}
