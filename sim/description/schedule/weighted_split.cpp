#include "schedule/weighted_split.hpp"

#include <cstddef>

namespace mirfak {

std::vector<int> weighted_split(std::int64_t layers, std::int64_t chunks, double layer, double head) {
  const double all = static_cast<double>(layers) * layer + head;
  std::vector<int> split(static_cast<std::size_t>(chunks));
  std::size_t chunk = 0;
  for (std::int64_t i = 1; i <= layers; ++i) {
    ++split[chunk];
    const double share = all * static_cast<double>(chunk + 1) / static_cast<double>(chunks);
    if (static_cast<double>(i) * layer > share) ++chunk;
  }
  return split;
}

}  // namespace mirfak
