#include "program/body.hpp"
#include "program/condensed_body.hpp"
#include "program/split_backward.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace body_test {

using namespace mirfak;

namespace {

BodyStep step(StreamKind stream, Picoseconds device, Picoseconds host, std::vector<int> after = {}) {
  BodyStep out;
  out.stream = stream;
  out.device = device;
  out.host = host;
  out.after = std::move(after);
  return out;
}

// Executes bodies one after the other step by step: when both device streams are free at `device` and the host at
// `host`, when are they free again?
struct Clock {
  Picoseconds device = 0;
  Picoseconds host = 0;
};
Clock execute(const std::vector<Body>& bodies, Clock clock) {
  for (const Body& body : bodies) {
    std::vector<Picoseconds> end;
    Picoseconds compute = clock.device;
    Picoseconds tensor = clock.device;
    for (const BodyStep& s : body.steps) {
      if (s.host_waits) clock.host = std::max(clock.host, compute);
      clock.host += s.host;
      Picoseconds& stream = s.stream == StreamKind::tensor ? tensor : compute;
      Picoseconds start = std::max(stream, clock.host);
      for (const int before : s.after) start = std::max(start, end[static_cast<std::size_t>(before)]);
      end.push_back(stream = start + s.device);
    }
    for (const Picoseconds e : end) clock.device = std::max(clock.device, e);
  }
  return clock;
}

Clock execute(const FoldedBody& body, Clock clock) {
  const Picoseconds waited = body.host_waits() ? clock.device + body.waited : 0;
  return {std::max(clock.device, clock.host + body.lead) + body.device, std::max(clock.host + body.host, waited)};
}

// Returns when the steps of a body end if all streams are free at `device` and the host at `host`.
std::vector<Picoseconds> ends_of(const Body& body, Clock clock) {
  std::vector<Picoseconds> end;
  std::map<StreamKind, Picoseconds> streams;
  for (const BodyStep& s : body.steps) {
    const Picoseconds compute = streams.try_emplace(StreamKind::compute, clock.device).first->second;
    if (s.host_waits) clock.host = std::max(clock.host, compute);
    clock.host += s.host;
    Picoseconds& stream = streams.try_emplace(s.stream, clock.device).first->second;
    Picoseconds start = std::max(stream, clock.host);
    for (const int before : s.after) start = std::max(start, end[static_cast<std::size_t>(before)]);
    end.push_back(stream = start + s.device);
    clock.host += s.host_behind;
  }
  return end;
}

}  // namespace

TEST_CASE("two kernels of 3 and 1 that the host issues in 2 each: the device starts 2 late and never waits again") {
  const Body body{{step(StreamKind::compute, 3, 2), step(StreamKind::compute, 1, 2)}};
  const FoldedBody folded = fold(body);
  CHECK(folded.device == 4);
  CHECK(folded.lead == 2);
  CHECK(folded.host == 4);
}

TEST_CASE("a host slower than the device: the lead grows to what the last kernels wait for") {
  // Kernels of 1, issued in 5 each: ends at 15 + 1 when the host starts at 0, so lead = 16 - 3.
  const Body body{{step(StreamKind::compute, 1, 5), step(StreamKind::compute, 1, 5), step(StreamKind::compute, 1, 5)}};
  const FoldedBody folded = fold(body);
  CHECK(folded.device == 3);
  CHECK(folded.lead == 13);
  CHECK(folded.host == 15);
}

TEST_CASE("communication beside compute counts only where it is exposed") {
  // compute 4, then a collective of 6 beside compute of 5, then compute 1 that needs both: 4 + 6 + 1.
  const Body body{{step(StreamKind::compute, 4, 0), step(StreamKind::tensor, 6, 0, {0}),
                   step(StreamKind::compute, 5, 0), step(StreamKind::compute, 1, 0, {1})}};
  const FoldedBody folded = fold(body);
  CHECK(folded.device == 11);
  CHECK(folded.activity_s[static_cast<std::size_t>(Activity::tensor_communication)] == doctest::Approx(1e-12));
}

