#pragma once

#include <cstddef>
#include <functional>

namespace mirfak {

// Runs body(0) ... body(count - 1), each once, on up to `threads` threads (0: all cores; never more than cores). Blocks
// until all have run. The first exception thrown by a body is rethrown here; the order of execution is not defined, so
// a body writes only to data that belongs to its index. If the work of the calling thread is cancelled
// (cancellation.hpp), the bodies are cancelled with it.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body, int threads = 0);

}  // namespace mirfak
