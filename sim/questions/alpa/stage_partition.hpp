#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

namespace mirfak::alpa {

// Devices of a stage: a part of one node, or whole nodes.
struct Submesh {
  int nodes = 1;
  int gpus = 1;  // of each node

  int devices() const { return nodes * gpus; }
  friend bool operator==(const Submesh&, const Submesh&) = default;
};

// Returns 1, 2, 4, ... devices of a node, a whole node, and whole nodes (arXiv 2201.12023, section 5.2): all numbers of
// nodes, or powers of two and the number of all nodes.
enum class NodeCounts { all, powers_of_two };
std::vector<Submesh> submeshes(int nodes, int gpus_per_node, NodeCounts counts);

// One way to run some layers on some devices: seconds of a microbatch, forward and backward, and bytes of a device.
struct StageOption {
  double seconds = 0;
  double state_bytes = 0;
  double activation_bytes = 0;  // for each microbatch whose backward pass is to come
  double step_bytes = 0;        // while the optimizer steps, with no microbatch in flight

  // Bytes with `in_flight` microbatches in flight.
  double bytes(int in_flight) const { return std::max(state_bytes + in_flight * activation_bytes, step_bytes); }
};

// Problem of dividing consecutive layers into stages, each with a submesh and a way to run its layers.
struct StageProblem {
  int layers = 0;
  int devices = 0;  // number of devices; all of them are used
  int microbatches = 1;
  double memory = 0;  // bytes of a device
  std::vector<Submesh> submeshes;
  // GPUs of a node, if stages take devices in their order and a submesh must lie in the machine as a whole: a part of a
  // node at a multiple of its size within the node, whole nodes from the first device of a node on. 0: submeshes may
  // lie anywhere.
  int gpus_per_node = 0;
  double longest_s = std::numeric_limits<double>::infinity();  // partitions that take longer are not wanted
  // Returns the ways to run layers first <= i < end on a submesh; called once for each triple of arguments.
  std::function<std::vector<StageOption>(int first, int end, int submesh)> options;
};

struct PlannedStage {
  int first = 0;  // first layer
  int end = 0;
  int submesh = 0;    // index among the problem's submeshes
  int option = 0;     // index among the options of the problem
  int in_flight = 1;  // microbatches kept under 1F1B: the last stage one, the stage before it two, ...
  StageOption cost;
};

struct StagePartition {
  std::vector<PlannedStage> stages;
  double iteration_s = 0;  // sum of the stages' seconds and (microbatches - 1) times the slowest's
};

// Returns the partition with the least iteration time; nullopt: no partition fits, or none is as fast as wanted. Exact:
// see stage_partition.cpp.
std::optional<StagePartition> best_stages(const StageProblem& problem);

}  // namespace mirfak::alpa
