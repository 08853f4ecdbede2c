#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

namespace mirfak::alpa {

// Devices that a stage may have: a part of one node, or whole nodes.
struct Submesh {
  int nodes = 1;
  int gpus = 1;  // of each

  int devices() const { return nodes * gpus; }
  friend bool operator==(const Submesh&, const Submesh&) = default;
};

// 1, 2, 4, ... devices of a node, a whole node, and whole nodes (arXiv 2201.12023, section 5.2): all numbers of them,
// or powers of two and all there are.
enum class NodeCounts { all, powers_of_two };
std::vector<Submesh> submeshes(int nodes, int gpus_per_node, NodeCounts counts);

// One way to run some layers on some devices: a microbatch's seconds, forward and backward, and the bytes of a device.
struct StageOption {
  double seconds = 0;
  double state_bytes = 0;
  double activation_bytes = 0;  // of each microbatch whose backward pass is to come
  double step_bytes = 0;        // while the optimizer steps, with no microbatch on its way

  // With so many microbatches in flight.
  double bytes(int in_flight) const { return std::max(state_bytes + in_flight * activation_bytes, step_bytes); }
};

// The question: which layers in a row make a stage, on which submesh, in which way.
struct StageProblem {
  int layers = 0;
  int devices = 0;  // all of them are used
  int microbatches = 1;
  double memory = 0;  // bytes of a device
  std::vector<Submesh> submeshes;
  // Stages take devices in their order, and a submesh has to lie in the machine as a whole: a part of a node at a
  // multiple of its size within one, whole nodes from the first device of one on. 0: submeshes may lie anywhere.
  int gpus_per_node = 0;
  double longest_s = std::numeric_limits<double>::infinity();  // no partition that takes longer is wanted
  // The ways to run layers first <= i < end on a submesh; called once for each.
  std::function<std::vector<StageOption>(int first, int end, int submesh)> options;
};

struct PlannedStage {
  int first = 0;  // layer
  int end = 0;
  int submesh = 0;    // of the problem's
  int option = 0;     // of those that the problem stated
  int in_flight = 1;  // microbatches kept under 1F1B: of the last stage one, of the one before two, ...
  StageOption cost;
};

struct StagePartition {
  std::vector<PlannedStage> stages;
  double iteration_s = 0;  // sum of the stages' seconds and (microbatches - 1) times the slowest's
  int bounds_tried = 0;    // of the slowest stage
};

// The partition with the least iteration time; nullopt: none fits, or is as fast as wanted. Exact: see
// stage_partition.cpp.
std::optional<StagePartition> best_stages(const StageProblem& problem);

}  // namespace mirfak::alpa
