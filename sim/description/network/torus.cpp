// Torus: a router for each node, to which all ports of the node are joined. Each router is joined to the next in both
// directions of each dimension, with wrap-around. A link carries the sum of a node's ports over the oversubscription.
// Node i is on the router with coordinates i mod x, i / x mod y, ...; two routers of a dimension of size 2 have one
// link.
#include "network/topology_builder.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace mirfak {

namespace {

// Returns the most nearly equal factors of `routers`, ascending, so that halves in the order of the nodes cut the
// longest.
std::vector<int> nearly_equal(int routers, int dimensions) {
  std::vector<int> out;
  for (int left = dimensions; left > 1; --left) {
    int factor = static_cast<int>(std::floor(std::pow(routers, 1.0 / left) + 1e-9));
    while (factor > 1 && routers % factor != 0) --factor;
    out.push_back(std::max(1, factor));
    routers /= out.back();
  }
  out.push_back(routers);
  return out;
}

}  // namespace

void build_torus(TopologyBuilder& builder, const std::vector<NodePorts>& nodes) {
  const Fabric& fabric = builder.fabric();
  const int count = static_cast<int>(nodes.size());
  const std::vector<int> sizes =
      fabric.dimensions.empty() ? nearly_equal(count, fabric.type == FabricType::torus_2d ? 2 : 3) : fabric.dimensions;
  std::int64_t routers = 1;
  for (const int size : sizes) routers *= size;
  if (routers < count || routers > (std::int64_t{1} << 20)) {
    fail_infeasible(
        {}, fmt::format("a torus of {} routers ({}) for {} nodes", routers, fmt::join(sizes, " x "), count),
        "every node needs a router of its own: choose cluster.fabric.dimensions whose product is the number of nodes");
  }
  builder.set_dimensions(sizes);
  double bandwidth = 0;
  for (const NodePorts& node : nodes) {
    bandwidth = std::max(bandwidth, node.bandwidth());
  }
  std::vector<int> vertices;
  const int port_type = builder.link_type("port to router");
  for (int i = 0; i < static_cast<int>(routers); ++i) {
    vertices.push_back(builder.add({VertexKind::router, -1, i, -1, i, 0}));
    if (i >= count) continue;
    const NodePorts& node = nodes[static_cast<std::size_t>(i)];
    for (std::size_t port = 0; port < node.vertices.size(); ++port) {
      builder.join(node.vertices[port], vertices.back(), node.rates[port], node.latency_s, port_type);
    }
  }
  const int type = builder.link_type("torus link");
  int stride = 1;
  for (const int size : sizes) {
    for (int i = 0; i < static_cast<int>(routers) && size > 1; ++i) {
      const int at = i / stride % size;
      if (size == 2 && at == 1) continue;
      const int next = i + (at + 1 < size ? stride : -(size - 1) * stride);
      builder.join(vertices[static_cast<std::size_t>(i)], vertices[static_cast<std::size_t>(next)],
                   bandwidth / fabric.oversubscription, builder.switch_latency_s(), type);
    }
    stride *= size;
  }
}

}  // namespace mirfak
