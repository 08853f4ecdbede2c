#pragma once

namespace mirfak {

// While one lives, Ctrl-C, SIGTERM, SIGHUP and SIGQUIT do not end the process but are noticed, so that work can be put
// away first. A second signal of the same kind ends it as always, unless an InterruptHold lives. One at a time.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  static int signal();  // the first that came; 0: none. From any thread, as the next:
  static bool interrupted() { return signal() != 0; }
};

// While one lives there is something to put away that nobody may cut short. One at a time.
class InterruptHold {
 public:
  InterruptHold();
  ~InterruptHold();
  InterruptHold(const InterruptHold&) = delete;
  InterruptHold& operator=(const InterruptHold&) = delete;
};

}  // namespace mirfak
