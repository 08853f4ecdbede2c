#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mirfak {

// Bounds leave this much for the order in which sums are taken: the engine adds up in another.
inline constexpr double kRounding = 1 - 1e-9;

// Teams of devices of one type: together they hold one microbatch of a stage.
struct TeamsOfType {
  double teams = 0;
  double seconds = 0;       // of all layers for one microbatch, forward and backward, on such a team
  double usable_bytes = 0;  // of each device
};

// How a layout divides the teams, and what they share.
struct LayoutShape {
  int stages = 1;
  int replicas = 1;
  double microbatches = 1;  // of all replicas
  std::int64_t layers = 1;
  int max_chunks = 1;        // of a stage
  bool even_chunks = false;  // of the first stage too: each has the stage's share
};

// What no iteration of the layout is below, in s, wherever the types lie and however layers and microbatches are
// divided over them: for pipelines of plain chunks in a loop (PipelineChoice::plain). Stage s starts when the first
// chunks of those before it ran once and ends before they ran backward, so that
//   time >= sum over j < s of x(j) / chunks + m x(s),   x(j): what stage j takes for a microbatch
// for every s; the dual of the linear program that divides the layers is summed up backwards, and is least with the
// fastest teams in the first stages. `types`: not empty, in any order.
double least_seconds(std::span<const TeamsOfType> types, const LayoutShape& shape);

// Of each layer on each device of a stage, at least.
struct LayerBytes {
  double state = 0;
  double kept = 0;  // of each microbatch in flight
};

struct StageRoom {
  double usable = 0;  // bytes of each device
  LayerBytes layer;
};

// Whether n(s) layers of each stage fit, added up: n(s) layers need n(s) a(s) bytes of the c(s) that stage s may use,
// so all of them are at most the sum of c(s) / a(s). Stage s holds a microbatch for each stage behind it and one more,
// at most all.
bool layers_may_fit(std::span<const StageRoom> stages, std::int64_t layers, double microbatches);

// The same for the replica that has most microbatches, wherever the types lie.
bool layers_may_fit(std::span<const TeamsOfType> types, const LayoutShape& shape, const LayerBytes& bytes);

}  // namespace mirfak
