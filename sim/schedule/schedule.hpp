#pragma once

#include "strategy/strategy.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// One pass of one chunk over one microbatch, as a stage executes it.
struct Pass {
  enum class Kind : std::uint8_t { forward, backward };
  Kind kind{};
  std::int32_t chunk = 0;
  std::int32_t microbatch = 0;

  friend bool operator==(const Pass&, const Pass&) = default;
};

// The size of a pipeline: what an order of passes depends on.
struct PipelineShape {
  int stages = 1;
  int chunks = 1;  // of each stage
  int microbatches = 1;
  int group = 1;  // interleaved: microbatches that one chunk takes before the next chunk
};

// A schedule: the order of one stage's passes. A pure function of the shape; times come from the engine.
struct Schedule {
  ScheduleKind kind;
  std::string_view name;  // "1f1b", as in scenario files
  std::string_view sentence;
  std::vector<Pass> (*order)(const PipelineShape& shape, int stage);
};

std::span<const Schedule> schedules();
const Schedule& schedule_of(ScheduleKind kind);
std::vector<std::string> schedule_names();

}  // namespace mirfak
