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

// One pass of one chunk over one microbatch, as a stage executes it.
struct Pass {
  enum class Kind : std::uint8_t {
    forward,
    backward,         // gradients of the chunk's input and of its weights
    backward_input,   // ... of its input alone, which the stage before waits for
    backward_weight,  // ... of its weights alone, which nobody waits for
  };
  Kind kind{};
  std::int32_t chunk = 0;
  std::int32_t microbatch = 0;
  // Runs beside the next pass of its stage, a forward beside a backward pass: the communication of one hides behind the
  // compute of the other.
  bool with_next = false;

  friend bool operator==(const Pass&, const Pass&) = default;
};
constexpr bool is_forward(Pass::Kind kind) { return kind == Pass::Kind::forward; }
// Whether gradients of a chunk's input, or of its weights, are there when such a pass has ended.
constexpr bool makes_input_gradient(Pass::Kind kind) {
  return kind == Pass::Kind::backward || kind == Pass::Kind::backward_input;
}
constexpr bool makes_weight_gradient(Pass::Kind kind) {
  return kind == Pass::Kind::backward || kind == Pass::Kind::backward_weight;
}

// The size of a pipeline: what an order of passes depends on.
struct PipelineShape {
  int stages = 1;
  int chunks = 1;  // of each stage
  int microbatches = 1;
  int group = 1;          // interleaved: microbatches that one chunk takes before the next chunk
  int max_in_flight = 0;  // memory-limited: microbatches whose activations a stage keeps; 0: as many as stages
};

// How long passes of each chunk of each stage take, in any unit of time.
struct PassTimes {
  struct OfChunk {
    std::int64_t forward = 1;
    std::int64_t backward_input = 1;
    std::int64_t backward_weight = 1;
    std::int64_t pair = 0;  // of a forward and a backward pass that run beside each other; 0: as one after the other
  };
  std::vector<std::vector<OfChunk>> chunks;  // [stage][chunk]; empty: all as `others`
  OfChunk others;
  std::int64_t transfer = 0;  // from a stage to another

  const OfChunk& of(int stage, int chunk) const {
    if (chunks.empty()) return others;
    return chunks[static_cast<std::size_t>(stage)][static_cast<std::size_t>(chunk)];
  }
};

using StageOrders = std::vector<std::vector<Pass>>;  // of each stage

// Why a schedule does not go with a shape.
struct Unfit {
  enum class Size : std::uint8_t { stages, chunks, microbatches } size{};
  std::string message;
  std::string hint;
};

// A schedule: where the chunks of a pipeline lie, and the order of each stage's passes. A pure function of shape and
// times: when passes run follows from executing them.
struct Schedule {
  std::string name;  // "1f1b", as in scenario files, or the path of a file as it was given
  std::string path;  // of a file, absolute; else empty
  std::string sentence;
  int chunks = 1;                   // of each stage; 0: as many as a strategy says
  bool looped = true;               // chunks lie as in Placement::looped
  bool splits = false;              // some backward passes are split into those of inputs and of weights
  bool pairs = false;               // some passes run beside each other
  bool needs_times = false;         // the order depends on how long passes take
  bool alternates = false;          // forward and backward passes in turn once warm: see short_order.hpp
  bool sends_beside_passes = true;  // a stage's next pass does not wait until what the last one made has been sent
  bool in_groups = false;           // several chunks take microbatches in groups: PipelineShape::group

  std::function<Placement(const PipelineShape&)> placement;
  std::function<StageOrders(const PipelineShape&, const PassTimes&)> orders;  // of a shape that fits
  std::function<std::optional<Unfit>(const PipelineShape&)> unfit;

  StageOrders orders_of(const PipelineShape& shape) const { return orders(shape, PassTimes{}); }
};

const Schedule& schedule_of(ScheduleId id);
// Enters a schedule, or finds the one that is the same in path and in all its passes. May be used by several threads.
ScheduleId add_schedule(Schedule schedule, const std::string& contents);

// Those with a name, in the order in which they are listed.
std::span<const Schedule> schedules();
}  // namespace mirfak
