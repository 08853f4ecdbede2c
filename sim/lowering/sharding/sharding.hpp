#pragma once

#include "graph/operator_graph.hpp"
#include "sharding/device_mesh.hpp"

#include <string_view>
#include <vector>

namespace mirfak {

// Layout of one tensor on the mesh: for each axis of the tensor the mesh axes that divide it, and the mesh axes over
// which every device holds only a partial sum of the tensor.
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
  shift,  // every rank sends its buffer to one other rank (the next) and receives the buffer of one rank (the one
          // before)
};
std::string_view name_of(CollectiveKind kind);

// One collective that brings a tensor from one sharding to another. `bytes` is the size of the larger of the buffers
// before and after the collective on one device: the whole buffer of an all-reduce, the result of an all-gather, the
// operand of a reduce-scatter (nccl-tests calls it the size).
struct ReshardStep {
  CollectiveKind kind{};
  MeshAxisSet over;  // several axes only for all-to-alls, and for shifts and all-reduces of a cheapest sequence
  double bytes = 0;
  Sharding from;  // sharding before the collective; it may be sliced further than the step before left the tensor
  Sharding to;    // sharding after the collective
};

// The size of a tensor, as far as resharding needs it.
struct TensorSize {
  double bytes = 0;  // bytes of the whole tensor
  InlineList<std::int64_t, kMaxRank> extents;
};
TensorSize size_of(const OperatorGraph& graph, TensorId tensor);

// Returns the bytes of a tensor on one device.
double local_bytes(const TensorSize& tensor, const Sharding& sharding, const DeviceMesh& mesh);
double local_bytes(const OperatorGraph& graph, TensorId tensor, const Sharding& sharding, const DeviceMesh& mesh);

// Order in which several mesh axes are moved.
enum class ReshardOrder : std::uint8_t {
  of_mesh,   // one after the other, in the order of the mesh
  cheapest,  // the order in which a device sends the fewest bytes; among equal orders the first in the order of the
             // mesh
};

// Returns the collectives from `from` to `to`, in order. Partial sums become an all-reduce, or a reduce-scatter if the
// result is divided over the same mesh axis. A mesh axis that moves to another axis of the tensor becomes an
// all-to-all; consecutive all-to-alls are joined into one. A mesh axis that disappears becomes an all-gather. A mesh
// axis that appears costs nothing (each device keeps its slice). In the cheapest sequence, a mesh axis that takes the
// place of another mesh axis of its size is one shift over both, and sums over several mesh axes that leave the tensor
// whole are one all-reduce. Partial sums whose total a kernel needs (Tensor::added_for_kernel) are all-reduced first.
// GSPMD, arXiv 2105.04663, section 4.5. Mesh axes of size 1 cost nothing.
std::vector<ReshardStep> reshard(const TensorSize& tensor, const Sharding& from, const Sharding& to,
                                 const DeviceMesh& mesh, ReshardOrder order = ReshardOrder::of_mesh);
std::vector<ReshardStep> reshard(const OperatorGraph& graph, TensorId tensor, const Sharding& from, const Sharding& to,
                                 const DeviceMesh& mesh, ReshardOrder order = ReshardOrder::of_mesh);

}  // namespace mirfak
