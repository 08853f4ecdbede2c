#pragma once

#include "graph/operator_graph.hpp"
#include "sharding/device_mesh.hpp"

#include <string_view>
#include <vector>

namespace mirfak {

// How one tensor lies on the mesh: for each of its axes the mesh axes that divide it, and the mesh axes over
// which every device holds only a partial sum of it.
struct Sharding {
  InlineList<MeshAxisSet, kMaxRank> axes;
  MeshAxisSet partial;

  friend bool operator==(const Sharding&, const Sharding&) = default;
};

enum class CollectiveKind : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  shift,  // every rank sends its buffer to one other (the next) and receives that of one (the one before)
};
std::string_view name_of(CollectiveKind kind);

// One collective that brings a tensor from one sharding to another. `bytes` is the size of the larger of the
// buffers before and after on one device: the whole buffer of an all-reduce, the result of an all-gather, the
// operand of a reduce-scatter (what nccl-tests calls the size).
struct ReshardStep {
  CollectiveKind kind{};
  MeshAxisSet over;  // of several axes only all-to-alls, and all-reduces of a cheapest sequence
  double bytes = 0;
  Sharding from;  // how the tensor lies before it: of several steps, sliced further than the step before left it
  Sharding to;    // ... and behind it
};

// A tensor as far as moving it is concerned.
struct TensorSize {
  double bytes = 0;  // of the whole
  InlineList<std::int64_t, kMaxRank> extents;
};
TensorSize size_of(const OperatorGraph& graph, TensorId tensor);

// The bytes of a tensor on one device.
double local_bytes(const TensorSize& tensor, const Sharding& sharding, const DeviceMesh& mesh);
double local_bytes(const OperatorGraph& graph, TensorId tensor, const Sharding& sharding, const DeviceMesh& mesh);

// In which order mesh axes move, where several have to.
enum class ReshardOrder : std::uint8_t {
  of_mesh,   // one after the other, in the order of the mesh
  cheapest,  // so that a device sends the fewest bytes; of equal orders the first in that of the mesh
};

// The collectives from `from` to `to`, in order: partial sums become an all-reduce, or a reduce-scatter where the
// result is divided over the same mesh axis; a mesh axis that moves to another axis an all-to-all; one that
// disappears an all-gather; several that move in a row move at once; one that appears costs nothing (each device keeps
// its slice). Where the cheapest sequence is asked for, a mesh axis that takes the place of another of its size is one
// shift over both, and sums over several mesh axes that leave the tensor whole are one. Parts that a kernel needs the
// sum of (Tensor::added_for_kernel) are all-reduced first. GSPMD, arXiv 2105.04663, section 4.5. Mesh axes of size 1
// cost nothing.
std::vector<ReshardStep> reshard(const TensorSize& tensor, const Sharding& from, const Sharding& to,
                                 const DeviceMesh& mesh, ReshardOrder order = ReshardOrder::of_mesh);
std::vector<ReshardStep> reshard(const OperatorGraph& graph, TensorId tensor, const Sharding& from, const Sharding& to,
                                 const DeviceMesh& mesh, ReshardOrder order = ReshardOrder::of_mesh);

}  // namespace mirfak
