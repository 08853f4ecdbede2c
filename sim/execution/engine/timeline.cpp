#include "engine/timeline.hpp"

#include "base/fnv_hash.hpp"
#include "engine/radix_heap.hpp"

namespace mirfak {

std::uint64_t Timeline::hash() const {
  // The heap's order is (time, order of pushing), and tasks are pushed in the order of their ids.
  RadixHeap<TaskId> ends;
  for (std::size_t task = 0; task < end.size(); ++task) ends.push(end[task], static_cast<TaskId>(task));
  std::uint64_t hash = kFnvStart;
  while (!ends.empty()) {
    const auto [time, task] = ends.pop();
    hash = fnv_hash(hash, static_cast<std::uint64_t>(time), 8);
    hash = fnv_hash(hash, task, 4);
  }
  return hash;
}

}  // namespace mirfak