TEST_CASE("folding is exact: random bodies in a row, from any state of device and host, which wait for each other") {
  std::mt19937_64 random(7);
  const auto upto = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
  int apart = 0;
  for (int round = 0; round < 4000; ++round) {
    const bool waits = round % 2 == 1;
    std::vector<Body> bodies(static_cast<std::size_t>(1 + upto(3)));
    FoldedBody all;
    for (Body& body : bodies) {
      const int steps = 1 + upto(7);
      for (int i = 0; i < steps; ++i) {
        std::vector<int> after;
        for (int j = 0; j < i; ++j) {
          if (upto(3) == 0) after.push_back(j);
        }
        const bool kernel = upto(2) > 0;
        body.steps.push_back(step(kernel ? StreamKind::compute : StreamKind::tensor, upto(10), upto(6), after));
        body.steps.back().host_waits = kernel && waits && upto(4) == 0;
      }
      append(all, fold(body));
    }
    for (const Clock start : {Clock{0, 0}, Clock{upto(100), 0}, Clock{0, upto(100)}}) {
      const Clock expected = execute(bodies, start);
      const Clock found = execute(all, start);
      REQUIRE(found.device == expected.device);
      REQUIRE(found.host == expected.host);
    }
    CHECK(all.lead <= all.host);
    CHECK(all.host_waits() <= waits);
    double shares = 0;
    for (const double seconds : all.activity_s) shares += seconds;
    CHECK(shares == doctest::Approx(to_seconds(all.device)));
    apart += all.is_one_task() ? 0 : 1;
  }
  CHECK(apart < 400);  // of the 2,000 that wait
}

// Kernels only: all ways from host to device cross all ways back.
TEST_CASE("bodies without collectives are one task, however the host waits, alone and in a row") {
  std::mt19937_64 random(8);
  const auto upto = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
  FoldedBody row;
  for (int round = 0; round < 2000; ++round) {
    Body body;
    for (int i = 0; i <= upto(7); ++i) {
      body.steps.push_back(step(StreamKind::compute, upto(20), upto(20)));
      body.steps.back().host_waits = upto(2) == 0;
    }
    REQUIRE(fold(body).is_one_task());
    append(row, fold(body));
    REQUIRE(row.is_one_task());
  }
}

TEST_CASE("nothing to do changes nothing, also where the host is late") {
  const FoldedBody late = fold(Body{{step(StreamKind::compute, 1, 5), step(StreamKind::tensor, 1, 0, {0})}});
  FoldedBody row = late;
  append(row, fold(Body{}));
  CHECK(row.device == late.device);
  CHECK(row.lead == late.lead);
  CHECK(row.host == late.host);
}

TEST_CASE("repeated is one after the other") {
  const FoldedBody once = fold(Body{{step(StreamKind::compute, 3, 5), step(StreamKind::compute, 9, 1)}});
  const FoldedBody thrice = repeated(once, 3);
  CHECK(thrice.device == 36);
  FoldedBody row = once;
  append(row, once);
  append(row, once);
  CHECK(thrice.lead == row.lead);
  CHECK(repeated(once, 0).device == 0);
}

