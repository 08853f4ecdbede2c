#pragma once

#include "base/error.hpp"
#include "network/topology.hpp"
#include "require.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

// Any bytes are either a network, whose links join vertices that there are and which becomes a graph, or an input error
// that says where.
template <typename Read>
int check_network(const std::uint8_t* bytes, std::size_t size, const Read& read) {
  using namespace mirfak;
  try {
    const NetworkGraph graph = read(std::string_view(reinterpret_cast<const char*>(bytes), size));
    const int vertices = static_cast<int>(graph.vertices.size());
    for (const NetworkLink& link : graph.links) {
      require(link.a >= 0 && link.a < vertices && link.b >= 0 && link.b < vertices && link.bandwidth > 0);
    }
    require(graph.devices <= vertices);
    if (vertices <= 1000) require(Topology(graph).vertices() == vertices);
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::input && error.where().known(), error.what());
  }
  return 0;
}
