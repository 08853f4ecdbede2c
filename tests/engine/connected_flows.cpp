#include "engine/execute.hpp"
#include "program_family.hpp"
#include "reference.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <utility>
#include <vector>

// Streams that send one flow after the other from one of a few nodes to random others, as those of mirfak_bench_engine:
// everything is connected.

namespace mirfak {

namespace {

constexpr double kLineRate = 50e9;  // bytes/s of a node's link out, of its link in, and of a flow that is alone

Program connected_flows(std::uint32_t streams, std::uint32_t flows_per_stream) {
  const std::uint32_t nodes = streams / 8;
  std::mt19937_64 random(6);
  Program program = bare_program(streams);
  program.links.assign(std::size_t{2} * nodes, {"", kLineRate});
  std::vector<ClassId> flow;
  for (std::uint32_t pair = 0; pair < nodes * nodes; ++pair) {
    flow.push_back(add_flow_class(program, {{pair / nodes, kLineRate}, {nodes + pair % nodes, kLineRate}}));
  }
  for (std::uint32_t k = 0; k < flows_per_stream; ++k) {
    for (StreamId stream = 0; stream < streams; ++stream) {
      const auto to = static_cast<std::uint32_t>((stream + 1 + draw(random, nodes - 1)) % nodes);
      const auto lasting = static_cast<Picoseconds>(1 + draw(random, 2'000'000'000));
      program.add_task(stream, flow[stream % nodes * nodes + to], lasting, {});
    }
  }
  return program;
}

// The seconds at which the flows end, by progressive filling at every end, all in floating point. Stream s sends flows
// s, s + streams, ...
std::vector<double> fluid_ends(const Program& program) {
  const std::size_t streams = program.streams.size();
  std::vector<double> capacities;
  for (const Link& link : program.links) capacities.push_back(link.bytes_per_s);
  std::vector<double> ends;
  std::vector<double> left_s;  // of a flow alone
  for (const Picoseconds lasting : program.duration) left_s.push_back(to_seconds(lasting));
  ends.resize(program.size());
  std::vector<TaskId> running(streams);
  for (StreamId stream = 0; stream < streams; ++stream) running[stream] = stream;
  for (double now = 0; !running.empty();) {
    std::vector<std::vector<std::pair<LinkId, double>>> demands(running.size());
    for (std::size_t k = 0; k < running.size(); ++k) {
      for (const LinkUse& use : program.traffic_of(running[k])) demands[k].emplace_back(use.link, use.bytes_per_s);
    }
    const std::vector<double> speed = reference_speeds(demands, capacities);
    std::size_t first = 0;
    for (std::size_t k = 1; k < running.size(); ++k) {
      if (left_s[running[k]] / speed[k] < left_s[running[first]] / speed[first]) first = k;
    }
    const double lasting = left_s[running[first]] / speed[first];
    for (std::size_t k = 0; k < running.size(); ++k) left_s[running[k]] -= lasting * speed[k];
    now += lasting;
    ends[running[first]] = now;
    running[first] += static_cast<TaskId>(streams);
    if (running[first] >= program.size()) running.erase(running.begin() + static_cast<std::ptrdiff_t>(first));
  }
  return ends;
}

// The largest difference of ends among flows [from, to) of each stream.
double apart_s(const Program& program, const std::vector<double>& one, const std::vector<double>& other,
               std::size_t from, std::size_t to) {
  double most = 0;
  const std::size_t streams = program.streams.size();
  for (std::size_t task = from * streams; task < to * streams; ++task) {
    most = std::max(most, std::abs(one[task] - other[task]));
  }
  return most;
}

std::vector<double> ends_s(const Program& program) {
  std::vector<double> ends;
  for (const Picoseconds end : execute(program).end) ends.push_back(to_seconds(end));
  return ends;
}

}  // namespace

TEST_CASE("sharing: flows that are all connected end when progressive filling has them end") {
  for (const auto& [streams, flows_per_stream] : {std::pair(32U, 24U), std::pair(64U, 12U), std::pair(256U, 4U)}) {
    const Program program = connected_flows(streams, flows_per_stream);
    CHECK(apart_s(program, ends_s(program), fluid_ends(program), 0, flows_per_stream) < 1e-9);
  }
}

// The order in which two flows end decides how others share meanwhile; so the least difference grows, tenfold over
// seven flows of each stream or so. After a hundred no two solvers can agree that round anything differently.
TEST_CASE("sharing: a picosecond more of one flow moves the ends of later ones by milliseconds") {
  Program program = connected_flows(64, 128);
  const std::vector<double> before = ends_s(program);
  ++program.duration[0];
  const std::vector<double> after = ends_s(program);
  CHECK(apart_s(program, before, after, 0, 8) < 1e-9);
  CHECK(apart_s(program, before, after, 24, 32) > 1e-9);
  CHECK(apart_s(program, before, after, 112, 128) > 1e-3);
}

}  // namespace mirfak
