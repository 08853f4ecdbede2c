#include "cli/program.hpp"

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace {

// Keeps freed memory for the next simulation: a search frees and allocates programs of megabytes thousands of times,
// and the kernel clears every page that it gives back.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kMebibyte = 1 << 20;
  mallopt(M_TRIM_THRESHOLD, 1024 * kMebibyte);
  mallopt(M_MMAP_THRESHOLD, 32 * kMebibyte);
  mallopt(M_TOP_PAD, kMebibyte);
#endif
}

}  // namespace

int main(int count, char** words) {
  keep_freed_memory();
  return mirfak::run_program(count, words);
}
