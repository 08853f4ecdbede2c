// The few moments that may be the fullest against every moment of a schedule, whatever chunks keep and passes need.

#include "schedule/in_flight.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>

using namespace mirfak;

namespace {

struct ChunkNeeds {
  double kept = 0;
  double due = 0;                  // of what is kept, until the backward pass of weights
  std::array<double, 4> needed{};  // while a pass of a kind runs
};

double held(const std::vector<std::int32_t>& microbatches, const std::vector<ChunkNeeds>& chunks,
            double ChunkNeeds::*bytes) {
  double sum = 0;
  for (std::size_t i = 0; i < microbatches.size(); ++i) sum += microbatches[i] * chunks[i].*bytes;
  return sum;
}

double needed(const std::vector<ChunkNeeds>& chunks, Pass::Kind kind, std::int32_t chunk) {
  return chunks[static_cast<std::size_t>(chunk)].needed[static_cast<std::size_t>(kind)];
}

double fullest_by_walking(const std::vector<Pass>& order, const std::vector<ChunkNeeds>& chunks) {
  std::vector<std::int32_t> kept(chunks.size());
  std::vector<std::int32_t> due(chunks.size());
  double most = 0;
  for (const Pass& pass : order) {
    const auto chunk = static_cast<std::size_t>(pass.chunk);
    if (is_forward(pass.kind)) ++kept[chunk];
    const double now = held(kept, chunks, &ChunkNeeds::kept) + held(due, chunks, &ChunkNeeds::due);
    most = std::max(most, now + needed(chunks, pass.kind, pass.chunk));
    if (makes_input_gradient(pass.kind)) --kept[chunk];
    if (pass.kind == Pass::Kind::backward_input) ++due[chunk];
    if (pass.kind == Pass::Kind::backward_weight) --due[chunk];
  }
  return most;
}

double fullest_of_moments(const std::vector<InFlightMoment>& moments, const std::vector<ChunkNeeds>& chunks) {
  double most = 0;
  for (const InFlightMoment& moment : moments) {
    const double now =
        held(moment.microbatches, chunks, &ChunkNeeds::kept) + held(moment.weights_due, chunks, &ChunkNeeds::due);
    most = std::max(most, now + needed(chunks, moment.kind, moment.chunk));
  }
  return most;
}

// Whole numbers, so that sums are exact in any order.
std::vector<ChunkNeeds> random_needs(int chunks, std::mt19937& random) {
  std::uniform_int_distribution<int> bytes(0, 1000);
  std::vector<ChunkNeeds> out(static_cast<std::size_t>(chunks));
  for (ChunkNeeds& chunk : out) {
    chunk.kept = bytes(random);
    chunk.due = bytes(random);
    for (double& workspace : chunk.needed) workspace = bytes(random);
  }
  return out;
}

void check_shape(ScheduleId schedule, const PipelineShape& shape, std::mt19937& random) {
  CAPTURE(shape.stages);
  CAPTURE(shape.chunks);
  CAPTURE(shape.microbatches);
  CAPTURE(shape.group);
  const StageOrders orders = schedule_of(schedule).orders_of(shape);
  const auto moments = fullest_moments(schedule_of(schedule), shape);
  for (std::size_t stage = 0; stage < orders.size(); ++stage) {
    for (int i = 0; i < 3; ++i) {
      const std::vector<ChunkNeeds> needs = random_needs(shape.chunks, random);
      CHECK(fullest_of_moments(moments[stage], needs) == fullest_by_walking(orders[stage], needs));
    }
  }
}

}  // namespace

TEST_CASE("1F1B and GPipe: the fullest moments are those of the whole order") {
  std::mt19937 random(7);
  for (const int stages : {1, 2, 3, 4, 7, 8, 16}) {
    for (const int microbatches : {1, 2, 3, 5, 8, 16, 33, 64}) {
      const PipelineShape shape{stages, 1, microbatches, stages};
      check_shape(schedule_named("1f1b"), shape, random);
      check_shape(schedule_named("gpipe"), shape, random);
    }
  }
}

TEST_CASE("interleaved: the fullest moments are those of the whole order, whatever the group") {
  std::mt19937 random(8);
  for (const int stages : {2, 3, 4, 6, 8}) {
    for (const int chunks : {2, 3, 4, 6}) {
      for (const int more : {0, 1, 3}) {
        for (const int groups : {1, 2, 3, 4, 5, 9, 12}) {
          const int group = stages + more;
          check_shape(schedule_named("interleaved-1f1b"), {stages, chunks, groups * group, group}, random);
        }
      }
    }
  }
}

TEST_CASE("split backward passes: the fullest moments are those of the whole order") {
  std::mt19937 random(9);
  for (const int stages : {2, 4, 6}) {
    for (const char* name : {"zb-h1", "zb-h2", "zb-v", "zb-auto"}) {
      const ScheduleId schedule = schedule_named(name);
      check_shape(schedule, {stages, schedule_of(schedule).chunks, 4 * stages + 1, stages}, random);
    }
  }
}
