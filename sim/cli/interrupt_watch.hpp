#pragma once

namespace mirfak {

// While one lives, Ctrl-C and SIGTERM do not end the process but are noticed, so that work can be put away first. A
// second signal of the same kind ends it as always. One at a time.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  static bool interrupted();  // from any thread
};

}  // namespace mirfak
