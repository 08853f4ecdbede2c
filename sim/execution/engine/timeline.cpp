#include "engine/timeline.hpp"

#include "engine/radix_heap.hpp"

namespace mirfak {

namespace {

std::uint64_t fnv1a(std::uint64_t hash, std::uint64_t value, int bytes) {
  for (int byte = 0; byte < bytes; ++byte) hash = (hash ^ (value >> (8 * byte) & 0xff)) * 0x100000001b3ULL;
  return hash;
}

}  // namespace

std::uint64_t Timeline::hash() const {
  // The heap's order is (time, order of pushing), and tasks are pushed in the order of their ids.
  RadixHeap<TaskId> ends;
  for (std::size_t task = 0; task < end.size(); ++task) ends.push(end[task], static_cast<TaskId>(task));
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  while (!ends.empty()) {
    const auto [time, task] = ends.pop();
    hash = fnv1a(hash, static_cast<std::uint64_t>(time), 8);
    hash = fnv1a(hash, task, 4);
  }
  return hash;
}

}  // namespace mirfak
