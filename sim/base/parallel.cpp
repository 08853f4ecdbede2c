#include "base/parallel.hpp"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace mirfak {

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body, int threads) {
  tbb::task_arena arena(threads > 0 ? threads : tbb::task_arena::automatic);
  arena.execute([&] { tbb::parallel_for(std::size_t{0}, count, body); });
}

}  // namespace mirfak