// Kernels on one stream and collectives on two others, some of which wait for each other; the host waits for some
// kernels. Collectives that are not quiet last longer than was known when the body was condensed.
TEST_CASE("a condensed body is as long, from any state of device and host, and its collectives are where they were") {
  std::mt19937_64 random(11);
  const auto upto = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
  std::size_t fewer = 0;
  std::size_t fewer_with_quiet = 0;
  for (int round = 0; round < 8000; ++round) {
    const int density = 1 + upto(8);
    Body body;
    std::vector<bool> of_second;
    std::vector<bool> quiet;
    for (int i = 0; i < 12; ++i) {
      std::vector<int> after;
      for (int j = 0; j < i; ++j) {
        if (upto(density) == 0) after.push_back(j);
      }
      const StreamKind streams[] = {StreamKind::compute, StreamKind::compute, StreamKind::compute, StreamKind::tensor,
                                    StreamKind::expert};
      const StreamKind stream = streams[upto(4)];
      const bool kernel = stream == StreamKind::compute;
      body.steps.push_back(step(stream, upto(10), upto(round % 3 == 0 ? 6 : 2), after));
      body.steps.back().host_waits = kernel && upto(11) == 0;
      of_second.push_back(round % 2 == 0 && upto(1) == 0);
      quiet.push_back(!kernel && upto(3) > 0);
    }
    for (const bool with_quiet : {false, true}) {
      CondensedBody short_one = condensed(body, of_second, with_quiet ? quiet : std::vector<bool>());
      (with_quiet ? fewer_with_quiet : fewer) += body.steps.size() - short_one.body.steps.size();
      REQUIRE(short_one.runs.size() == short_one.body.steps.size());
      Body later = body;
      for (std::size_t i = 0; i < short_one.runs.size(); ++i) {
        BodyStep& alone = short_one.body.steps[i];
        if (alone.stream == StreamKind::compute) continue;
        alone.device += upto(9);
        later.steps[short_one.runs[i].first].device = alone.device;
      }
      const FoldedBody expected = fold(later);
      const FoldedBody found = fold(short_one.body);
      REQUIRE(found.device == expected.device);
      REQUIRE(found.lead == expected.lead);
      REQUIRE(found.host == expected.host);
      REQUIRE(found.waited == expected.waited);
      const Clock start{upto(20), upto(20)};
      const std::vector<Picoseconds> ends = ends_of(later, start);
      const std::vector<Picoseconds> short_ends = ends_of(short_one.body, start);
      for (std::size_t i = 0; i < short_one.runs.size(); ++i) {
        if (short_one.body.steps[i].stream == StreamKind::compute) continue;
        REQUIRE(short_ends[i] == ends[short_one.runs[i].first]);
      }
    }
  }
  CHECK(fewer > 8000);
  CHECK(fewer_with_quiet > 2 * fewer);
}

TEST_CASE("a host that waits for the device cannot run ahead of what follows") {
  // Forward: a kernel of 10, whose end the host awaits to issue the next, in 2. Backward: kernels of 1, issued in 5
  // each.
  Body forward{{step(StreamKind::compute, 10, 1), step(StreamKind::compute, 1, 2)}};
  forward.steps[1].host_waits = true;
  const FoldedBody folded = fold(forward);
  CHECK(folded.device == 13);  // 10, 2 in which the host issues, 1
  CHECK(folded.lead == 1);
  CHECK(folded.host == 13);  // 1, the 10 that it waits for, 2
  CHECK(folded.waited == 12);
  const FoldedBody behind = fold(Body{{step(StreamKind::compute, 1, 5), step(StreamKind::compute, 1, 5)}});
  FoldedBody both = folded;
  append(both, behind);
  CHECK(both.device == 12 + 5 + 5 + 1);  // the host, late by 10, decides
  CHECK(both.activity_s[static_cast<std::size_t>(Activity::host)] == doctest::Approx((23 - 11 - 2) * 1e-12));
  CHECK(both.waited == 12 + 10);
  FoldedBody twice = behind;
  append(twice, folded);
  CHECK(twice.waited == behind.device + 12);
  CHECK(twice.host == 10 + 1 + 10 + 2);
}

TEST_CASE("a step waits once for each step of the other half, by however many ways it comes to wait for it") {
  // Two gradients of inputs; then gradients of weights, each behind the two before it: the ways from the last of them
  // to the first are a Fibonacci number of 12 digits. A gradient of an input waits for the last.
  constexpr int kWeights = 60;
  PartitionedBlock block;
  Body backward;
  const auto add = [&](Phase phase, std::vector<int> after) {
    BlockStep of;
    of.op = static_cast<OperatorId>(block.graph.operators.size());
    of.phase = phase;
    Operator op;
    op.phase = phase;
    block.graph.operators.push_back(std::move(op));
    block.backward.push_back(std::move(of));
    backward.steps.push_back(step(StreamKind::compute, 1, 1, std::move(after)));
  };
  add(Phase::activation_gradient, {});
  add(Phase::activation_gradient, {});
  for (int i = 2; i < 2 + kWeights; ++i) add(Phase::weight_gradient, {i - 2, i - 1});
  add(Phase::activation_gradient, {1 + kWeights});
  const SplitBody split = split_body(block, backward);
  CHECK(split.inputs.steps.back().after == std::vector<int>{0, 1});
  CHECK(split.weights.steps[0].after.empty());
  CHECK(split.weights.steps.back().after == std::vector<int>{kWeights - 3, kWeights - 2});
}

}  // namespace body_test
