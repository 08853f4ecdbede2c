#pragma once

namespace mirfak {

// While an InterruptWatch lives, Ctrl-C, SIGTERM, SIGHUP and SIGQUIT do not end the process but are noticed, so that
// work can be put away first. A second signal of the same kind ends the process as always, unless an InterruptHold
// lives. One InterruptWatch at a time.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  static int signal();  // the first signal that came; 0: none. Callable from any thread, like interrupted()
  static bool interrupted() { return signal() != 0; }
};

// While an InterruptHold lives, the program puts work away that no second signal may cut short. One InterruptHold at a
// time.
class InterruptHold {
 public:
  InterruptHold();
  ~InterruptHold();
  InterruptHold(const InterruptHold&) = delete;
  InterruptHold& operator=(const InterruptHold&) = delete;
};

}  // namespace mirfak
