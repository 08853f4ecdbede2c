#pragma once

#include "schedule/placement.hpp"
#include "schedule/schedule_id.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// Pass of one chunk over one microbatch, as a stage executes it.
struct Pass {
  enum class Kind : std::uint8_t {
    forward,
    backward,         // gradients of the chunk's input and of its weights
    backward_input,   // gradients of the chunk's input alone, which the stage before waits for
    backward_weight,  // gradients of the chunk's weights alone, which no stage waits for
  };
  Kind kind{};
  std::int32_t chunk = 0;
  std::int32_t microbatch = 0;
  // True: a forward pass and a backward pass of the stage, this one and the next, run in parallel; the communication of
  // one is overlapped with the compute of the other.
  bool with_next = false;

  friend bool operator==(const Pass&, const Pass&) = default;
};
constexpr bool is_forward(Pass::Kind kind) { return kind == Pass::Kind::forward; }
// True if gradients of a chunk's input, or of its weights, exist when a pass of this kind has ended.
constexpr bool makes_input_gradient(Pass::Kind kind) {
  return kind == Pass::Kind::backward || kind == Pass::Kind::backward_input;
}
constexpr bool makes_weight_gradient(Pass::Kind kind) {
  return kind == Pass::Kind::backward || kind == Pass::Kind::backward_weight;
}

// Size of a pipeline, on which an order of passes depends.
struct PipelineShape {
  int stages = 1;
  int chunks = 1;  // chunks of each stage
  int microbatches = 1;
  int group = 1;          // interleaved: microbatches that one chunk takes before the next chunk
  int max_in_flight = 0;  // memory-limited: microbatches whose activations a stage keeps; 0: as many as stages
};

// Times of passes of each chunk of each stage, in any unit of time.
struct PassTimes {
  struct OfChunk {
    std::int64_t forward = 1;
    std::int64_t backward_input = 1;
    std::int64_t backward_weight = 1;
    std::int64_t pair = 0;  // time of a forward and a backward pass run in parallel; 0: the sum of both
  };
  std::vector<std::vector<OfChunk>> chunks;  // [stage][chunk]; empty: all equal `others`
  OfChunk others;
  std::int64_t transfer = 0;  // time of a transfer between stages

  const OfChunk& of(int stage, int chunk) const {
    if (chunks.empty()) return others;
    return chunks[static_cast<std::size_t>(stage)][static_cast<std::size_t>(chunk)];
  }
};

using StageOrders = std::vector<std::vector<Pass>>;  // order of each stage

// Reason why a schedule does not fit a shape.
struct Unfit {
  enum class Size : std::uint8_t { stages, chunks, microbatches } size{};
  std::string message;
  std::string hint;
};

// Schedule: the placement of a pipeline's chunks, and the order of each stage's passes. The order is a pure function of
// shape and times; the times at which passes run result from executing the order.
struct Schedule {
  std::string name;  // "1f1b", as in scenario files, or the path of a file as given
  std::string path;  // absolute path of a file; else empty
  std::string sentence;
  int chunks = 1;                   // chunks of each stage; 0: the strategy states the number
  bool looped = true;               // chunks are placed as in Placement::looped
  bool splits = false;              // some backward passes are split into passes of inputs and of weights
  bool pairs = false;               // some passes run in parallel
  bool needs_times = false;         // order depends on the times of passes
  bool alternates = false;          // forward and backward passes alternate after warm-up: see short_order.hpp
  bool sends_beside_passes = true;  // a stage's next pass does not wait until the output of the last pass is sent
  bool in_groups = false;           // several chunks take microbatches in groups: PipelineShape::group

  std::function<Placement(const PipelineShape&)> placement;
  std::function<StageOrders(const PipelineShape&, const PassTimes&)> orders;  // needs a shape that fits
  std::function<std::optional<Unfit>(const PipelineShape&)> unfit;

  StageOrders orders_of(const PipelineShape& shape) const { return orders(shape, PassTimes{}); }
};

const Schedule& schedule_of(ScheduleId id);
// Adds a schedule, or finds the known schedule with the same path and all the same passes. Several threads may use it
// at once.
ScheduleId add_schedule(Schedule schedule, const std::string& contents);

// Returns the named schedules, in the order in which they are listed.
std::span<const Schedule> schedules();
}  // namespace mirfak
