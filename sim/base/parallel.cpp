#include "base/parallel.hpp"

#include "base/cancellation.hpp"

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <thread>

namespace mirfak {

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body, int threads) {
  const int cores = tbb::info::default_concurrency();  // TBB prints a warning when it is asked for more
  tbb::task_arena arena(threads > 0 ? std::min(threads, cores) : cores);
  const std::atomic<bool>* flag = cancellation_flag();
  const std::thread::id asking = std::this_thread::get_id();
  const auto checked = [&](std::size_t index) {
    check_cancelled();  // on the asking thread this call also runs the scope's `look`
    if (std::this_thread::get_id() == asking) return body(index);
    const CancellationScope scope(flag);
    check_cancelled();
    body(index);
  };
  arena.execute([&] { tbb::parallel_for(std::size_t{0}, count, checked); });
}

}  // namespace mirfak
