#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace mirfak {

// Factor that bounds leave for the order of summation, which differs from the engine's.
inline constexpr double kRounding = 1 - 1e-9;

// Teams of devices of one type; a team holds one microbatch of a stage.
struct TeamsOfType {
  double teams = 0;
  double seconds = 0;       // time of all layers on one team for one microbatch, forward and backward
  double usable_bytes = 0;  // on each device
};

// Division of the teams by a layout, and the work that they share.
struct LayoutShape {
  int stages = 1;
  int replicas = 1;
  double microbatches = 1;  // over all replicas
  std::int64_t layers = 1;
  int max_chunks = 1;        // per stage
  bool even_chunks = false;  // in the first stage too, each chunk has an equal share of the stage
};

// Returns a lower bound, in s, of an iteration of the layout, wherever the types lie and however layers and
// microbatches are divided over them, for pipelines of plain chunks in a loop (PipelineChoice::plain). Stage s starts
// when the first chunks of the stages before it ran once and ends before these chunks ran backward, so that
//   time >= sum over j < s of x(j) / chunks + m x(s),   x(j): time of stage j for a microbatch
// for every s. The dual of the linear program that divides the layers is summed up backwards; it is least with the
// fastest teams in the first stages. `types`: not empty, in any order.
double least_seconds(std::span<const TeamsOfType> types, const LayoutShape& shape);

// Least bytes of each layer on each device of a stage.
struct LayerBytes {
  double state = 0;
  double kept = 0;  // for each microbatch in flight
};

struct StageRoom {
  double usable = 0;  // bytes of each device
  LayerBytes layer;
};

// Least memory that strategies lack which do not fit; by default, nothing is known.
struct Lack {
  double shortage = -std::numeric_limits<double>::infinity();  // least bytes beyond the usable ones
  double free = 1;                                             // most of a memory that stays free, as a share

  // Returns true if nothing that lacks at least `other` lacks less of either.
  bool is_least_beside(const Lack& other) const { return other.shortage >= shortage && other.free <= free; }
};

// Returns true if the layers may fit on all stages together: n(s) layers need n(s) a(s) bytes of the c(s) that stage s
// may use, so all layers are at most the sum of c(s) / a(s). Stage s holds one microbatch for itself and one for each
// stage after it, at most all microbatches.
bool layers_may_fit(std::span<const StageRoom> stages, std::int64_t layers, double microbatches);

// Returns true if the layers may fit on the replica that has most microbatches, wherever the types lie.
bool layers_may_fit(std::span<const TeamsOfType> types, const LayoutShape& shape, const LayerBytes& bytes);

}  // namespace mirfak
