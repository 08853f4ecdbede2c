// Along the axis of replicas a piece is the intersection of the data of sender and receiver: one interval lies within
// the other. Along the axis of tensor ranks the same holds if tokens are divided. If tokens are not divided, every
// sender has all tokens of a sequence, and senders share the work: if senders outnumber receivers, each sender sends
// its own part of the data that the receiver needs; if receivers outnumber senders, each sender serves receivers of its
// own.

#include "sharding/cross_mesh.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

CrossMesh::Interval part(int place, int of) {
  return {static_cast<double>(place) / of, static_cast<double>(place + 1) / of};
}

void check_divides(const char* axis, int a, int b) {
  if (std::max(a, b) % std::min(a, b) == 0) return;
  fail_internal(fmt::format("no transfers between {} {} and {}", axis, a, b));
}

}  // namespace

CrossMesh::Sizes CrossMesh::sizes_of(const DeviceMesh& mesh) {
  return {mesh.size(MeshAxis::data) * mesh.size(MeshAxis::expert), mesh.size(MeshAxis::tensor)};
}

CrossMesh::CrossMesh(const DeviceMesh& from, const DeviceMesh& to)
    : from_(sizes_of(from)),
      to_(sizes_of(to)),
      groups_{std::min(from_.data, to_.data), std::min(from_.tensor, to_.tensor)} {
  check_divides("data", from_.data, to_.data);
  check_divides("tensor", from_.tensor, to_.tensor);
  const bool contexts = from.size(MeshAxis::context) != 1 || to.size(MeshAxis::context) != 1;
  if (contexts && !same()) fail_internal("no transfers between meshes of different size with context ranks");
}

int CrossMesh::messages_in_sender(Pieces pieces, bool divided) const {
  const int replicas = std::max(1, to_.data / from_.data);
  if (divided) return replicas * std::max(1, to_.tensor / from_.tensor);
  if (pieces == Pieces::parts) return replicas * std::max(from_.tensor, to_.tensor);
  return replicas * std::max(1, from_.tensor / to_.tensor);
}

std::vector<CrossMesh::Place> CrossMesh::places_of(int group, const Sizes& of) const {
  const int replicas = of.data / groups_.data;
  const int tensors = of.tensor / groups_.tensor;
  std::vector<Place> out;
  for (int replica = 0; replica < replicas; ++replica) {
    for (int tensor = 0; tensor < tensors; ++tensor) {
      out.push_back({group / groups_.tensor * replicas + replica, group % groups_.tensor * tensors + tensor});
    }
  }
  return out;
}

CrossMesh::Piece CrossMesh::piece(const Place& sender, const Place& receiver, Pieces pieces) const {
  Piece out;
  out.sequences = from_.data > to_.data ? part(sender.data, from_.data) : part(receiver.data, to_.data);
  if (pieces == Pieces::parts) {
    out.tokens = from_.tensor > to_.tensor ? part(sender.tensor, from_.tensor) : part(receiver.tensor, to_.tensor);
  } else {
    const int shared = std::max(1, from_.tensor / to_.tensor);
    out.tokens = part(sender.tensor % shared, shared);
  }
  return out;
}

}  // namespace mirfak
