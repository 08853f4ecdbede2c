// The few moments that may be the fullest against every moment of a schedule, whatever chunks keep and passes need.

#include "schedule/in_flight.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace mirfak;

namespace {

struct ChunkNeeds {
  double kept = 0;
  double forward = 0;
  double backward = 0;
};

double held(const std::vector<std::int32_t>& microbatches, const std::vector<ChunkNeeds>& chunks) {
  double sum = 0;
  for (std::size_t i = 0; i < chunks.size(); ++i) sum += microbatches[i] * chunks[i].kept;
  return sum;
}

double needed(const std::vector<ChunkNeeds>& chunks, Pass::Kind kind, std::int32_t chunk) {
  const ChunkNeeds& runs = chunks[static_cast<std::size_t>(chunk)];
  return kind == Pass::Kind::forward ? runs.forward : runs.backward;
}

double fullest_by_walking(ScheduleKind schedule, const PipelineShape& shape, int stage,
                          const std::vector<ChunkNeeds>& chunks) {
  std::vector<std::int32_t> microbatches(chunks.size());
  double most = 0;
  for (const Pass& pass : schedule_of(schedule).order(shape, stage)) {
    std::int32_t& own = microbatches[static_cast<std::size_t>(pass.chunk)];
    if (pass.kind == Pass::Kind::forward) ++own;
    most = std::max(most, held(microbatches, chunks) + needed(chunks, pass.kind, pass.chunk));
    if (pass.kind == Pass::Kind::backward) --own;
  }
  return most;
}

double fullest_of_moments(ScheduleKind schedule, const PipelineShape& shape, int stage,
                          const std::vector<ChunkNeeds>& chunks) {
  double most = 0;
  for (const InFlightMoment& moment : fullest_moments(schedule, shape, stage)) {
    most = std::max(most, held(moment.microbatches, chunks) + needed(chunks, moment.kind, moment.chunk));
  }
  return most;
}

// Whole numbers, so that sums are exact in any order.
std::vector<ChunkNeeds> random_needs(int chunks, std::mt19937& random) {
  std::uniform_int_distribution<int> bytes(0, 1000);
  std::vector<ChunkNeeds> out;
  for (int i = 0; i < chunks; ++i) {
    out.push_back({double(bytes(random)), double(bytes(random)), double(bytes(random))});
  }
  return out;
}

void check_shape(ScheduleKind schedule, const PipelineShape& shape, std::mt19937& random) {
  CAPTURE(shape.stages);
  CAPTURE(shape.chunks);
  CAPTURE(shape.microbatches);
  CAPTURE(shape.group);
  for (int stage = 0; stage < shape.stages; ++stage) {
    for (int i = 0; i < 3; ++i) {
      const std::vector<ChunkNeeds> needs = random_needs(shape.chunks, random);
      const double moments = fullest_of_moments(schedule, shape, stage, needs);
      const double walked = fullest_by_walking(schedule, shape, stage, needs);
      CHECK(moments == walked);
    }
  }
}

}  // namespace

TEST_CASE("1F1B and GPipe: the fullest moments are those of the whole order") {
  std::mt19937 random(7);
  for (const int stages : {1, 2, 3, 4, 7, 8, 16}) {
    for (const int microbatches : {1, 2, 3, 5, 8, 16, 33, 64}) {
      const PipelineShape shape{stages, 1, microbatches, stages};
      check_shape(ScheduleKind::one_forward_one_backward, shape, random);
      check_shape(ScheduleKind::gpipe, shape, random);
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
          check_shape(ScheduleKind::interleaved, {stages, chunks, groups * group, group}, random);
        }
      }
    }
  }
}
