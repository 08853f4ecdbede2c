#include "network/symmetry.hpp"

#include "base/random.hpp"

#include <bit>
#include <cstdint>
#include <unordered_map>

namespace mirfak {

namespace {

std::uint64_t mixed(std::uint64_t x) { return split_mix(x + kSplitMixStep); }

// Numbers equal values from 0, in the order in which they appear; returns how many there are.
int numbered(const std::vector<std::uint64_t>& values, std::vector<int>& out) {
  std::unordered_map<std::uint64_t, int> number;
  for (std::size_t v = 0; v < values.size(); ++v) {
    out[v] = number.emplace(values[v], static_cast<int>(number.size())).first->second;
  }
  return static_cast<int>(number.size());
}

}  // namespace

std::vector<int> alike_vertices(const Topology& topology, std::span<const int> marks) {
  const auto n = static_cast<std::size_t>(topology.vertices());
  std::vector<std::uint64_t> value(n);
  for (std::size_t v = 0; v < n; ++v) {
    const TopologyVertex& vertex = topology.graph()[static_cast<std::uint32_t>(v)];
    const auto mark = static_cast<std::uint64_t>(marks.empty() ? 0 : marks[v]);
    value[v] = static_cast<std::uint64_t>(vertex.kind) + 16 * static_cast<std::uint64_t>(vertex.level) + 4096 * mark;
  }
  std::vector<int> classes(n);
  for (int count = numbered(value, classes), before = 0; count > before;) {
    for (std::size_t v = 0; v < n; ++v) value[v] = mixed(static_cast<std::uint64_t>(classes[v]));
    for (int link = 0; link < topology.links(); ++link) {
      const auto from = static_cast<std::size_t>(topology.link_source(link));
      const auto to = static_cast<std::size_t>(topology.link_target(link));
      const auto rate = std::bit_cast<std::uint64_t>(topology.link_bandwidth(link));
      value[from] += mixed(mixed(static_cast<std::uint64_t>(classes[to]) + 1) ^ rate);
    }
    before = count;
    count = numbered(value, classes);
  }
  return classes;
}

}  // namespace mirfak
