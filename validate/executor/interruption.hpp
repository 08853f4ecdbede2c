#pragma once

namespace mirfak::measure {

// From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT do not end this process at once but at the next check_interruption(),
// so that what is under way can be put in order: files under construction go, a GPU gets its own clock back. When one
// comes again it ends the process as ever, unless an InterruptionHold lives.
void note_interruptions();

// What must be put in order, however impatient anyone is. One at a time.
class InterruptionHold {
 public:
  InterruptionHold();
  ~InterruptionHold();
  InterruptionHold(const InterruptionHold&) = delete;
  InterruptionHold& operator=(const InterruptionHold&) = delete;
};

int interruption();  // the first signal that came; 0: none

// Throws Error(internal) that names the signal where one has come. All waits and all loops of benchmarks call it.
void check_interruption();

}  // namespace mirfak::measure
