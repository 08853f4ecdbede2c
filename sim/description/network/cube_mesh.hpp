#pragma once

#include <algorithm>
#include <array>

namespace mirfak {

struct MeshLink {
  int a, b, links;
};

// NVLinks of a DGX-1 with V100 (p3.16xlarge has the same), from nvidia-smi topo -m: 24 links, 6 per GPU.
inline constexpr std::array<MeshLink, 16> kCubeMesh = {{{0, 1, 1},
                                                        {0, 2, 1},
                                                        {0, 3, 2},
                                                        {0, 4, 2},
                                                        {1, 2, 2},
                                                        {1, 3, 1},
                                                        {1, 5, 2},
                                                        {2, 3, 2},
                                                        {2, 6, 1},
                                                        {3, 7, 1},
                                                        {4, 5, 1},
                                                        {4, 6, 1},
                                                        {4, 7, 2},
                                                        {5, 6, 2},
                                                        {5, 7, 1},
                                                        {6, 7, 2}}};
inline constexpr double kMeshLinksPerDevice = 6;

inline int cube_mesh_links(int a, int b) {
  const auto found = std::find_if(kCubeMesh.begin(), kCubeMesh.end(), [&](const MeshLink& pair) {
    return pair.a == std::min(a, b) && pair.b == std::max(a, b);
  });
  return found == kCubeMesh.end() ? 0 : found->links;
}

}  // namespace mirfak
